"""A page's title and text, from its bytes: HTML, PDF, JSON, XML, plain text, Markdown."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from agent.sources.pages import sniff
from agent.state import Outcome

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
        said = content_type.split(";")[0][:50] or "of no declared type"
        raise Unreadable(f"it is neither a page nor a PDF nor text ({said})", "unsupported")
    title, text = _pdf(body) if kind == "pdf" else _shown(kind, body, content_type, url)
    text = clean(text)
    if not text:
        raise Unreadable("it has no text", "empty")
    return Extracted(clean(title).replace("\n", " ")[:300], text)


def _pdf(body: bytes) -> tuple[str, str]:
    from agent.sources.pages.pdf import extract_pdf

    try:
        return extract_pdf(body)
    except ValueError as error:
        raise Unreadable(f"it is {error}", "invalid") from None


def _shown(kind: sniff.Kind, body: bytes, content_type: str, url: str) -> tuple[str, str]:
    text = sniff.decode(body, content_type)
    if kind == "html":
        from agent.sources.pages.html import extract_html

        return extract_html(text, url)
    if kind == "xml":
        return _xml(text)
    return _heading(text) if kind == "text" else "", text


_HEADING = re.compile(
    r"\A\s*(?:---\n.*?^title:\s*[\"']?([^\n\"']+).*?^---|#\s+([^\n]+))", re.M | re.S
)


def _heading(text: str) -> str:
    """The title of a Markdown file: its front matter's, or its first heading."""
    match = _HEADING.match(text[:5000])
    return (match[1] or match[2]).strip(" #") if match else ""


def _xml(text: str) -> tuple[str, str]:
    """The words of an XML document or a feed; those of a feed's items are often HTML."""
    from html import unescape

    title = re.search(r"<title[^<>]*>(?:<!\[CDATA\[)?([^<]*)", text[:20_000])
    words = re.sub(r"<!\[CDATA\[|\]\]>", "", text)
    for _ in range(2):
        words = unescape(re.sub(r"<[^<>]*>", "\n", words))
    return unescape(title[1]) if title else "", words


def warm() -> None:
    """Import what extraction needs: 0.2 s."""
    import trafilatura  # noqa: F401

    from agent.sources.pages import html

    html.quiet()


#: Control and format characters, among them zero-width ones (which hide words from a reader),
#: changes of direction (which show them in another order) and halves of surrogate pairs.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_BLANKS = re.compile(r"[^\S\n]+")
_LONG = re.compile(r"\S{1000,}")
MARKS = 30  # combining marks in a row: the Stream-Safe Text Format of Unicode Annex 15


def clean(text: str) -> str:
    """A text as it is stored and quoted: NFC, blanks single, one line a paragraph, no controls."""
    text = _UNSEEN.sub("", re.sub("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text))
    if not text.isascii():
        text = unicodedata.normalize("NFC", _LONG.sub(_calmed, text))
    lines = (line.strip() for line in _BLANKS.sub(" ", text).split("\n"))
    return "\n".join(filter(None, lines))[:MAX_TEXT].strip()


def _calmed(match: re.Match[str]) -> str:
    """A long run of characters without endless marks, whose sorting takes quadratic time."""
    kept: list[str] = []
    row = 0
    for char in match[0]:
        row = row + 1 if unicodedata.combining(char) else 0
        if row <= MARKS:
            kept.append(char)
    return "".join(kept)
