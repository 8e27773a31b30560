"""What a body is, whatever its server calls it, and its bytes as text."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["html", "pdf", "json", "xml", "text", "binary"]

HEAD = 4096  # bytes that are looked at
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|meta)[\s/>]", re.IGNORECASE)
_TAG = re.compile(rb"\s*<(?:!--|[a-z!])", re.IGNORECASE)
_XML = re.compile(rb"\s*<(?:\?xml\s|rss[\s>]|feed[\s>])", re.IGNORECASE)
#: Control characters that no text has; a page in UTF-16 has its own sign at the start.
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
#: Encodings that are valid UTF-8 byte by byte and mean something else.
_SHIFTING = re.compile(rb"\x1b[$(]|~\{")


def kind(body: bytes, content_type: str = "") -> Kind:
    """What a body is. Its content type decides only where the bytes leave it open."""
    head = body[:HEAD]
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if not head.startswith(tuple(mark for mark, _ in _BOMS[1:])):
        if len(_CONTROLS.findall(head)) > len(head) // 100:
            return "binary"
        return _textual(head.removeprefix(_BOMS[0][0]), content_type.lower())
    return "html" if "html" in content_type.lower() else "text"


def _textual(head: bytes, content_type: str) -> Kind:
    plain = "text/plain" in content_type or "markdown" in content_type
    if _XML.match(head) and not _HTML.search(head):
        return "xml"
    if _TAG.match(head) and (_HTML.search(head) or not plain):
        return "html"
    if head.lstrip()[:1] in (b"{", b"[") and "html" not in content_type:
        return "json"
    return "html" if "html" in content_type and b"<" in head else "text"


def decode(body: bytes, content_type: str = "") -> str:
    """The text of a body: its mark, strict UTF-8, then what header and page declare, then a guess.

    UTF-8 comes before the header, against the browsers' order: a header is often wrong and text
    in another encoding is practically never valid UTF-8. A last character cut in two is dropped.
    """
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    if not _SHIFTING.search(body[:HEAD]):
        text = _utf8(body)
        if text is not None:
            return text
    from w3lib.encoding import html_to_unicode

    _, text = html_to_unicode(content_type or None, body, auto_detect_fun=_guess)
    return str(text)


def _utf8(body: bytes) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(body) - 3 or error.reason != "unexpected end of data":
            return None
        return body[: error.start].decode("utf-8")


def _guess(body: bytes) -> str:
    """The likeliest encoding by its letters; 64 KB tell as much as the whole."""
    from charset_normalizer import from_bytes

    best = from_bytes(body[:65536]).best()
    return best.encoding if best else "cp1252"
