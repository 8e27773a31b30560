"""E-mail messages (.eml, RFC 5322): the head, the text, and what is attached."""

from __future__ import annotations

from contextlib import suppress
from email import policy
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.bundles import MAX_FILES, add_inner
from agent.documents.page_date import read_day

HEADERS = ("From", "To", "Cc", "Date", "Subject")
MAX_HEADER = 1000  # characters


def read_mail(source: Body) -> BodyText:
    """The message, then each attachment in its own format; those that cannot be read are noted."""
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(source.data)
    text = PlacedText(source, _header(message, "Subject"), _find_day(message))
    heads = [f"{name}: {value}" for name in HEADERS if (value := _header(message, name))]
    if not message.keys():
        raise UnreadablePage("it is not a message: it has no header", "invalid")
    text.add("\n".join(heads), "header of the message")
    _add_body(text, source, message)
    _add_attachments(text, source, message)
    return text.finish()


def _header(message: EmailMessage, name: str) -> str:
    """The value of a header; "" where it has none, or none that can be read."""
    try:
        return str(message.get(name, ""))[:MAX_HEADER]
    except (ValueError, IndexError, TypeError, AttributeError, LookupError):  # faults of the parser
        return ""


def _find_day(message: EmailMessage) -> str:
    """The day on which a message was sent; "" for none that is one."""
    try:
        return read_day(parsedate_to_datetime(_header(message, "Date")).isoformat())
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _add_body(text: PlacedText, source: Body, message: EmailMessage) -> None:
    """The plain text; where there is none, the text of the HTML."""
    is_attached = message.get_content_disposition() == "attachment"
    body = None if is_attached else message.get_body(("plain", "html"))
    if body is None:
        return
    from agent.documents.format_registry import read_source

    data, content_type, _ = _content_of(body)
    kind = "text/html" if body.get_content_subtype() == "html" else "text/plain"
    read = Body(data, content_type.replace(body.get_content_type(), kind), depth=source.depth + 1)
    with suppress(UnreadablePage):  # an empty message with attachments
        text.add(read_source(read).text, "message")


def _content_of(part: Message) -> tuple[bytes, str, str]:
    """The bytes of a part, the type that it declares, and the suffix where that is sure."""
    charset = part.get_content_charset()
    declared = part.get_content_type() + (f"; charset={charset}" if charset else "")
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        return part.get_payload()[0].as_bytes(), declared, ".eml"  # type: ignore[union-attr,index]
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b"", declared, ""


def _add_attachments(text: PlacedText, source: Body, message: EmailMessage) -> None:
    parts = list(message.iter_attachments())
    for n, part in enumerate(parts[:MAX_FILES], 1):
        name = " ".join((part.get_filename() or f"attachment {n}").split())
        data, content_type, suffix = _content_of(part)
        place = f"attachment {name}"
        add_inner(text, source, name, data, content_type, place=place, suffix=suffix)
    text.lose("attachments", len(parts[MAX_FILES:]), f"only the first {MAX_FILES} are")
