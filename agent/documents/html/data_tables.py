"""Puts data tables and infoboxes back, which main-text extraction drops.

A box is an infobox or a data table, with the few words around it in its block, such as a date.
"""

from __future__ import annotations

import re
from itertools import islice

from agent.documents.html.element_lines import CELL_TAGS, Element, render_text

#: Characters of text around the table of a box. A match box of Wikipedia has some 150, and
#: paragraphs are longer. Found on pages of World Cups; `python -m evals.tables` shows a change.
MAX_AROUND = 400
MAX_CELL = 1200  # characters in one cell; a longer one holds prose, so its table is a layout table
MAX_TABLES = 1000  # of a page; the largest real page measured has 117
MAX_TEXTS = 3000  # pieces of text that are looked at: bounds the time on hostile pages

_BOXES = "descendant::table | descendant::aside[contains(@class, 'infobox')]"
_HAS_PROSE = "boolean(descendant::*[self::article or self::h1 or self::form or self::main])"
_HAS_SECTION = (
    "boolean(descendant::*[self::h1 or self::h2 or self::h3 or self::h4]"
    " | descendant::p[string-length() > 150])"
)
_IS_MENU = (
    "boolean(ancestor-or-self::*[self::nav or self::footer or self::form"
    " or @role='navigation' or @role='presentation'"
    " or contains(concat(' ', translate(@class, 'N', 'n')), ' nav')])"
)
#: In the place of a box: its number, and as many words as it has where it is most of the page, so
#: that the main text is looked for around it. The brackets are in no text of the data.
_PLACE = "\u29da{} {}\u29db"
_PLACES = re.compile("\u29da(\\d+) [^\u29da\u29db]*+\u29db")


def take_boxes(body: Element) -> list[str]:
    """Replace each box by its place. Returns the texts of the boxes."""
    tables = list(islice(body.iter("table"), MAX_TABLES))
    layout = {outer for table in tables for outer in table.iterancestors("table")}
    layout |= {table for table in tables if not _holds_data(table)}
    boxes: dict[Element, None] = {}
    for element in body.xpath(_BOXES)[:MAX_TABLES]:
        if element not in layout and not any(one in boxes for one in element.iterancestors()):
            boxes[_with_neighbours(element, body)] = None
    outer = [box for box in boxes if not any(one in boxes for one in box.iterancestors())]
    half = body.xpath("string-length(normalize-space())") / 2
    texts: list[str] = []
    for n, box in enumerate(outer):
        texts.append(render_text(box))
        place = box.makeelement("p")
        weight = "box " * (len(texts[n]) // 4 if len(texts[n]) > half else 1)
        place.text, place.tail = _PLACE.format(n, weight), box.tail
        box.getparent().replace(box, place)
    for part in [*body.iter("table", "tbody", "tr", *CELL_TAGS)]:
        part.tag = "div"  # what is left only arranges what is in it
    return texts


def put_boxes_back(text: str, boxes: list[str]) -> str:
    """Put each box once where its place is; those whose place is not in the text behind it."""
    left = dict(enumerate(boxes))

    def restore(place: re.Match[str]) -> str:
        n = int(place[1])
        return f"\n{left.pop(n, '')}\n" if n < len(boxes) else place[0]

    text = _PLACES.sub(restore, text)
    return "\n".join([text, *left.values()])


def join_definitions(body: Element) -> None:
    """Write each term of a list with its definition as one item: `Term: definition`."""
    for term in list(body.iter("dt")):
        value = term.getnext()
        if value is not None and value.tag == "dd" and term.text_content().strip():
            value.tag, value.tail = "span", ""
            term.append(value)
            value.text = f"{'' if _ends_in_colon(term, value) else ':'} {value.text or ''}"
    for element in [*body.iter("dl", "dt", "dd")]:
        element.tag = "ul" if element.tag == "dl" else "li"


def _ends_in_colon(term: Element, value: Element) -> bool:
    return bool(term.text_content().removesuffix(value.text_content()).rstrip().endswith(":"))


def _holds_data(table: Element) -> bool:
    """Whether a table holds data, and neither layout nor prose nor a menu."""
    if table.xpath(_HAS_PROSE) or table.xpath(_IS_MENU):
        return False
    return all(_measure(cell, MAX_CELL) <= MAX_CELL for cell in table.iter(*CELL_TAGS))


def _with_neighbours(element: Element, body: Element) -> Element:
    """The outermost block around an element that adds only a few words to it."""
    limit = _measure(element, 10 * MAX_CELL) + MAX_AROUND
    box, around = element, element.getparent()
    while around is not None and around is not body and around.tag in ("div", "section", "aside"):
        if _measure(around, limit) > limit or around.xpath(_HAS_SECTION):
            break
        box, around = around, around.getparent()
    return box


def _measure(element: Element, limit: int) -> int:
    """Characters of the stripped texts of an element; any number above `limit` if more."""
    total = 0
    for n, text in enumerate(element.itertext()):
        total += len(text.strip())
        if total > limit or n > MAX_TEXTS:
            return max(total, limit + 1)
    return total
