"""E-mail messages (.eml, RFC 5322): the head, the text, and what is attached."""

from __future__ import annotations

from collections.abc import Iterator
from email import policy
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.own_date import read_day

HEADERS = ("From", "To", "Cc", "Date", "Subject")
MAX_HEADER = 1000  # characters
MAX_ATTACHMENTS = 50
MAX_DEPTH = 3  # of messages in messages


def read_mail(source: Body) -> BodyText:
    """The message, then each attachment in its own format; those that cannot be read are noted."""
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(source.data)
    text = PlacedText(source, _header(message, "Subject"), _find_day(message))
    heads = [f"{name}: {value}" for name in HEADERS if (value := _header(message, name))]
    if not heads:
        raise UnreadablePage("it is no message: it has neither sender nor subject", "invalid")
    text.add("\n".join(heads), "head of the message")
    _add_body(text, source, message)
    faults = [fault for fault in _add_attachments(text, source, message) if fault]
    if faults:
        text.note = "not read: " + "; ".join(faults)
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
    kind = "text/html" if body.get_content_subtype() == "html" else "text/plain"
    try:
        text.add(_read_part(body, kind, source).text, "message")
    except UnreadablePage:
        return  # an empty message with attachments


def _read_part(part: Message, content_type: str, source: Body, suffix: str = "") -> BodyText:
    from agent.documents.registry import read_source

    charset = part.get_content_charset()
    declared = f"{content_type}; charset={charset}" if charset else content_type
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        data, suffix = part.get_payload()[0].as_bytes(), ".eml"  # type: ignore[union-attr,index]
    else:
        payload = part.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
    return read_source(Body(data, declared, suffix=suffix, depth=source.depth + 1))


def _add_attachments(text: PlacedText, source: Body, message: EmailMessage) -> Iterator[str]:
    """Add the attachments; yields the name of each that is not read, with the reason."""
    for n, part in enumerate(message.iter_attachments(), 1):
        name = " ".join((part.get_filename() or f"attachment {n}").split())
        suffix = "." + name.rpartition(".")[2].lower() if "." in name else ""
        if part.get_content_maintype() in ("image", "audio", "video"):
            continue
        if n > MAX_ATTACHMENTS or source.depth >= MAX_DEPTH:
            yield f"{name} (too many attachments)"
            return
        try:
            found = _read_part(part, part.get_content_type(), source, suffix)
        except UnreadablePage as error:
            yield f"{name} ({error})"
        else:
            text.add_read(found, f"attachment {name}")
            yield f"{name}: {found.note}" if found.note else ""
