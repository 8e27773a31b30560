"""Data tables and infoboxes, which main-text extraction drops: finding them, and their text.

A box is an infobox in an `aside`, or a table that holds data (no layout table, no navigation),
with the few words around it in a block of their own, such as the date and the referee of a match.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import islice

from agent.documents.html.blocks import BLOCK_TAGS, Element, read_blocks
from agent.documents.html.tables import name_columns

#: Characters of text around the table of a box. A match box of Wikipedia has some 150, and
#: paragraphs are longer. Found on data/worldcup; run `python -m evals.slots` after changing it.
MAX_SURROUNDING_CHARS = 400
#: Characters in one cell. A longer cell holds prose, so its table is a layout table.
MAX_CELL_CHARS = 1200
#: Tables of a page that are looked at. The largest real page measured has 117.
MAX_TABLES = 1000
#: Text nodes that are looked at to measure an element: bounds the time on hostile pages.
MAX_TEXT_NODES = 3000
#: Children of a block that is read as a table row.
MAX_ROW_BLOCKS = 6

_BOXES = "descendant::table | descendant::aside[contains(@class, 'infobox')]"
_HAS_PROSE = "boolean(descendant::*[self::article or self::h1 or self::form or self::main])"
_HAS_SECTION = (
    "boolean(descendant::*[self::h1 or self::h2 or self::h3 or self::h4]"
    " | descendant::p[string-length() > 150])"
)
_MARKED = "descendant::*[self::nav or self::footer or self::form or @role or @class]"
_IS_LEAF = "not(descendant::div or descendant::table)"
#: Classes of navigation and of notices about the page itself, mostly MediaWiki's and DocBook's.
_NAVIGATION_CLASSES = frozenset(
    "ambox catlinks mbox metadata mw-references nav navbar navbox navfooter navheader navigation "
    "noprint ombox reflist sistersitebox tmbox toc vertical-navbox".split()
)


# --- finding -------------------------------------------------------------------------------------


def find_boxes(body: Element) -> list[Element]:
    """The boxes below an element, in document order, none inside another."""
    tables = islice(body.iter("table"), MAX_TABLES)
    nesting = {outer for table in tables for outer in table.iterancestors("table")}
    apart = nesting | find_layout_tables(body)
    found: dict[Element, None] = {}
    for element in body.xpath(_BOXES)[:MAX_TABLES]:
        if element not in apart and not _is_inside(element, found):
            found[_include_surroundings(element, body)] = None
    return [box for box in found if not any(outer in found for outer in box.iterancestors())]


def find_layout_tables(body: Element) -> set[Element]:
    """Tables that only arrange what is in them: prose, or navigation."""
    navigation = {node for node in body.xpath(_MARKED) if _is_navigation(node)}
    tables = islice(body.iter("table"), MAX_TABLES)
    return {one for one in tables if _is_inside(one, navigation) or not _holds_data(one)}


def unwrap_tables(body: Element, tables: Container[Element]) -> None:
    """Turn tables into blocks, so that their prose is not read as rows."""
    parts = body.iter("table", "tbody", "tr", "td", "th")
    for part in [part for part in parts if _table_of(part) in tables]:
        part.tag = "div"


def _table_of(part: Element) -> Element | None:
    return part if part.tag == "table" else next(part.iterancestors("table"), None)


def _is_inside(element: Element, boxes: Container[Element]) -> bool:
    return element in boxes or any(outer in boxes for outer in element.iterancestors())


def _holds_data(element: Element) -> bool:
    """Whether a table holds data, and neither layout nor prose."""
    if element.get("role") == "presentation" or element.xpath(_HAS_PROSE):
        return False
    cells = element.iter("td", "th")
    return all(_text_length(cell, MAX_CELL_CHARS) <= MAX_CELL_CHARS for cell in cells)


def _is_navigation(node: Element) -> bool:
    if node.tag in ("nav", "footer", "form") or node.get("role") == "navigation":
        return True
    return not _NAVIGATION_CLASSES.isdisjoint(node.get("class", "").lower().split())


def _include_surroundings(element: Element, body: Element) -> Element:
    """The outermost block around an element that adds only a few words to it."""
    limit = _text_length(element, 10 * MAX_CELL_CHARS) + MAX_SURROUNDING_CHARS
    box, parent = element, element.getparent()
    while parent is not None and parent is not body and parent.tag in ("div", "section", "aside"):
        if _text_length(parent, limit) > limit or parent.xpath(_HAS_SECTION):
            break
        box, parent = parent, parent.getparent()
    return box


def _text_length(element: Element, limit: int) -> int:
    """Characters of the stripped text nodes of an element; any number above `limit` if more."""
    total = 0
    for n, text in enumerate(element.itertext()):
        total += len(text.strip())
        if total > limit or n > MAX_TEXT_NODES:
            return max(total, limit + 1)
    return total


# --- text ----------------------------------------------------------------------------------------


def render_text(element: Element) -> str:
    """The text of an element: a line for a block or a row. Short blocks side by side are cells."""
    name_columns(element)
    return "\n".join(block.text for block in read_blocks(element, _find_row_blocks(element)))


def _find_row_blocks(element: Element) -> set[Element]:
    """Short blocks side by side that are read like the cells of a row.

    Such are the terms and values of a definition list, or a date and a time.
    """
    limit = MAX_SURROUNDING_CHARS // 2
    found: set[Element] = set()
    for parent in element.iter("div", "time", "section", "dl"):
        blocks = [child for child in parent if child.tag in BLOCK_TAGS]
        if not 2 <= len(blocks) <= MAX_ROW_BLOCKS or _text_length(parent, limit) > limit:
            continue
        if all(block.xpath(_IS_LEAF) for block in blocks):
            found.update(blocks)
    return found
