"""Content sniffing: the format of a body, whatever its server declares, and its bytes as text."""

from __future__ import annotations

import re
from html import unescape
from typing import Literal

MediaKind = Literal["html", "pdf", "json", "xml", "text", "binary"]

SNIFFED_BYTES = 4096  # from the beginning of a body
GUESSED_BYTES = 65_536  # from which an encoding is guessed
MIN_GUESSED_BYTES = 500
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|meta)[\s/>]", re.IGNORECASE)
_XML = re.compile(rb"\s*<(?:\?xml\s|rss[\s>]|feed[\s>])", re.IGNORECASE)
#: Control characters that no text has. A page in UTF-16 has many, and a byte order mark.
_CONTROLS = bytes({*range(0x20)} - {*range(0x09, 0x0E), 0x1B})
_BOMS = (
    *((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be")),
    *((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")),
)
#: Escape sequences of stateful encodings (ISO-2022, HZ). Their bytes are valid UTF-8, and yet
#: mean other characters.
_STATEFUL_ENCODINGS = (b"\x1b$", b"\x1b(", b"~{")
_LONG_ENTITY = re.compile(r"&#(?:[xX][0-9a-fA-F]{40,}|[0-9]{40,});?")


def detect_kind(body: bytes, content_type: str = "") -> MediaKind:
    """The format of a body. `content_type` decides only where the bytes leave it open."""
    head = body[:SNIFFED_BYTES]
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if not head.startswith(tuple(mark for mark, _ in _BOMS[1:])):
        if len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 100:
            return "binary"
        return _detect_text_kind(head.removeprefix(_BOMS[0][0]), content_type.lower())
    return "html" if "html" in content_type.lower() else "text"


def _detect_text_kind(head: bytes, content_type: str) -> MediaKind:
    is_plain = "text/plain" in content_type or "markdown" in content_type
    if _XML.match(head) and not _HTML.search(head):
        return "xml"
    first, second = (head.lstrip()[at : at + 1] for at in (0, 1))
    is_tag = first == b"<" and (second.isalpha() or second == b"!")
    if is_tag and (_HTML.search(head) or not is_plain):
        return "html"
    if first in (b"{", b"[") and "html" not in content_type:
        return "json"
    return "html" if "html" in content_type and b"<" in head else "text"


def decode(body: bytes, content_type: str = "") -> str:
    """The text of a body, without a last character of which bytes are missing.

    The encoding is that of the byte order mark, else strict UTF-8, else the declared one, else a
    guess. UTF-8 precedes the header, unlike in browsers: headers are often wrong, and text in
    another encoding is practically never valid UTF-8.
    """
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    is_stateful = any(sign in body[:SNIFFED_BYTES] for sign in _STATEFUL_ENCODINGS)
    text = None if is_stateful else _decode_utf8(body)
    return _decode_declared(body, content_type) if text is None else text


def _decode_declared(body: bytes, content_type: str) -> str:
    """The text by the encoding that the header or the page declares, else by a guess.

    Names of codecs that make no text (`base64`, `idna`), or that cannot decode it, do not count.
    """
    from w3lib.encoding import html_to_unicode

    try:
        _, text = html_to_unicode(content_type or None, body, auto_detect_fun=_guess_encoding)
        odd = sum(byte > 127 for byte in body)
        if str(text).count("\ufffd") * 5 <= odd:  # else they declare another encoding than theirs
            return str(text)
    except (LookupError, ValueError, AssertionError):
        pass
    return body.decode(_guess_encoding(body), "replace")


def unescape_entities(text: str) -> str:
    """The text with its HTML entities decoded. A number of more digits than any character has is
    one that no character has: Python refuses to read thousands of digits.
    """
    return unescape(_LONG_ENTITY.sub("\ufffd", text))


def _decode_utf8(body: bytes) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        is_cut = error.start >= len(body) - 3 and error.reason == "unexpected end of data"
        return body[: error.start].decode("utf-8") if is_cut else None


def _guess_encoding(body: bytes) -> str:
    """The most probable encoding, from the frequencies of characters at the beginning.

    A short text with few letters beyond ASCII has no frequencies: it is taken for a Western one.
    """
    from charset_normalizer import from_bytes

    if len(body) < MIN_GUESSED_BYTES and sum(byte > 127 for byte in body) * 4 < len(body):
        return "cp1252"
    best = from_bytes(body[:GUESSED_BYTES]).best()
    return best.encoding if best else "cp1252"
