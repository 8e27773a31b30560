"""A page's title and text from its bytes: HTML, XML, plain text.

The pipeline of a page in HTML:

    bytes -> charset           sniff.decode
    -> HTML tree               html.py, with lxml
    -> hidden text removed     hidden.py, with the CSS of stylesheet.py
    -> boxes and tables out    boxes.py; placeholders stand for them
    -> main text               trafilatura
    -> boxes and tables back   html.py, at the placeholders that are left
    -> text                    normalize_text

Plain text and XML go straight from their characters to `normalize_text`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.documents import sniff
from agent.documents.body_text import BodyText, PlacedText, RawBody, UnreadablePage

if TYPE_CHECKING:
    from agent.documents.html.reader import HtmlPage

#: Seconds of processor time for a page in HTML. The slowest honest one measured takes 1.3; run
#: benchmarks/pages.py after changing it.
MAX_HTML_SECONDS = 4
MAX_SLOW_HTML = 2_000_000  # characters of a page that took longer


def read_html(source: RawBody) -> BodyText:
    """The main text of a page. Raises UnreadablePage for one of the web that is a wall."""
    from agent.documents.html.own_words import TEASER
    from agent.documents.html.walls import detect_wall

    if source.is_report:
        from agent.documents.reports.html import read_html_report

        return read_html_report(source)
    page = _extract_html(sniff.decode(source.data, source.content_type), source.url)
    text = PlacedText(source, page.title)
    text.date, text.note = page.date, TEASER if page.is_teaser else ""
    text.add(page.text)
    found, failure = BodyText(text.title, ""), None
    try:
        found = text.finish()
    except UnreadablePage as error:
        failure = error
    wall = None if source.suffix else detect_wall(source.data, found.title, found.text)
    if wall:
        raise UnreadablePage(wall.reason, wall.outcome)
    if failure:
        raise failure
    return found


def read_plain_text(source: RawBody) -> BodyText:
    """The text of a page of the web that has no markup, or that of Markdown."""
    raw = sniff.decode(source.data, source.content_type)
    return _finish(source, _find_markdown_title(raw), raw)


def read_xml(source: RawBody) -> BodyText:
    """Title and character data of an XML document or a feed."""
    return _finish(source, *_extract_xml(sniff.decode(source.data, source.content_type)))


def _finish(source: RawBody, title: str, raw: str) -> BodyText:
    text = PlacedText(source, title)
    text.add(raw)
    return text.finish()


def _extract_html(html: str, url: str) -> HtmlPage:
    """Title and text of a page; one that is too slow to understand keeps all its words."""
    from agent.documents.cpu_limit import OverCpuLimit, limit_cpu
    from agent.documents.html.reader import HtmlPage, extract_html, strip_tags

    try:
        with limit_cpu(MAX_HTML_SECONDS):
            return extract_html(html, url)
    except OverCpuLimit:
        return HtmlPage("", strip_tags(html[:MAX_SLOW_HTML]))


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

    from agent.documents.html import reader as html

    html.silence_trafilatura()
