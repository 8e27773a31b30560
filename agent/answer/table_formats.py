"""How a table of many things is written: JSON, CSV, XLSX with comments, HTML, text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

from agent.answer import doc
from agent.answer.html_renderer import render_page
from agent.answer.table_result import Cell, CellSource, TableAnswer, TableRow
from agent.state import Scalar

#: Characters with which a spreadsheet takes a text for a formula (OWASP, CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r")
MAX_COMMENT = 1000  # characters


def to_table_json(table: TableAnswer) -> str:
    """The whole table: each cell with its quote and link, or the reason why it is empty."""
    return table.model_dump_json(indent=2) + "\n"


def to_table_csv(table: TableAnswer) -> str:
    """Names and values; behind each column the address that supports its value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [column.name for column in table.columns]
    heads = ("name", *(part for name in names for part in (name, f"{name} source")))
    writer.writerow(map(_as_text, heads))
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
    from agent.answer.file_formats import require_extra

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
    """What is shown with a cell: the quote, its page and address, and what others say."""
    lines = [cell.reason] if cell.reason else []
    lines += _lines_of(cell.source)
    for other in cell.others:
        lines += [f"Other sources say: {other.value}", *_lines_of(other.source)]
    return "\n".join(lines)


def _lines_of(source: CellSource | None) -> list[str]:
    return [f"“{source.quote}”", source.title, source.url] if source else []


def to_table_html(table: TableAnswer) -> str:
    """A page: each value is a link to its quote on its page, and shows the quote on hover."""
    return render_page(_show(table))


def to_table_terminal(table: TableAnswer) -> str:
    """The table in the width of the terminal under standard output, and what it lacks."""
    from agent.answer.text_renderer import render_on_terminal

    return render_on_terminal(_show(table))


def _show(table: TableAnswer) -> doc.View:
    names = ["name", *(column.name for column in table.columns)]
    rows = [[[_name(row)], *map(_show_cell, row.cells.values())] for row in table.rows]
    notes = [doc.Prose([doc.Text(text, "warn")]) for text in _notes(table)]
    blocks: list[doc.Block] = [doc.Table(names, rows, "slots"), *notes]
    return doc.View(table.topic, sections=[doc.PagePart("Table", blocks, "table", is_lead=True)])


def _name(row: TableRow) -> str:
    return f"{row.name} (also: {', '.join(row.also)})" if row.also else row.name


def _show_cell(cell: Cell) -> doc.Parts:
    url = cell.source.link if cell.source and cell.value is not None else ""
    value = "–" if cell.value is None else str(cell.value)
    parts = [doc.Text(value, "" if url else "quiet", url, _describe(cell))]
    return [*parts, doc.Text(" (disputed)", "warn")] if cell.status == "conflict" else parts


def _notes(table: TableAnswer) -> Iterator[str]:
    yield from table.warnings
    if table.left:
        yield f"{table.left} rows are not researched yet: run the same command to continue."


FORMATS: dict[str, Callable[[TableAnswer], str | bytes]] = {
    ".json": to_table_json,
    ".csv": to_table_csv,
    ".xlsx": to_table_xlsx,
    ".html": to_table_html,
}
