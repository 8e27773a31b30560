"""A page's title and text, from its bytes: HTML, PDF, JSON, XML, plain text, Markdown."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import NamedTuple

from agent.errors import Outcome
from agent.pages import sniff

MAX_TEXT = 1_000_000  # characters


class Unreadable(ValueError):
    """Nothing can be read in a body; `outcome` says what kind of failure that is."""

    def __init__(self, reason: str, outcome: Outcome) -> None:
        super().__init__(reason)
        self.outcome: Outcome = outcome


class Extracted(NamedTuple):
    """What a reader sees of a page."""

    title: str
    text: str


def extract(body: bytes, content_type: str = "", url: str = "") -> Extracted:
    """Title and text of a body, whatever it is.

    The text is NFC, without control characters, one line a paragraph or table row, at most
    a million characters; blanks are single. Raises ValueError with the reason when nothing can be
    read: an unknown format, an encrypted or broken PDF, a page without text.
    """
    kind = sniff.kind(body, content_type)
    if kind == "binary":
        said = content_type or "of no declared type"
        raise Unreadable(f"it is neither a page nor a PDF nor text ({said})", "unsupported")
    if kind == "pdf":
        from agent.pages.pdf import extract_pdf

        title, text = extract_pdf(body)
    elif kind == "html":
        from agent.pages.html import extract_html

        title, text = extract_html(sniff.decode(body, content_type), url)
    else:
        title, text = "", sniff.decode(body, content_type)
    text = clean(text)
    if not text:
        raise Unreadable("it has no text", "empty")
    return Extracted(clean(title)[:300].replace("\n", " "), text)


def warm() -> None:
    """Import what extraction needs."""
    import pypdfium2  # noqa: F401
    import trafilatura  # noqa: F401


_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def clean(text: str) -> str:
    text = re.sub(r"[^\S\n]+", " ", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = unicodedata.normalize("NFC", _CONTROL.sub("", text))
    return "\n".join(filter(None, (line.strip() for line in text.split("\n"))))[:MAX_TEXT]
