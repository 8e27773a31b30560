"""A table of many things: a row an entity, and each cell with the quote that supports it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from agent.answer.schema import Answer, SlotAnswer
from agent.evidence import fold
from agent.slots.conversion import holds_value
from agent.slots.equivalence import normalize_value
from agent.state import Frozen, Json, Scalar, Verdict

ColumnType = Literal["string", "integer", "number", "boolean", "date"]


class Column(Frozen):
    """A column: the name of what is asked of each row, and the type of its values."""

    name: str
    type: ColumnType = "string"

    def value_schema(self) -> Json:
        """The JSON Schema of a value."""
        is_date = self.type == "date"
        return {"type": "string", "format": "date"} if is_date else {"type": self.type}


class CellSource(Frozen):
    """The words that support a value, their place, and how to open the page there."""

    url: str
    title: str
    quote: str
    start: int
    end: int
    link: str


class OtherValue(Frozen):
    """A value that other sources say."""

    value: Scalar
    source: CellSource | None = None


class Cell(Frozen):
    """What is known of one column of one row. Without a value, `reason` says why."""

    value: Scalar | None = None
    status: Literal["filled", "missing", "conflict"] = "missing"
    confidence: float = 0.0
    verdict: Verdict = "unchecked"
    source: CellSource | None = None
    others: tuple[OtherValue, ...] = ()
    reason: str = ""


class TableRow(Frozen):
    """An entity with its cells, by column. `also`: other names of it. `run`: where it was found."""

    name: str
    also: tuple[str, ...] = ()
    cells: dict[str, Cell]
    run: str = ""

    @property
    def quotes(self) -> set[tuple[str, str, int]]:
        """The quotes of all cells that have a value, each with its column and page."""
        found = ((name, cell.source) for name, cell in self.cells.items())
        return {(name, source.url, source.start) for name, source in found if source}


class TableAnswer(Frozen):
    """A table, with as many rows as were found. `left`: rows that were not researched yet."""

    schema_version: Literal["1"] = "1"
    topic: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...] = ()
    left: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def cells(self) -> Iterator[Cell]:
        """All cells, row by row."""
        return (cell for row in self.rows for cell in row.cells.values())


def build_row(
    name: str, also: Sequence[str], columns: Iterable[Column], answer: Answer
) -> TableRow:
    """The row of an entity, of which a run found each column as a slot."""
    cells = {column.name: _build_cell(column, answer) for column in columns}
    return TableRow(
        name=name, also=tuple(also), cells=cells, run=answer.run.id if answer.run else ""
    )


def _build_cell(column: Column, answer: Answer) -> Cell:
    slot = answer.slots.get(column.name)
    if slot is None or slot.value is None:
        return Cell(reason=_explain(answer, slot))
    others = tuple(
        OtherValue(value=one.value, source=find_source(answer, one.citations, one.value))
        for one in slot.alternatives
    )
    against = {n for one in slot.alternatives for n in one.citations}
    own = [n for n in slot.citations if n not in against] or slot.citations
    value = (answer.data or {}).get(column.name, slot.value)
    return Cell(
        value=slot.value if value is None else value,
        status=slot.status,
        confidence=slot.confidence,
        verdict=slot.verdict,
        source=find_source(answer, own, slot.value),
        others=others,
    )


def _explain(answer: Answer, slot: SlotAnswer | None) -> str:
    """Why a cell is empty."""
    if answer.error:
        return f"{answer.error.message.rstrip('.')}. {answer.error.remedy}".strip()
    if slot and slot.alternatives:
        said = ", ".join(str(one.value) for one in slot.alternatives)
        return f"The sources disagree: {said}"
    if not answer.sources.read:
        return "No page could be read."
    return "The pages that were read do not say it."


def find_source(answer: Answer, numbers: Iterable[int], value: Scalar) -> CellSource | None:
    """The quote of the sources of these numbers that has a value in it, else their first quote."""
    cited = [one for number in numbers for one in answer.citations if one.id == number]
    best = next((one for one in cited if holds_value(one.quote, value, one.title)), None)
    if (found := best or next(iter(cited), None)) is None:
        return None
    return CellSource(**{name: getattr(found, name) for name in CellSource.model_fields})


def merge_rows(rows: Iterable[TableRow]) -> list[TableRow]:
    """The rows, those of one entity as one.

    Names that mean the same are one entity. So are two whose cells have the very same quotes,
    of which none says both names: the pages answered for the one name what they say of the other.
    """
    merged: list[TableRow] = []
    for row in rows:
        at = next((n for n, one in enumerate(merged) if _is_same(one, row)), None)
        if at is None:
            merged.append(row)
        else:
            merged[at] = _join(merged[at], row)
    return merged


def _is_same(one: TableRow, other: TableRow) -> bool:
    ours, theirs = (set(map(normalize_value, (row.name, *row.also))) for row in (one, other))
    if ours & theirs:
        return True
    if not one.quotes or one.quotes != other.quotes:
        return False
    said = [fold(cell.source.quote) for cell in one.cells.values() if cell.source]
    return not any(fold(one.name) in quote and fold(other.name) in quote for quote in said)


def _join(one: TableRow, other: TableRow) -> TableRow:
    """Two rows of one entity: the first one's cells, where it has values."""
    cells = {name: c if c.value is not None else other.cells[name] for name, c in one.cells.items()}
    names = dict.fromkeys((*one.also, other.name, *other.also))
    also = tuple(name for name in names if fold(name) != fold(one.name))
    return one.model_copy(update={"cells": cells, "also": also})
