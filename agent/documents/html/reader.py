"""Title and text of an HTML page: the main text, with data tables and infoboxes in their places."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agent.documents import sniff
from agent.documents.blocks import TextBlock
from agent.documents.body_text import (
    TEXT,
    Body,
    BodyText,
    PlacedText,
    UnreadablePage,
    normalize_text,
)
from agent.documents.cpu_limit import OverCpuLimit, limit_cpu
from agent.documents.formats.numbering import WAYS, write_number
from agent.documents.formats.xml import to_int
from agent.documents.formulas import STRUCK, lower_text, raise_text, write_formula
from agent.documents.html.blocks import Element, read_blocks
from agent.documents.html.boxes import find_boxes, find_layout_tables, render_text, unwrap_tables
from agent.documents.html.data import MIN_TOLD, PLACE, add_data, read_data
from agent.documents.html.hidden import remove_elements, remove_hidden
from agent.documents.html.links import read_links
from agent.documents.html.own_words import (
    MAX_TEASER,
    MIN_PAID_PART,
    TEASER,
    find_day,
    find_paid_parts,
    measure_parts,
)
from agent.documents.html.tables import name_columns
from agent.documents.html.walls import detect_wall

#: Seconds of processor time for a page. The slowest honest one measured takes 1.3; run
#: test_extract.py after changing it.
MAX_SECONDS = 4
#: Characters that are parsed.
MAX_CHARS = 2_000_000
#: Characters of a main text that may lack parts. Of 990 real pages 102 have less: taking the longer
#: text has .872 of what is wanted there (.861), F1 .894 (.893); of 200 manual pages .918 of all
#: words (.892). Without a bound F1 of the 990 would be .913 (.916).
MAX_SHORT = 1000
#: Elements, boxes aside, up to which the main text is extracted, at 30 microseconds each. Above it
#: all words of the page are taken. The largest article measured has 1,600 and the largest
#: Wikipedia page 8,000. Run `python -m evals.pages` and test_extract.py after changing it.
MAX_ELEMENTS = 15_000
#: Tags of a page, opening and closing. The largest Wikipedia page measured has 30,000.
MAX_TAGS = 120_000
#: The parser compares all attributes of a tag pairwise: 200,000 of them take a minute.
MAX_ATTRIBUTES = 1000

#: MediaWiki's footnote numbers, which would read like citations of an answer, its edit links, and
#: a heading's link to itself.
_EDITORIAL_MARKS = (
    "//sup[contains(@class, 'reference')]"
    " | //a[starts-with(@href, '#') and contains('¶ § #', normalize-space())]"
    " | //*[contains(@class, 'mw-editsection') or contains(@class, 'mw-jump-link')"
    " or contains(@class, 'navbar-mini')]"
)
#: What is no prose of a report.
_NO_REPORT = (
    "descendant::*[self::head or self::nav or self::footer or self::aside or self::button"
    " or self::select or self::math or self::object or self::pre or self::script"
    " or self::form[not(descendant::p)] or contains(concat(' ', @class, ' '), ' toc ')"
    " or contains(@class, 'navbox') or contains(@class, 'mw-editsection')"
    " or contains(@class, 'reference-accessdate') or contains(@class, 'mw-jump-link')"
    " or contains(@class, 'infobox')]"
)
#: Where the prose of a page stands, the first that there is.
_MAIN = ("//*[@id='mw-content-text']", "//main", "//article", "//body")
#: In the place of a box: its number, and as many words as it has where it is most of the page, so
#: that the main text is looked for around it. In an article so many would draw the choice.
#: The brackets, double wiggly fences, are in no text of the data.
_PLACEHOLDER = "\u29da{} {}\u29db"
_PLACEHOLDERS = re.compile("\u29da(\\d+) [^\u29da\u29db]*+\u29db")
#: The name is possessive: it shares characters with what follows, and giving them back one by one
#: would take quadratic time.
_LONG_TAG = re.compile(r"<(\w++)[^<>]{4000,}+>")
_QUOTED_VALUE = re.compile(r"=\s*+(?:\"[^\"]*+\"?|'[^']*+'?)")
#: For pages that cannot be parsed: comments and elements without text to read, tags, a tag with
#: the text after it, and a tag that hides its text.
_NON_TEXT = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|template|noscript)\b.*?(?:</\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"<[^<>]*>")
#: Lists whose numbers are no mere places.
_NUMBERED = "//ol[@start or @reversed or li/@value or @type != '1']"
_SHIFT = re.compile(r"vertical-align\s*:\s*(super|sub)\b")
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_TAG_AND_TEXT = re.compile(r"(<[^<>]*>)[^<]+")
_HIDING_TAG = re.compile(
    r"\shidden\b|aria-hidden|display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE
)

#: Where the body of a page begins that has no tag for it: these do not end the head for the parser.
_FIRST_PART = re.compile(r"<(?=(?:main|article|section|header|nav|aside|footer)\b)", re.IGNORECASE)
_BODY = re.compile(r"<body\b", re.IGNORECASE)
#: What no text of a tree may hold, though the parser lets it in: XML 1.0, section 2.2.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class HtmlPage(NamedTuple):
    """Title and text of a page, and what it says of itself: see `own_words.py` and `data.py`."""

    title: str
    text: str
    date: str = ""
    is_teaser: bool = False
    data: str = ""


def read_html(source: Body) -> BodyText:
    """The main text of a page. Raises UnreadablePage for one of the web that is a wall."""
    html = sniff.decode(source.data, source.content_type)
    if source.is_report:
        return _read_report(source, html)
    try:
        with limit_cpu(MAX_SECONDS):
            page = extract_html(html, source.url)
    except OverCpuLimit:  # it is too slow to understand, and keeps all its words
        page = HtmlPage("", strip_tags(html[:MAX_CHARS]))
    text = PlacedText(source, page.title, page.date)
    text.lose(TEXT, page.is_teaser, TEASER)
    text.add(page.text)
    text.add(page.data, PLACE)
    found = text.finish() if text.has_text else BodyText(text.title, "")
    shown = found.text if len(page.data) >= MIN_TOLD else normalize_text(page.text)
    wall = None if source.suffix else detect_wall(source.data, found.title, shown)
    if wall:
        raise UnreadablePage(wall.reason, wall.outcome)
    return found


def _read_report(source: Body, html: str) -> BodyText:
    """The prose of a page with its links and notes. Menus and code are left out."""
    tree = parse_page(html)
    if tree is None:
        raise UnreadablePage("it has no text", "empty")
    text = PlacedText(source, _find_title(tree))
    for block in read_prose(tree):
        text.add_block(block)
    return text.finish()


def read_prose(tree: Element) -> Iterator[TextBlock]:
    """The blocks of a page with their links, without its notes, menus, code and hidden parts."""
    links, notes = read_links(tree)
    root = next((element for path in _MAIN for element in tree.xpath(path)), tree)
    remove_elements([*notes, *root.xpath(_NO_REPORT)])
    remove_hidden(tree)
    unwrap_tables(root, find_layout_tables(root))
    return read_blocks(root, links=links)


def extract_html(html: str, url: str = "") -> HtmlPage:
    """Title and text of a page, and more. The text is empty where the page shows none.

    The main text is trafilatura's. Boxes are replaced by placeholders before, and put back where
    their placeholders are part of the main text. What a browser hides is removed. A page with too
    many elements or too deep nesting keeps all its words.
    """
    html = _limit_size(html)
    tree, is_complete = _parse(html)
    if tree is None or tree.find("body") is None:
        return HtmlPage("", strip_tags(html))
    day, paid, data = find_day(tree), find_paid_parts(tree), read_data(tree)
    remove_elements(tree.xpath(_EDITORIAL_MARKS))
    remove_hidden(tree)
    _write_scripts(tree)
    _join_lines(tree)
    write_marks(tree)
    shown = measure_parts(tree.find("body"), paid or ())  # before the text is taken out of it
    text = _extract_text(tree, url)
    if not is_complete and len(all_text := strip_tags(html)) > 2 * len(text):
        text = all_text
    is_cut = paid is not None and (shown < MIN_PAID_PART if paid else len(text) < MAX_TEASER)
    return HtmlPage(_find_title(tree), text, day, is_cut, add_data(text, data))


def parse_visible(html: str) -> Element | None:
    """The tree of a page, which has a body, as it is shown; None for no page.

    It is without what a browser hides. Raised text, formulas and rows of tables are text.
    """
    if (tree := parse_page(html)) is not None:
        remove_elements(tree.xpath(_EDITORIAL_MARKS))
        remove_hidden(tree)
        _write_scripts(tree)
        name_columns(tree.find("body"))
    return tree


def parse_page(html: str) -> Element | None:
    """The tree of a page, which has a body; None for no page."""
    tree, _ = _parse(_limit_size(html))
    return None if tree is None or tree.find("body") is None else tree


# --- the tree ------------------------------------------------------------------------------------


def _limit_size(html: str) -> str:
    """The beginning of a page that can be parsed in bounded time.

    Tags with too many attributes lose all of them.
    """
    html = _NOT_XML.sub("", html[:MAX_CHARS])
    if (tags := html.count("<")) > MAX_TAGS:
        html = html[: len(html) * MAX_TAGS // tags]
    return _LONG_TAG.sub(_limit_attributes, html)


def _limit_attributes(tag: re.Match[str]) -> str:
    """A tag; without its attributes, blanks or slashes between them, if they are too many."""
    count = len(_QUOTED_VALUE.sub(" ", tag[0]).replace("/", " ").split())
    return tag[0] if count <= MAX_ATTRIBUTES else f"<{tag[1]}>"


def _parse(html: str) -> tuple[Element | None, bool]:
    """The tree of a page, and whether it is complete: the parser stops at a depth of 256."""
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    if not _BODY.search(html):
        html = _FIRST_PART.sub("<body><", html, count=1)
    parser = HTMLParser(remove_pis=True, remove_comments=True, encoding="utf-8")
    try:
        tree = document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except etree.LxmlError:
        return None, False
    error = parser.error_log.last_error
    return tree, error is None or error.type_name != "ERR_RESOURCE_LIMIT"


def _write_scripts(tree: Element) -> None:
    """Write raised, lowered and struck text and formulas as text that means the same.

    What is raised and links is the mark of a note.
    """
    for element in tree.iter("del", "s", "strike"):
        if element.text_content().strip():
            end = element.makeelement("span")
            element.text, end.text = STRUCK + (element.text or ""), STRUCK
            element.append(end)
    styled = tree.xpath("//span[contains(@style, 'vertical-align')]")
    for element in [*tree.iter("sup", "sub", "math"), *styled]:
        shift = _SHIFT.search(element.get("style", "")) if element.tag == "span" else None
        is_plain = element.tag == "span" and not shift
        if element.tag == "math":
            text = write_formula(element)
        elif not is_plain and next(element.iter("a"), None) is None:
            is_raised = element.tag == "sup" or bool(shift and shift[1] == "super")
            text = (raise_text if is_raised else lower_text)(element.text_content())
        else:
            continue
        del element[:]
        element.text = text
        element.drop_tag()


def _join_lines(tree: Element) -> None:
    """Make a blank of each line break that no browser shows: a line break ends a sentence."""
    kept = {part for code in tree.iter("pre") for part in code.iter()}
    for element in tree.iter():
        if element.text and element not in kept:
            element.text = _BLANKS.sub(" ", element.text)
        if element.tail and element.getparent() not in kept:
            element.tail = _BLANKS.sub(" ", element.tail)


def write_marks(tree: Element, lists: str = _NUMBERED) -> None:
    """Write the marks of the items of lists: their numbers as the page gives them, else a dash."""
    for listed in tree.xpath(lists):
        items = list(listed.iterchildren("li"))
        step = -1 if "reversed" in listed.attrib else 1
        number = to_int(listed.get("start", ""), len(items) if step < 0 else 1)
        way = WAYS.get(listed.get("type", ""), "decimal")
        for item in items:
            number = to_int(item.get("value", ""), number)
            mark = "-" if listed.tag == "ul" else f"{write_number(number, way)}."
            inner = next(item.iterchildren("p"), None)
            first = item if inner is None or (item.text or "").strip() else inner
            first.text = f"{mark} {(first.text or '').lstrip()}"
            number += step


def _find_title(tree: Element) -> str:
    """The title for social networks (Open Graph), else for the browser, else the first heading."""
    for path in ("//meta[@property='og:title']/@content", "//title", "//h1"):
        for match in tree.xpath(path)[:3]:
            title = match if isinstance(match, str) else match.text_content()
            if title.strip():
                return str(title)
    return ""


# --- the text ------------------------------------------------------------------------------------


def _extract_text(tree: Element, url: str) -> str:
    """The main text of a page with its boxes, or all its text where it has too many elements."""
    body = tree.find("body")
    if _count_descendants(body) > 3 * MAX_ELEMENTS:
        return render_text(body)
    boxes = _replace_boxes(body)
    unwrap_tables(body, find_layout_tables(body))
    if _count_descendants(body) > MAX_ELEMENTS:
        return _restore_boxes(render_text(body), boxes)
    return _restore_boxes(_extract_main_text(tree, url), boxes)


def _count_descendants(element: Element) -> int:
    return int(element.xpath("count(descendant::*)"))


def _replace_boxes(body: Element) -> list[str]:
    """Replace each box by a placeholder with its number. Returns the texts of the boxes."""
    half_of_text = body.xpath("string-length(normalize-space())") / 2
    texts: list[str] = []
    for n, element in enumerate(find_boxes(body)):
        texts.append(render_text(element))
        placeholder = element.makeelement("p")
        weight = "box " * (len(texts[n]) // 4 if len(texts[n]) > half_of_text else 1)
        placeholder.text, placeholder.tail = _PLACEHOLDER.format(n, weight), element.tail
        element.getparent().replace(element, placeholder)
    return texts


def _restore_boxes(text: str, boxes: Sequence[str]) -> str:
    """Put each box once where its placeholder is."""
    remaining = dict(enumerate(boxes))

    def restore(placeholder: re.Match[str]) -> str:
        n = int(placeholder[1])
        return f"\n{remaining.pop(n, '')}\n" if n < len(boxes) else placeholder[0]

    return _PLACEHOLDERS.sub(restore, text)


def _extract_main_text(tree: Element, url: str) -> str:
    """The main text by trafilatura; of a short page that with more of it, if one has.

    Where it finds little, trafilatura takes paragraphs alone: no heading, no term of a list.
    """
    text = _ask_trafilatura(tree, url)
    if len(text) >= MAX_SHORT:
        return text
    return max(text, _ask_trafilatura(tree, url, favor_recall=True), key=len)


def _ask_trafilatura(tree: Element, url: str, *, favor_recall: bool = False) -> str:
    """The main text without the borders of tables.

    Its fast way takes one post of a thread for all of it.
    """
    import trafilatura

    silence_trafilatura()
    try:
        document: Any = trafilatura.bare_extraction(
            tree, url or None, include_comments=False, favor_recall=favor_recall
        )
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        document = None  # a fault of the library: the page keeps all its words
    text = (document.text or "") if document is not None else ""
    lines = (line.strip() for line in text.split("\n"))
    kept = (line for line in lines if line[:1] != "|" or line.strip("-| :"))
    return "\n".join(line.strip("| ") if line[:1] == "|" else line for line in kept)


def strip_tags(html: str) -> str:
    """The text between tags, without parsing; the text right after a tag that hides is left out."""
    html = _NON_TEXT.sub("\n", html)
    visible = _TAG_AND_TEXT.sub(lambda m: "\n" if _HIDING_TAG.search(m[1]) else m[0], html)
    return sniff.unescape_entities(_TAG.sub("\n", visible))


def silence_trafilatura() -> None:
    """Keep trafilatura's warnings about pages without text off stderr.

    A handler that the caller has set up still gets them.
    """
    logger = logging.getLogger("trafilatura")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
