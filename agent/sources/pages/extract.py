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
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from agent.characters import strip_controls
from agent.sources.pages import sniff

if TYPE_CHECKING:
    from agent.state import Outcome  # not imported by a worker: it would import pydantic

MAX_TEXT = 1_000_000  # characters
#: Seconds of processor time for a page in HTML. The slowest honest one measured takes 1.3; run
#: benchmarks/pages.py after changing it.
MAX_HTML_SECONDS = 4
MAX_SLOW_HTML = 2_000_000  # characters of a page that took longer
MAX_RAW_TITLE = 10_000  # characters of a title, before blanks are taken out
#: Gets title and text of each part of a body that is ready before the whole.
OnPart = Callable[[str, str], None]


class UnreadablePage(ValueError):
    """A body without readable text; `outcome` says which kind of failure that is."""

    def __init__(self, reason: str, outcome: Outcome) -> None:
        super().__init__(reason)
        self.outcome: Outcome = outcome


class PageText(NamedTuple):
    """The text of a page that its reader sees."""

    title: str
    text: str


def ignore_part(title: str, text: str) -> None:
    """Do nothing with a part of a body."""


def extract(
    body: bytes,
    content_type: str = "",
    url: str = "",
    *,
    kind: sniff.MediaKind | None = None,
    on_part: OnPart = ignore_part,
) -> PageText:
    """Title and text of a body in any format.

    The text is as `normalize_text` makes it, one line a paragraph or table row, at most a million
    characters. `kind` is what `detect_kind` found, where the caller has asked it already. `on_part`
    gets title and text of each page of a PDF as soon as it is read. Raises UnreadablePage with the
    reason: an unknown format, an encrypted or broken PDF, no text.
    """
    kind = kind or sniff.detect_kind(body, content_type)
    if kind == "binary":
        declared_type = content_type.split(";")[0][:50] or "of no declared type"
        reason = f"it is neither a page nor a PDF nor text ({declared_type})"
        raise UnreadablePage(reason, "unsupported")
    if kind == "pdf":
        title, text = _extract_pdf(body, on_part)
    else:
        title, text = _extract_decoded(kind, sniff.decode(body, content_type), url)
    text = normalize_text(text)
    if not text:
        raise UnreadablePage("it has no text", "empty")
    return PageText(normalize_title(title), text)


def normalize_title(title: str) -> str:
    """A title in the form of `normalize_text`, on one line of at most 300 characters."""
    return normalize_text(title[:MAX_RAW_TITLE]).replace("\n", " ")[:300]


def _extract_pdf(body: bytes, on_part: OnPart) -> tuple[str, str]:
    from agent.sources.pages.pdf import extract_pdf

    try:
        return extract_pdf(
            body, lambda title, text: on_part(normalize_title(title), normalize_text(text))
        )
    except ValueError as error:
        raise UnreadablePage(f"it is {error}", "invalid") from None


def _extract_decoded(kind: sniff.MediaKind, text: str, url: str) -> tuple[str, str]:
    if kind == "html":
        return _extract_html(text, url)
    if kind == "xml":
        return _extract_xml(text)
    return _find_markdown_title(text) if kind == "text" else "", text


def _extract_html(html: str, url: str) -> tuple[str, str]:
    """Title and text of a page; one that is too slow to understand keeps all its words."""
    from agent.sources.pages.cpu_limit import OverCpuLimit, limit_cpu
    from agent.sources.pages.html import extract_html, strip_tags

    try:
        with limit_cpu(MAX_HTML_SECONDS):
            return extract_html(html, url)
    except OverCpuLimit:
        return "", strip_tags(html[:MAX_SLOW_HTML])


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
    title = re.search(r"<title[^<>]*>(?:<!\[CDATA\[)?([^<]*)", text[:20_000])
    content = re.sub(r"<!\[CDATA\[|\]\]>", "", text)
    for _ in range(2):
        content = sniff.unescape_entities(re.sub(r"<[^<>]*>", "\n", content))
    return sniff.unescape_entities(title[1]) if title else "", content


def warm() -> None:
    """Import the libraries of extraction before the first page needs them (0.2 s)."""
    import trafilatura  # noqa: F401

    from agent.sources.pages import html

    html.silence_trafilatura()


_BLANKS = re.compile(r"[^\S\n]+")
#: What may be combining marks: no letter is one.
_MARKS = re.compile(r"[^\w\s]{31,}")
#: Combining marks in a row: the limit of the Stream-Safe Text Format (Unicode Annex 15).
MAX_COMBINING_MARKS = 30


def normalize_text(text: str) -> str:
    """A text in the form in which it is stored and quoted.

    It is in NFC, has no character that `strip_controls` takes out, single blanks, no blank lines,
    and at most a million characters.
    """
    text = strip_controls(text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", _MARKS.sub(_limit_combining_marks, text))
    lines = (line.strip() for line in _BLANKS.sub(" ", text).split("\n"))
    return "\n".join(filter(None, lines))[:MAX_TEXT].strip()


def _limit_combining_marks(match: re.Match[str]) -> str:
    """Characters with bounded runs of combining marks, which NFC sorts in quadratic time."""
    chars: list[str] = []
    run_length = 0
    for char in match[0]:
        run_length = run_length + 1 if unicodedata.combining(char) else 0
        if run_length <= MAX_COMBINING_MARKS:
            chars.append(char)
    return "".join(chars)
