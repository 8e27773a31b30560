"""Tables and boxes of facts, which main-text extraction drops: found, and written out as lines.

A box is a table that holds data (not the page's layout, not navigation) together with the few
words that stand around it in a block of their own, such as the date and the referee of a match; or
a block that calls itself an infobox.
"""

from __future__ import annotations

import re
from typing import Any

Element = Any  # lxml has no type hints

#: Characters of words around the table(s) of a box. A match box of Wikipedia has some 150, and
#: paragraphs are longer. Found on data/worldcup; run benchmarks/pages.py after changing it.
AROUND = 400
#: Characters in one cell above which a table is the page's layout and its text is prose.
PROSE = 1200
#: Classes of what leads elsewhere or speaks of the page itself (MediaWiki's names, mostly).
_NAVIGATION = frozenset(
    "ambox catlinks mbox metadata mw-references nav navbar navbox navigation noprint ombox "
    "reflist sistersitebox tmbox toc vertical-navbox".split()
)
_INFOBOX = "descendant::*[self::aside or self::div or self::section][contains(@class, 'infobox')]"
_PROSE_INSIDE = "boolean(descendant::*[self::article or self::h1 or self::form or self::main])"
_TEXTY = "boolean(descendant::*[self::p or self::h2 or self::h3][string-length() > 150])"
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol "
    "option p pre section summary table tbody tfoot thead time tr ul".split()
)
_CELLS = frozenset(("td", "th"))
_PIECE = "\x1e"  # a border between blocks inside a cell
_CELL = "\x1f"  # a border between cells
_BORDERS = re.compile(r"[\x1e\x1f\n\r]")


def boxes(body: Element) -> list[Element]:
    """The boxes below an element, outermost first, none inside another, in document order."""
    found: list[Element] = []
    inside: set[Element] = set()
    for element in [*body.xpath(_INFOBOX), *body.iter("table")]:
        if element in inside or not _is_data(element):
            continue
        box = _with_surroundings(element, body)
        if box not in inside:
            found = [other for other in found if box not in other.iterancestors()]
            found.append(box)
            inside.update(box.iter())
    return found


def _is_data(element: Element) -> bool:
    """Whether an element shows facts in cells."""
    if _is_navigation(element) or element.get("role") == "presentation":
        return False
    if element.tag == "table":
        if element.find(".//table") is not None or element.xpath(_PROSE_INSIDE):
            return False
        return not any(len(_words(cell)) > PROSE for cell in element.iter("td", "th"))
    return not element.xpath(_PROSE_INSIDE) and len(_words(element)) < 5 * PROSE


def _is_navigation(element: Element) -> bool:
    for part in (element, *element.iterancestors()):
        if part.tag in ("nav", "footer", "form") or part.get("role") == "navigation":
            return True
        if not _NAVIGATION.isdisjoint(part.get("class", "").lower().split()):
            return True
    return False


def _with_surroundings(element: Element, body: Element) -> Element:
    """The largest block around an element with only a few words beside it."""
    box, own = element, len(_words(element))
    parent = box.getparent()
    while parent is not None and parent is not body and parent.tag in ("div", "section", "aside"):
        words = len(_words(parent))
        if words - own > AROUND or parent.xpath(_TEXTY) or _headed(parent):
            break
        box, parent = parent, parent.getparent()
    return box


def _headed(element: Element) -> bool:
    return bool(element.xpath("boolean(descendant::*[self::h2 or self::h3 or self::h4])"))


def _words(element: Element) -> str:
    return " ".join(element.text_content().split())


def lines(element: Element) -> list[str]:
    """The text of an element as lines: one a block or a table row, cells joined by ` | `."""
    from lxml.etree import iterwalk

    rows = _rows_of_blocks(element)
    out: list[str] = []
    depth = 0  # of cells: inside one, a border of blocks is no end of a line
    for event, part in iterwalk(element, events=("start", "end")):
        starts = event == "start"
        cell = part.tag in _CELLS or part in rows
        depth -= cell and not starts
        out.append(_border(part, cell, depth, starts))
        depth += cell and starts
        text = part.text if starts else part.tail
        if text and (starts or part is not element):
            out.append(_BORDERS.sub(" ", text))
    return _joined("".join(out))


def _border(part: Element, cell: bool, depth: int, starts: bool) -> str:
    if cell:
        return _CELL
    if part.tag == "br":
        return (" " if depth else "\n") if starts else ""
    if part.tag in _BLOCKS:
        return _PIECE if depth else "\n"
    return ""


def _rows_of_blocks(element: Element) -> set[Element]:
    """Blocks that stand side by side like cells: label and value, date and time."""
    found: set[Element] = set()
    for part in element.iter("div", "time", "section", "dl"):
        children = [child for child in part if child.tag in _BLOCKS]
        alone = all(child.xpath("not(descendant::div or descendant::table)") for child in children)
        if 2 <= len(children) <= 6 and alone and len(_words(part)) <= AROUND // 2:
            found.update(children)
    return found


def _joined(text: str) -> list[str]:
    found = []
    for line in text.split("\n"):
        cells = (_pieces(cell) for cell in line.split(_CELL))
        if joined := " | ".join(cell for cell in cells if cell):
            found.append(joined)
    return found


def _pieces(cell: str) -> str:
    return "; ".join(filter(None, (" ".join(piece.split()) for piece in cell.split(_PIECE))))
