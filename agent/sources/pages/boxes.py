"""Tables and boxes of facts, which main-text extraction drops: found, and written out as lines.

A box is a table that holds data (not the page's layout, not navigation) together with the few
words that stand around it in a block of their own, such as the date and the referee of a match; or
a block that calls itself an infobox.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

Element = Any  # lxml has no type hints

#: Characters of words around the table of a box. A match box of Wikipedia has some 150, and
#: paragraphs are longer. Found on data/worldcup; run benchmarks/pages.py after changing it.
AROUND = 400
#: Characters in one cell above which a table is the page's layout and its text is prose.
PROSE = 1200
#: Tables of a page that are looked at. The largest real page measured has 117.
TABLES = 1000
#: Pieces of text that are looked at to measure an element: bounds the time on hostile pages.
PIECES = 3000

_INFOBOX = "descendant::*[self::aside or self::div or self::section][contains(@class, 'infobox')]"
_PROSE_INSIDE = "boolean(descendant::*[self::article or self::h1 or self::form or self::main])"
_SECTION = (
    "boolean(descendant::*[self::h1 or self::h2 or self::h3 or self::h4]"
    " | descendant::p[string-length() > 150])"
)
_LEAF = "not(descendant::div or descendant::table)"
#: Classes of what leads elsewhere or speaks of the page itself (MediaWiki's names, mostly).
_NAVIGATION = frozenset(
    "ambox catlinks mbox metadata mw-references nav navbar navbox navigation noprint ombox "
    "reflist sistersitebox tmbox toc vertical-navbox".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol "
    "option p pre section summary table tbody tfoot thead time title tr ul".split()
)
_CELLS = frozenset(("td", "th"))
_PIECE = "\x1e"  # a border between blocks inside a cell
_CELL = "\x1f"  # a border between cells
_BORDERS = re.compile(r"[\x1e\x1f\n\r]")


def boxes(body: Element) -> list[Element]:
    """The boxes below an element, in document order, none inside another."""
    tables = list(islice(body.iter("table"), TABLES))
    layout = {outer for table in tables for outer in table.iterancestors("table")}
    chosen: dict[Element, None] = {}
    for element in [*body.xpath(_INFOBOX)[:TABLES], *tables]:
        if element not in layout and not _within(element, chosen) and _is_data(element):
            chosen[_with_surroundings(element, body)] = None
    alone = [box for box in chosen if not any(a in chosen for a in box.iterancestors())]
    if len(alone) < 2:
        return alone
    order = {element: n for n, element in enumerate(body.iter())}
    return sorted(alone, key=order.__getitem__)


def infobox(element: Element) -> bool:
    """Whether a box calls itself an infobox: it is kept wherever it stands."""
    return "infobox" in element.get("class", "")


def _within(element: Element, chosen: dict[Element, None]) -> bool:
    return element in chosen or any(outer in chosen for outer in element.iterancestors())


def _is_data(element: Element) -> bool:
    """Whether an element shows facts in cells."""
    if element.get("role") == "presentation" or _is_navigation(element):
        return False
    if element.xpath(_PROSE_INSIDE):
        return False
    if element.tag == "table":
        return all(_length(cell, PROSE) <= PROSE for cell in element.iter("td", "th"))
    return _length(element, 5 * PROSE) <= 5 * PROSE


def _is_navigation(element: Element) -> bool:
    for part in (element, *element.iterancestors()):
        if part.tag in ("nav", "footer", "form") or part.get("role") == "navigation":
            return True
        if not _NAVIGATION.isdisjoint(part.get("class", "").lower().split()):
            return True
    return False


def _with_surroundings(element: Element, body: Element) -> Element:
    """The largest block around an element with only a few words beside it."""
    limit = _length(element, 10 * PROSE) + AROUND
    box, parent = element, element.getparent()
    while parent is not None and parent is not body and parent.tag in ("div", "section", "aside"):
        if _length(parent, limit) > limit or parent.xpath(_SECTION):
            break
        box, parent = parent, parent.getparent()
    return box


def _length(element: Element, limit: int) -> int:
    """Characters of an element's text without blanks at the ends; more than `limit` if so."""
    total = 0
    for n, piece in enumerate(element.itertext()):
        total += len(piece.strip())
        if total > limit or n > PIECES:
            return max(total, limit + 1)
    return total


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
        if not 2 <= len(children) <= 6 or _length(part, AROUND // 2) > AROUND // 2:
            continue
        if all(child.xpath(_LEAF) for child in children):
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
