"""The tables of a page, whose cells get the names of their columns: see `formats/table.py`."""

from __future__ import annotations

from agent.documents.formats.table import TableCell, format_table
from agent.documents.formats.xml import to_int
from agent.documents.html.blocks import Element, read_blocks


def name_columns(root: Element) -> None:
    """Write each row of a table that has a head as one cell, with the names of the columns."""
    for table in list(root.iter("table")):
        if next(table.iterdescendants("table"), None) is not None:
            continue
        rows = [
            row for row in table.iter("tr") if next(row.iterchildren("td", "th"), None) is not None
        ]
        cells = [[_read_cell(cell) for cell in row.iterchildren("td", "th")] for row in rows]
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
    text = " ".join(block.text for block in read_blocks(cell))
    columns, down = (to_int(cell.get(name, ""), 1) for name in ("colspan", "rowspan"))
    group = cell.getparent().getparent()
    return TableCell(text, columns, max(down, 1), cell.tag == "th" or group.tag == "thead")
