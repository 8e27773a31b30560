"""Title and text of an HTML page: the main text, with data tables and infoboxes in their places."""

from __future__ import annotations

import logging
import re
from typing import Any, NamedTuple

from agent.documents import sniff
from agent.documents.body_text import (
    TEXT,
    Body,
    BodyText,
    PlacedText,
    UnreadablePage,
    normalize_text,
    normalize_title,
)
from agent.documents.cpu_limit import OverCpuLimit, limit_cpu
from agent.documents.formulas import STRUCK, lower_text, raise_text, write_formula
from agent.documents.html import structured_data
from agent.documents.html.data_tables import join_definitions, put_boxes_back, take_boxes
from agent.documents.html.element_lines import Element, render_text, write_marks
from agent.documents.html.hidden import remove_elements, remove_hidden
from agent.documents.html.paywall_detection import detect_wall
from agent.documents.html.report_markdown import write_markdown

#: Seconds of processor time for a page. The slowest honest one measured takes 1.3; run
#: test_body_text.py after changing it.
MAX_SECONDS = 4
MAX_CHARS = 2_000_000  # that are parsed
#: Characters of a main text that may lack parts: of 200 manual pages the longer one of two ways has
#: .918 of all words (.892). Without a bound F1 of 990 real pages would be .913 (.916).
MAX_SHORT = 1000
#: Elements, boxes aside, up to which the main text is extracted, at 30 microseconds each. Above it
#: all words of the page are taken. The largest article measured has 1,600 and the largest
#: Wikipedia page 8,000. Run `python -m evals.pages` and test_body_text.py after changing it.
MAX_ELEMENTS = 15_000
MAX_TAGS = 120_000  # opening and closing; the largest Wikipedia page measured has 30,000
#: The parser compares all attributes of a tag pairwise: 200,000 of them take a minute.
MAX_ATTRIBUTES = 1000
TOO_DEEP = "it is nested too deep to be read whole"

#: MediaWiki's footnote numbers, which would read like citations of an answer, its edit links, and
#: a heading's link to itself.
_EDITORIAL_MARKS = (
    "//sup[contains(@class, 'reference')]"
    " | //a[starts-with(@href, '#') and contains('¶ § #', normalize-space())]"
    " | //*[contains(@class, 'mw-editsection') or contains(@class, 'mw-jump-link')"
    " or contains(@class, 'navbar-mini')]"
)
#: The name is possessive: it shares characters with what follows, and giving them back one by one
#: would take quadratic time.
_LONG_TAG = re.compile(r"<(\w++)[^<>]{4000,}+>")
_QUOTED_VALUE = re.compile(r"=\s*+(?:\"[^\"]*+\"?|'[^']*+'?)")
_SHIFT = re.compile(r"vertical-align\s*:\s*su(p|b)")
_BLANKS = re.compile(r"[ \t\r\n\f]+")
#: Where the body of a page begins that has no tag for it: these do not end the head for the parser.
_FIRST_PART = re.compile(r"<(?=(?:main|article|section|header|nav|aside|footer)\b)", re.IGNORECASE)
_BODY = re.compile(r"<body\b", re.IGNORECASE)
#: What no text of a tree may hold, though the parser lets it in: XML 1.0, section 2.2.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class HtmlPage(NamedTuple):
    """Title and text of a page, and what it says of itself (`structured_data.py`)."""

    title: str
    text: str
    date: str
    is_teaser: bool
    is_whole: bool
    data: str


def read_html(source: Body) -> BodyText:
    """The main text of a page. Raises UnreadablePage, for one of the web that is a wall, too."""
    html = sniff.decode(source.data, source.content_type)
    try:
        with limit_cpu(MAX_SECONDS):
            if source.is_report:
                tree, _ = parse_page(html)
                return BodyText(normalize_title(_find_title(tree)), write_markdown(tree))
            page = extract_html(html, source.url)
    except OverCpuLimit:
        raise UnreadablePage("it takes too long to read", "invalid") from None
    text = PlacedText(source, page.title, page.date)
    text.lose(TEXT, page.is_teaser, structured_data.TEASER)
    text.lose(TEXT, not page.is_whole, TOO_DEEP)
    text.add(page.text)
    text.add(page.data, structured_data.PLACE)
    is_page = source.suffix or page.data
    if not is_page and (wall := detect_wall(source.data, text.title, normalize_text(page.text))):
        raise UnreadablePage(wall.reason, wall.outcome)
    return text.finish()


def extract_html(html: str, url: str = "") -> HtmlPage:
    """Title, text and structured data of a page. The text is empty where the page shows none.

    The main text is trafilatura's, with boxes put back and hidden elements removed. A page with too
    many elements keeps all its words. Raises UnreadablePage for what is no page.
    """
    tree, is_whole = parse_page(html)
    day, data = structured_data.find_day(tree, url), structured_data.read_data(tree)
    is_paid = structured_data.calls_itself_paid(tree)
    title = _find_title(tree)
    body = _prepare(tree)
    if _count(body) > 3 * MAX_ELEMENTS:
        text = render_text(body)
    else:
        boxes = take_boxes(body)
        is_long = _count(body) > MAX_ELEMENTS
        text = put_boxes_back(render_text(body) if is_long else _find_main(tree, url), boxes)
    is_teaser = is_paid and len(text) < structured_data.MAX_TEASER
    return HtmlPage(title, text, day, is_teaser, is_whole, structured_data.lacking_data(text, data))


