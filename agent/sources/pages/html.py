"""Title and text of an HTML page: the main text, with its tables and boxes where they stood."""

from __future__ import annotations

import logging
import re
from typing import Any

from agent.sources.pages.boxes import boxes, infobox, lines
from agent.sources.pages.hidden import hidden

Element = Any  # lxml has no type hints

#: Characters that are parsed. Extraction holds the interpreter's lock and cannot be interrupted.
MAX_CHARS = 2_000_000
#: Elements, tables aside, up to which main text is told from the rest, at 30 microseconds each.
#: The largest article measured has 1,600 and the largest Wikipedia page 8,000; above this every
#: word of the page is taken. Run benchmarks/pages.py and test_extract.py after changing it.
ELEMENTS = 15_000
#: Characters below which the main text is doubted: the page may be a list, a forum, an index.
SHORT = 250

_NOTES = (
    # the numbers of a page's own footnotes, which would read like citations of ours
    "//sup[contains(@class, 'reference')]"
    " | //*[contains(@class, 'mw-editsection') or contains(@class, 'mw-jump-link')"
    " or contains(@class, 'navbar-mini')]"
)
_AROUND = "//nav | //header | //footer | //aside | //form | //button | //select | //script"
_MARK = "\u27e6{}\u27e7"
_MARKS = re.compile("\u27e6(\\d+)\u27e7")
#: Tables as trafilatura writes them: pipes around the row and a line of dashes.
_RULE = re.compile(r"^\|?[-| :]+\|?$")
_SCRIPTS = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|template|noscript)\b.*?(?:</\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_WORDS_AFTER = re.compile(r"(<[^<>]*>)[^<]+")
_SAYS_HIDDEN = re.compile(
    r"\shidden\b|aria-hidden|display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE
)
_TAGS = re.compile(r"<[^<>]*>")
#: Tags of a page, opening and closing; the largest Wikipedia page measured has 30,000.
TAGS = 120_000
#: A parser compares each attribute of a tag with each other: 200,000 of them take a minute.
ATTRIBUTES = 1000
_LONG_TAG = re.compile(r"<(\w+)[^<>]{4000,}>")


def extract_html(html: str, url: str = "") -> tuple[str, str]:
    """Title and text; the text is empty where the page shows none.

    The main text is trafilatura's. Tables and boxes are taken out before and put back where they
    stood if the place that they left is part of the main text. What a browser hides is left out.
    Takes at most two seconds, for any page: one with too many elements or too deep a nesting
    keeps all of its words, in order.
    """
    html = _bounded(html)
    tree, whole = _parse(html)
    if tree is None or tree.find("body") is None:
        return "", _stripped(html)
    _prune(tree)
    found = _main(tree, url)
    if not whole and len(rest := _stripped(html)) > 2 * len(found):
        found = rest
    return _title(tree), found


def _bounded(html: str) -> str:
    """A page of a size that can be parsed: its beginning, and no tag with endless attributes."""
    html = html[:MAX_CHARS].replace("\x00", "")
    if (tags := html.count("<")) > TAGS:
        html = html[: len(html) * TAGS // tags]
    return _LONG_TAG.sub(
        lambda tag: f"<{tag[1]}>" if len(tag[0].split()) > ATTRIBUTES else tag[0], html
    )


def _parse(html: str) -> tuple[Element | None, bool]:
    """The tree of a page, and whether the parser got to its end: it gives up at a depth of 256."""
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(remove_pis=True, remove_comments=True, encoding="utf-8")
    try:
        tree = document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except etree.LxmlError:
        return None, False
    last = parser.error_log.last_error
    return tree, last is None or last.type_name != "ERR_RESOURCE_LIMIT"


def _prune(tree: Element) -> None:
    """Take out what no reader sees: instructions for machines hide there."""
    for element in [*tree.xpath(_NOTES), *hidden(tree)]:
        _drop(element)


def _drop(element: Element) -> None:
    if element.tag not in ("html", "body") and element.getparent() is not None:
        element.drop_tree()


def _title(tree: Element) -> str:
    """What the page calls itself to others, to the browser, or to its reader."""
    for path in ("//meta[@property='og:title']/@content", "//title", "//h1"):
        for found in tree.xpath(path)[:3]:
            words = found if isinstance(found, str) else found.text_content()
            if words.strip():
                return str(words)
    return ""


def _main(tree: Element, url: str) -> str:
    body = tree.find("body")
    if _count(body) > 3 * ELEMENTS:
        return "\n".join(lines(body))
    kept = _marked(body)
    _unlaid(body)
    if _count(body) > ELEMENTS:
        return _restored("\n".join(lines(body)), kept)
    main = _trafilatura(tree, url)
    if len(main) < SHORT:
        main = _whole(body, main)
    return _restored(main, kept)


def _count(element: Element) -> int:
    return int(element.xpath("count(descendant::*)"))


def _marked(body: Element) -> dict[int, tuple[str, bool]]:
    """Each box's lines, and whether it is an infobox; in its place stands its number."""
    kept: dict[int, tuple[str, bool]] = {}
    for n, box in enumerate(boxes(body)):
        kept[n] = "\n".join(lines(box)), infobox(box)
        mark = box.makeelement("p")
        mark.text, mark.tail = _MARK.format(n), box.tail
        box.getparent().replace(box, mark)
    return kept


def _unlaid(body: Element) -> None:
    """Make blocks of the tables that only lay out prose, so that no row of cells is seen in them.

    Those that lay out boxes stay: as blocks they would be taken for something else than content.
    """
    marks = (p for p in body.iter("p") if p.text and _MARKS.fullmatch(p.text))
    around = {table for mark in marks for table in mark.iterancestors("table")}
    for table in list(body.iter("table")):
        if table.tag == "table" and table not in around:
            for part in list(table.iter("table", "tbody", "tr", "td", "th")):
                part.tag = "div"


def _restored(main: str, kept: dict[int, tuple[str, bool]]) -> str:
    """The text with its boxes: each where its mark is, once; an infobox without a mark first."""
    rest = dict(kept)
    text = _MARKS.sub(lambda m: f"\n{rest.pop(int(m[1]), ('', False))[0]}\n", main)
    return "\n".join([*(box for box, is_info in rest.values() if is_info), text])


def _trafilatura(tree: Element, url: str) -> str:
    import trafilatura

    quiet()
    got: Any = trafilatura.bare_extraction(tree, url=url or None, fast=True, include_comments=False)
    found = (got.text or "") if got is not None else ""
    rows = (line.strip() for line in found.split("\n"))
    return "\n".join(row.strip("| ") if row[:1] == "|" else row for row in rows if not _rule(row))


def _rule(line: str) -> bool:
    return line[:1] == "|" and bool(_RULE.match(line))


def _whole(body: Element, main: str) -> str:
    """All words of a page but its frame, if the main text is less than half of them."""
    for element in body.xpath(_AROUND):
        _drop(element)
    everything = "\n".join(lines(body))
    return everything if len(everything) > 2 * len(main) else main


def _stripped(html: str) -> str:
    """The words between the tags, where nothing can be parsed; not those of a tag that hides."""
    from html import unescape

    shown = _WORDS_AFTER.sub(
        lambda m: "\n" if _SAYS_HIDDEN.search(m[1]) else m[0], _SCRIPTS.sub("\n", html)
    )
    return unescape(_TAGS.sub("\n", shown))


def quiet() -> None:
    """Keep trafilatura's warnings about pages without text off stderr.

    A handler that the user sets up still gets them.
    """
    logger = logging.getLogger("trafilatura")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
