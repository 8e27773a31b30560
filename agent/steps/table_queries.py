"""Tables that were read, as a reader queries them, and the answer that a query gives.

The reader writes one SELECT and a sentence with a place for what it gives. Both are its own words:
that the statement is what was asked, nobody proves, but what it gives is computed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import Field

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body, UnreadablePage
from agent.documents.table_query import SUFFIX
from agent.evidence.citing import make_answered
from agent.evidence.markers import strip_markers
from agent.evidence.quantities import find_missing
from agent.evidence.text_tables import TextRow, TextTable, find_tables, read_number
from agent.state import Answered, Calculation, Claim, Frozen, Operand, Quote, Source
from agent.state.excerpts import Excerpt
from agent.state.sanitizing import sanitize_line
from agent.steps.prompt_rules import escape

HEADING = ": heading row"  # behind the name of a table, as an operand
MOST_TABLES = 6  # that a prompt shows,
MOST_COLUMNS = 100  # of all of them,
MOST_CELLS = 3_000_000  # and that a query may see
SHOWN_ROWS, SHOWN_CELL = 3, 40  # of a table, and characters of a cell
MOST_CHARACTERS = 500  # of a sentence
PLACE = "{}"  # in a sentence, for what a column of the result has


class TableQuery(Frozen):
    """A query of the tables, and the sentence that its result completes."""

    statement: str = Field(
        default="",
        description="one SELECT over the tables, where rows must be counted, summed, compared or "
        "looked up to answer; else empty",
    )
    sentence: str = Field(
        default="", description="the answer, with {} in the place of each column of the result"
    )


class NamedTable(NamedTuple):
    """A table, its name in a query, and the source that has it."""

    name: str
    source: Source
    table: TextTable

    def row_quote(self, row: TextRow) -> Quote:
        """A row at its offsets."""
        text = self.source.page.text[row.start : row.end]
        return Quote(source=self.source.n, text=text, start=row.start, end=row.end, match="exact")


def name_tables(sources: Sequence[Source], shown: Sequence[Excerpt]) -> list[NamedTable]:
    """The tables of the sources that a prompt shows; none of a page that was not read in whole."""
    numbers = {one.source for one in shown}
    whole = [s for s in sources if s.page.via == "page" and not s.page.partial_text]
    found = [(s, table) for s in whole if s.n in numbers for table in find_tables(s.page.text)]
    named = [NamedTable(f"t{n}", s, table) for n, (s, table) in enumerate(found[:MOST_TABLES], 1)]
    while named and not _is_bounded(named):
        named.pop()
    return named


def _is_bounded(tables: Sequence[NamedTable]) -> bool:
    columns = [len(one.table.columns) for one in tables]
    cells = sum(n * len(one.table.rows) for n, one in zip(columns, tables, strict=True))
    return sum(columns) <= MOST_COLUMNS and cells <= MOST_CELLS


def render_tables(tables: Sequence[NamedTable]) -> Iterator[str]:
    """The lines of a prompt for tables: columns with their types, and the first rows."""
    for name, source, table in tables:
        columns = ", ".join(f"{c} {kind}" for c, kind in _list_columns(table))
        rows = [" | ".join(c[:SHOWN_CELL] for c in row.cells) for row in table.rows[:SHOWN_ROWS]]
        text = escape("\n".join((columns, *rows)))
        yield f'<table name="{name}" source="{source.n}" rows="{len(table.rows)}">{text}</table>'


def _list_columns(table: TextTable) -> list[tuple[str, str]]:
    kinds = ("REAL" if table.are_numbers(n) else "TEXT" for n in range(len(table.columns)))
    return list(zip(table.columns, kinds, strict=True))


def answer_query(query: TableQuery, tables: Sequence[NamedTable], topic: str) -> Answered | str:
    """The answer that a query gives, by calculation; or why it gives none."""
    result = run_statement(query.statement, tables)
    if isinstance(result, str):
        return result
    used = [one for one in tables if one.name in result["tables"]]
    rows = [] if result["is_made"] or len(used) != 1 else _find_rows(result, used[0])
    texts = show_columns(result)
    text = _plain(query.sentence)
    if not result["rows"] or text.count(PLACE) != len(texts):
        return "its sentence has no place for what the statement gives"
    if find_missing(text, [topic, query.statement]):
        return "its sentence says a number that the statement does not give"
    if not _are_cells(result, used):
        return "it gives a text that is in no cell"
    for shown in texts:
        text = text.replace(PLACE, shown, 1)
    quotes = [one.row_quote(one.table.heading) for one in used]
    quotes += [used[0].row_quote(row) for row in rows]
    claim = Claim(
        text=text,
        citations=tuple(dict.fromkeys(quote.source for quote in quotes)),
        verdict="supported",
        by="calculation",
        calculation=describe_query(query.statement, result, used),
    )
    return make_answered([claim], quotes)


def run_statement(statement: str, tables: Sequence[NamedTable]) -> dict[str, Any] | str:
    """What a statement gives; or why it gives nothing. It runs in a process that can be killed."""
    rows = [
        {"name": one.name, "columns": _list_columns(one.table), "rows": _typed_rows(one.table)}
        for one in tables
    ]
    body = Body(json.dumps({"statement": statement, "tables": rows}).encode(), suffix=SUFFIX)
    try:
        result: dict[str, Any] = json.loads(BodyReader().read(body).text)
    except UnreadablePage as error:
        return str(error)
    return result


def _typed_rows(table: TextTable) -> list[list[str | float | None]]:
    numeric = [table.are_numbers(n) for n in range(len(table.columns))]
    return [
        [read_number(cell) if n else cell for cell, n in zip(row.cells, numeric, strict=True)]
        for row in table.rows
    ]


def _find_rows(result: dict[str, Any], one: NamedTable) -> list[TextRow]:
    """The rows of a table that a result is, each once; none where one of them is unclear."""
    names = one.table.columns
    if not set(result["columns"]) <= set(names):
        return []
    at = [names.index(name) for name in result["columns"]]
    typed = _typed_rows(one.table)
    found = []
    for wanted in result["rows"]:
        fits = [n for n, row in enumerate(typed) if [row[i] for i in at] == wanted]
        found += fits[:1] if len(fits) == 1 else []
    return [one.table.rows[n] for n in found] if len(found) == len(result["rows"]) else []


def _are_cells(result: dict[str, Any], used: Sequence[NamedTable]) -> bool:
    """Whether each text of a result is a cell."""
    texts = {value for row in result["rows"] for value in row if isinstance(value, str)}
    return not texts or texts <= {c for one in used for row in one.table.rows for c in row.cells}


def show_columns(result: dict[str, Any]) -> list[str]:
    """What each column of a result has, as a sentence shows it."""
    columns = zip(*result["rows"], strict=True)
    return [", ".join(map(_show, dict.fromkeys(column))) for column in columns]


def _show(value: object) -> str:
    if not isinstance(value, float):
        return _plain(str(value)) if value is not None else "-"
    return str(int(value)) if value.is_integer() else f"{value:.10g}"


def _plain(text: str) -> str:
    return sanitize_line(strip_markers(text), MOST_CHARACTERS)


def describe_query(
    statement: str, result: dict[str, Any], used: Sequence[NamedTable]
) -> Calculation:
    """A statement with its result, over the heading row and the rows of each table."""
    values = [value for row in result["rows"] for value in row]
    single = values[0] if len(values) == 1 and isinstance(values[0], int | float) else None
    operands = []
    for name, source, table in used:
        spans = {f"{name}{HEADING}": (table.heading.start, table.heading.end)}
        spans[f"{len(table.rows)} rows"] = (table.rows[0].start, table.rows[-1].end)
        operands += [
            Operand(text=what, citation=source.n, start=a, end=b) for what, (a, b) in spans.items()
        ]
    expression = " ".join(statement.split())
    return Calculation(expression=expression, value=single, operands=tuple(operands), is_query=True)