def parse_page(html: str) -> tuple[Element, bool]:
    """The tree of a page, and whether it is whole: the parser stops at a depth of 256.

    Only its beginning is parsed, in bounded time. Raises UnreadablePage for what has no body.
    """
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    html = _NOT_XML.sub("", html[:MAX_CHARS])
    if (tags := html.count("<")) > MAX_TAGS:
        html = html[: len(html) * MAX_TAGS // tags]
    html = _LONG_TAG.sub(_limit_attributes, html)
    if not _BODY.search(html):
        html = _FIRST_PART.sub("<body><", html, count=1)
    parser = HTMLParser(remove_pis=True, remove_comments=True, encoding="utf-8")
    try:
        tree = document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except etree.LxmlError:
        tree = None
    if tree is None or tree.find("body") is None:
        raise UnreadablePage("it has no text", "empty")
    error = parser.error_log.last_error
    return tree, error is None or error.type_name != "ERR_RESOURCE_LIMIT"


def _limit_attributes(tag: re.Match[str]) -> str:
    """A tag; without its attributes, blanks or slashes between them, if they are too many."""
    count = len(_QUOTED_VALUE.sub(" ", tag[0]).replace("/", " ").split())
    return tag[0] if count <= MAX_ATTRIBUTES else f"<{tag[1]}>"


def _prepare(tree: Element) -> Element:
    """The body of a page as it is shown, with its signs and marks written as text."""
    remove_elements(tree.xpath(_EDITORIAL_MARKS))
    remove_hidden(tree)
    _write_signs(tree)
    body = tree.find("body")
    kept = {part for code in tree.iter("pre") for part in code.iter()}
    for element in tree.iter():  # a line break that no browser shows would end a sentence
        if element.text and element not in kept:
            element.text = _BLANKS.sub(" ", element.text)
        if element.tail and element.getparent() not in kept:
            element.tail = _BLANKS.sub(" ", element.tail)
    join_definitions(body)
    write_marks(tree, "//ol[@start or @reversed or li/@value or @type != '1']")
    return body


def _write_signs(tree: Element) -> None:
    """Write raised, lowered and struck text and formulas as text that means the same.

    What is raised and links is the mark of a note.
    """
    for element in tree.iter("del", "s", "strike"):
        if element.text_content().strip():
            end = element.makeelement("span")
            element.text, end.text = STRUCK + (element.text or ""), STRUCK
            element.append(end)
    for element in tree.xpath("//span[contains(@style, 'vertical-align')]"):
        shift = _SHIFT.search(element.get("style"))
        element.tag = f"su{shift[1]}" if shift else "span"
    for element in list(tree.iter("sup", "sub", "math")):
        text = element.text_content()
        if element.getparent() is None:  # it was in another one
            continue
        if element.tag == "math":
            text = write_formula(element)
        elif next(element.iter("a"), None) is None:
            text = (raise_text if element.tag == "sup" else lower_text)(text)
        else:
            continue
        del element[:]
        element.text = text
        element.drop_tag()


def _find_title(tree: Element) -> str:
    """The title for social networks (Open Graph), else for the browser, else the first heading."""
    for path in ("//meta[@property='og:title']/@content", "//title", "//h1"):
        for match in tree.xpath(path)[:3]:
            title = match if isinstance(match, str) else match.text_content()
            if title.strip():
                return str(title)
    return ""


def _count(element: Element) -> int:
    return int(element.xpath("count(descendant::*)"))


def _find_main(tree: Element, url: str) -> str:
    """The main text by trafilatura; of a short page that with more of it, if one has.

    Where it finds little, trafilatura takes paragraphs alone: no heading, no term of a list.
    """
    text = _ask_trafilatura(tree, url)
    if len(text) >= MAX_SHORT:
        return text
    return max(text, _ask_trafilatura(tree, url, favor_recall=True), key=len)


def _ask_trafilatura(tree: Element, url: str, *, favor_recall: bool = False) -> str:
    """The main text. Trafilatura's fast way takes one post of a thread for all of it."""
    import trafilatura

    silence_trafilatura()
    try:
        document: Any = trafilatura.bare_extraction(
            tree, url or None, include_comments=False, favor_recall=favor_recall
        )
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return ""  # a fault of the library
    return str(document.text or "") if document is not None else ""


def silence_trafilatura() -> None:
    """Keep trafilatura's warnings about pages without text off stderr.

    A handler that the caller has set up still gets them.
    """
    logger = logging.getLogger("trafilatura")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
