"""How a table of many things is written: JSON, CSV, XLSX with comments, HTML, text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

from agent.answer.html import (
    Markup,
    element,
    join_markup,
    language_attributes,
    link_element,
    render_document,
)
from agent.answer.table import Cell, CellSource, TableAnswer, TableRow
from agent.state import Scalar

STYLES = ("agent.answer/base.css", "agent.answer/page.css")
#: Characters with which a spreadsheet takes a text for a formula (OWASP, CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r")
MAX_COMMENT = 1000  # characters


def to_table_json(table: TableAnswer) -> str:
    """The whole table: each cell with its quote and link, or the reason why it is empty."""
    return table.model_dump_json(indent=2) + "\n"


def to_table_csv(table: TableAnswer) -> str:
    """Names and values; behind each column the address that its value stands on."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [column.name for column in table.columns]
    writer.writerow(["name", *(part for name in names for part in (name, f"{name} source"))])
    for row in table.rows:
        cells = [row.cells[name] for name in names]
        pairs = ((c.value, c.source.link if c.source else "") for c in cells)
        writer.writerow([_as_text(row.name), *(_as_text(part) for pair in pairs for part in pair)])
    return out.getvalue()


def _as_text(value: Scalar | None) -> Any:
    """A value that no spreadsheet takes for a formula; "" for none."""
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return "" if value is None else value


def to_table_xlsx(table: TableAnswer) -> bytes:
    """A workbook with typed values; a comment on each says the quote and its address.

    Raises NotConfigured where the extra `export` is not installed.
    """
    from agent.shell import require_extra

    require_extra("export", "xlsxwriter")
    from xlsxwriter import Workbook

    out = io.BytesIO()
    safe = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
    with Workbook(out, safe | {"default_date_format": "yyyy-mm-dd"}) as book:
        sheet = book.add_worksheet("Table")
        sheet.freeze_panes(1, 1)
        sheet.write_row(0, 0, ["name", *(column.name for column in table.columns)])
        for y, row in enumerate(table.rows, 1):
            sheet.write_string(y, 0, row.name)
            for x, column in enumerate(table.columns, 1):
                cell = row.cells[column.name]
                sheet.write(y, x, _as_cell(cell.value, column.type))
                sheet.write_comment(y, x, _describe(cell)[:MAX_COMMENT])
    return out.getvalue()


def _as_cell(value: Scalar | None, kind: str) -> Any:
    """A value as a spreadsheet knows it: a day as a date."""
    if kind == "date" and isinstance(value, str):
        try:
            return datetime.combine(date.fromisoformat(value), datetime.min.time())
        except ValueError:
            return value
    return value


def _describe(cell: Cell) -> str:
    """What stands beside a cell: the quote, its page and address, and what others say."""
    lines = [cell.reason] if cell.reason else []
    lines += _lines_of(cell.source)
    for other in cell.others:
        lines += [f"Other sources say: {other.value}", *_lines_of(other.source)]
    return "\n".join(lines)


def _lines_of(source: CellSource | None) -> list[str]:
    return [f"“{source.quote}”", source.title, source.url] if source else []


def to_table_html(table: TableAnswer) -> str:
    """A page: each value is a link to its quote on its page, and shows the quote on hover."""
    names = ["name", *(column.name for column in table.columns)]
    head = element("tr", *(element("th", name, scope="col") for name in names))
    body = (_render_row(row) for row in table.rows)
    warnings = (element("p", text, class_="warn") for text in _notes(table))
    parts = [
        element("header", element("h1", table.topic, **language_attributes(table.topic))),
        element(
            "main",
            *warnings,
            element("table", element("thead", head), element("tbody", *body), class_="slots"),
        ),
    ]
    return render_document(table.topic, join_markup(parts), *STYLES)


def _render_row(row: TableRow) -> Markup:
    also = f"also: {', '.join(row.also)}" if row.also else ""
    name = element("th", row.name, scope="row", title=also, **language_attributes(row.name))
    return element("tr", name, *(element("td", _render_cell(c)) for c in row.cells.values()))


def _render_cell(cell: Cell) -> Markup:
    told = _describe(cell)
    if cell.value is None or not cell.source:
        text = "–" if cell.value is None else str(cell.value)
        return element("span", text, title=told, class_="quiet")
    mark = element("span", " (disputed)", class_="warn") if cell.status == "conflict" else ""
    return join_markup([link_element(cell.source.link, str(cell.value), title=told), mark])


def to_table_terminal(table: TableAnswer) -> str:
    """The table in the width of the terminal under standard output, and what it lacks."""
    from agent.answer.text import measure_terminal, write_text
    from agent.answer.tree import Block, Prose, Shown, Text
    from agent.answer.tree import PagePart as Part
    from agent.answer.tree import Table as Grid

    names = ["name", *(column.name for column in table.columns)]
    rows = [[[row.name], *([_short(cell)] for cell in row.cells.values())] for row in table.rows]
    notes = [Prose([Text(text, "warn")]) for text in _notes(table)]
    blocks: list[Block] = [Grid(names, rows), *notes]
    width, has_colour = measure_terminal()
    page = Shown(table.topic, sections=[Part("", blocks, "table", is_lead=True)])
    return write_text(page, width, has_colour=has_colour)


def _short(cell: Cell) -> str:
    value = "–" if cell.value is None else str(cell.value)
    return f"{value} (disputed)" if cell.status == "conflict" else value


def _notes(table: TableAnswer) -> Iterator[str]:
    yield from table.warnings
    if table.left:
        yield f"{table.left} rows are not researched yet: the same command goes on."


FORMATS: dict[str, Callable[[TableAnswer], str | bytes]] = {
    ".json": to_table_json,
    ".csv": to_table_csv,
    ".xlsx": to_table_xlsx,
    ".html": to_table_html,
}
