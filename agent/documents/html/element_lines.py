"""The text of an element of a page, line by line: a block each, the cells of a row side by side."""

from __future__ import annotations

from itertools import islice
from typing import Any

from agent.documents.body_text import CELL
from agent.documents.formats.grid import TableCell, format_table
from agent.documents.formats.xml import to_int

Element = Any  # lxml has no type hints

BLOCK_TAGS = frozenset(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol "
    "option p pre section summary table tbody tfoot thead title tr ul".split()
)
MAX_ROW, MAX_BLOCKS = 200, 6  # characters and blocks side by side that are read as a row
CELL_TAGS = frozenset(("td", "th"))
MAX_LETTERED = 1000  # from which on a number of an item is written in digits
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_PART, _CELL = "\x1e", "\x1f"  # borders of blocks in a cell, and of cells
_BLANKS = str.maketrans("\n\r\x1e\x1f", "    ")


def render_text(root: Element) -> str:
    """The text of an element. Its tables have the names of columns, and blocks may be cells."""
    name_columns(root)
    for parent in root.iter("div", "time", "section"):
        blocks = [child for child in parent if child.tag in BLOCK_TAGS]
        is_short = len("".join(islice(parent.itertext(), MAX_ROW))) < MAX_ROW
        if is_short and 1 < len(blocks) <= MAX_BLOCKS and not any(map(len, blocks)):
            for block in blocks:
                block.tag = "td"
    return render_lines(root)


def render_lines(root: Element) -> str:
    """The text of an element, a line for a block or a row."""
    from lxml.etree import iterwalk

    pieces: list[str] = []
    depth = 0  # of cells in cells
    for event, node in iterwalk(root, events=("start", "end")):
        is_start = event == "start"
        if node.tag in CELL_TAGS:
            depth += 1 if is_start else -1
            pieces.append(_CELL if is_start and depth == 1 else _PART)
        elif node.tag in BLOCK_TAGS:
            pieces.append(_PART if depth else "\n")
        if is_start or node is not root:
            text = (node.text if is_start else node.tail) or ""
            is_code = is_start and node.tag == "pre" and not depth
            pieces.append(text if is_code else text.translate(_BLANKS))
    return "\n".join(filter(None, map(_write_line, "".join(pieces).split("\n"))))


def _write_line(line: str) -> str:
    cells = line.strip(f"{_PART} ").removeprefix(_CELL).split(_CELL)
    parts = ((" ".join(part.split()) for part in cell.split(_PART)) for cell in cells)
    return CELL.join("; ".join(filter(None, cell)) for cell in parts).rstrip(CELL)


def name_columns(root: Element) -> None:
    """Write each row of a table that has a head as one cell, with the names of the columns."""
    for table in list(root.iter("table")):
        if next(table.iterdescendants("table"), None) is not None:
            continue
        rows = [row for row in table.iter("tr") if any(c.tag in CELL_TAGS for c in row)]
        cells = [[_read_cell(c) for c in row if c.tag in CELL_TAGS] for row in rows]
        lines, is_named = format_table(cells)
        for row in rows if is_named else ():
            row.getparent().remove(row)
        for line in lines if is_named else ():
            row = table.makeelement("tr")
            table.append(row)
            cell = row.makeelement("td")
            cell.text = line
            row.append(cell)


def _read_cell(cell: Element) -> TableCell:
    columns, down = (to_int(cell.get(name, ""), 1) for name in ("colspan", "rowspan"))
    group = cell.getparent().getparent()
    is_head = cell.tag == "th" or group.tag == "thead"
    text = "; ".join(render_lines(cell).split("\n"))
    return TableCell(text, columns, max(down, 1), is_head)


def write_marks(tree: Element, lists: str) -> None:
    """Write the marks of the items of lists: their numbers as the page gives them, else a dash."""
    for listed in tree.xpath(lists):
        items = list(listed.iterchildren("li"))
        step = -1 if "reversed" in listed.attrib else 1
        number = to_int(listed.get("start", ""), len(items) if step < 0 else 1)
        kind = listed.get("type", "")
        for item in items:
            number = to_int(item.get("value", ""), number)
            mark = "-" if listed.tag == "ul" else f"{_write_number(number, kind)}."
            prefix(item, mark)
            number += step


def _write_number(number: int, kind: str) -> str:
    """A number in one of HTML's kinds: letters (`a`), Roman numerals (`i`), else digits."""
    if kind not in ("a", "A", "i", "I") or not 0 < number < MAX_LETTERED:
        return str(number)
    text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if kind in "aA" else ""
    for value, letters in _ROMAN if kind in "iI" else ():
        text += letters * (number // value)
        number %= value
    return text.upper() if kind.isupper() else text


def prefix(element: Element, mark: str) -> None:
    """Write a mark before the text of an element."""
    while not (element.text or "").strip() and len(element) and element[0].tag in BLOCK_TAGS:
        element = element[0]
    element.text = f"{mark} {(element.text or '').lstrip()}"
