"""A page's title and text from its bytes: HTML, PDF, JSON, XML, plain text, Markdown.

The pipeline of a page in HTML:

    bytes -> charset           sniff.decode
    -> HTML tree               html.py, with lxml
    -> hidden text removed     hidden.py, with the CSS of stylesheet.py
    -> boxes and tables out    boxes.py; placeholders stand for them
    -> main text               trafilatura
    -> boxes and tables back   html.py, at the placeholders that are left
    -> text                    normalize_text

A PDF goes through `pdf.py`, every other format straight from its characters to `normalize_text`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from agent.sources.pages import sniff
from agent.state import Outcome

MAX_TEXT = 1_000_000  # characters


class UnreadablePage(ValueError):
    """A body without readable text; `outcome` says which kind of failure that is."""

    def __init__(self, reason: str, outcome: Outcome) -> None:
        super().__init__(reason)
        self.outcome: Outcome = outcome


class PageText(NamedTuple):
    """The text of a page that its reader sees."""

    title: str
    text: str


def extract(
    body: bytes, content_type: str = "", url: str = "", *, kind: sniff.MediaKind | None = None
) -> PageText:
    """Title and text of a body in any format.

    The text is as `normalize_text` makes it, one line a paragraph or table row, at most a million
    characters. `kind` is what `detect_kind` found, where the caller has asked it already. Raises
    UnreadablePage with the reason: an unknown format, an encrypted or broken PDF, no text.
    """
    kind = kind or sniff.detect_kind(body, content_type)
    if kind == "binary":
        declared_type = content_type.split(";")[0][:50] or "of no declared type"
        reason = f"it is neither a page nor a PDF nor text ({declared_type})"
        raise UnreadablePage(reason, "unsupported")
    if kind == "pdf":
        title, text = _extract_pdf(body)
    else:
        title, text = _extract_decoded(kind, sniff.decode(body, content_type), url)
    text = normalize_text(text)
    if not text:
        raise UnreadablePage("it has no text", "empty")
    return PageText(normalize_text(title).replace("\n", " ")[:300], text)


def _extract_pdf(body: bytes) -> tuple[str, str]:
    from agent.sources.pages.pdf import extract_pdf

    try:
        return extract_pdf(body)
    except ValueError as error:
        raise UnreadablePage(f"it is {error}", "invalid") from None


def _extract_decoded(kind: sniff.MediaKind, text: str, url: str) -> tuple[str, str]:
    if kind == "html":
        from agent.sources.pages.html import extract_html

        return extract_html(text, url)
    if kind == "xml":
        return _extract_xml(text)
    return _find_markdown_title(text) if kind == "text" else "", text


_MARKDOWN_TITLE = re.compile(
    r"\A\s*(?:---\n.*?^title:\s*[\"']?([^\n\"']+).*?^---|#\s+([^\n]+))", re.M | re.S
)


def _find_markdown_title(text: str) -> str:
    """The title in the front matter of a Markdown file, or its first heading."""
    match = _MARKDOWN_TITLE.match(text[:5000])
    return (match[1] or match[2]).strip(" #") if match else ""


def _extract_xml(text: str) -> tuple[str, str]:
    """Title and character data of an XML document or a feed.

    Tags are removed twice, since the items of a feed often hold escaped HTML.
    """
    from html import unescape

    title = re.search(r"<title[^<>]*>(?:<!\[CDATA\[)?([^<]*)", text[:20_000])
    content = re.sub(r"<!\[CDATA\[|\]\]>", "", text)
    for _ in range(2):
        content = unescape(re.sub(r"<[^<>]*>", "\n", content))
    return unescape(title[1]) if title else "", content


def warm() -> None:
    """Import the libraries of extraction before the first page needs them (0.2 s)."""
    import trafilatura  # noqa: F401

    from agent.sources.pages import html

    html.silence_trafilatura()


#: Control and format characters. Among them are zero-width characters, which hide words, changes
#: of direction, which change the order of words on screen, and halves of surrogate pairs.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_BLANKS = re.compile(r"[^\S\n]+")
_LONG_WORD = re.compile(r"\S{1000,}")
#: Combining marks in a row: the limit of the Stream-Safe Text Format (Unicode Annex 15).
MAX_COMBINING_MARKS = 30


def normalize_text(text: str) -> str:
    """A text in the form in which it is stored and quoted.

    It is in NFC, has no control characters, single blanks, no blank lines, and at most a million
    characters.
    """
    text = re.sub("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text)
    text = _INVISIBLE.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", _LONG_WORD.sub(_limit_combining_marks, text))
    lines = (line.strip() for line in _BLANKS.sub(" ", text).split("\n"))
    return "\n".join(filter(None, lines))[:MAX_TEXT].strip()


def _limit_combining_marks(match: re.Match[str]) -> str:
    """A long word with bounded runs of combining marks, which NFC sorts in quadratic time."""
    chars: list[str] = []
    run_length = 0
    for char in match[0]:
        run_length = run_length + 1 if unicodedata.combining(char) else 0
        if run_length <= MAX_COMBINING_MARKS:
            chars.append(char)
    return "".join(chars)
