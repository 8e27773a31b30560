"""A table of many things: finds the rows, researches each once, and puts the cells together.

A row is one run, whose slots are the columns: one search and one page serve all of them. Where the
rows are not given, a first run finds them; each row's run follows it, so that a page which lists
many rows is read once for all.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from agent.answer.schema import Answer, upgrade_answer
from agent.answer.table_result import (
    Column,
    ColumnType,
    TableAnswer,
    TableRow,
    build_row,
    merge_rows,
)
from agent.calls.budget import CallUsage, Caps, sum_usages
from agent.calls.input_file import decode_lines
from agent.errors import AgentError, UsageError
from agent.evidence.lists import find_items, find_rows
from agent.run.batch.rows import OutputFile
from agent.run.batch.runner import Batch, Engine
from agent.run.batch.topics import DELIMITERS, Topic
from agent.run.begin import research
from agent.run.loop import Run
from agent.settings import Settings
from agent.slots.equivalence import normalize_value
from agent.slots.slot_schema import slots_of
from agent.state import Json, RunRequest, Source

MAX_ROWS = 1000
MAX_NAME = 200  # characters: the name of a row is the id of its topic
ROW = "row"  # the slot of the run that finds the rows
PLAIN_HEADS = ("name", "names", "topic", "title", "id")  # they say nothing of what the rows are
COLUMNS_REMEDY = "Say name or name:type, with commas: capital,population:integer,joined:date."


class RowName(NamedTuple):
    """A row that is to be researched: its name, other names of it, and what kind of thing it is."""

    name: str
    also: tuple[str, ...] = ()
    kind: str = ""

    @property
    def topic(self) -> Topic:
        """What is asked: the name, behind what it is the name of, in lower case."""
        return Topic(self.name, f"{self.kind} {self.name}" if self.kind else self.name)


def parse_columns(texts: Iterable[str]) -> tuple[Column, ...]:
    """The columns of `name` or `name:type`. Raises UsageError."""
    columns = {}
    for text in texts:
        name, _, kind = (part.strip() for part in text.partition(":"))
        try:
            columns[name] = Column.model_validate({"name": name, "type": kind or "string"})
        except ValidationError:
            known = ", ".join(ColumnType.__args__)  # type: ignore[attr-defined]
            fault = f"{kind[:40]!r} is no type of a column: {known}."
            raise UsageError(fault, COLUMNS_REMEDY) from None
    if not columns:
        raise UsageError("A table needs columns.", COLUMNS_REMEDY)
    slots_of(row_schema(columns.values()))  # raises for a name that no slot can have
    return tuple(columns.values())


def row_schema(columns: Iterable[Column]) -> Json:
    """The JSON Schema of a row's slots."""
    return {"type": "object", "properties": {one.name: one.value_schema() for one in columns}}


def read_names(path: Path) -> list[RowName]:
    """The rows of a file: its column `name` or else its first one; a name a line in other files.

    Raises UsageError.
    """
    lines, kind = decode_lines(path), ""
    if delimiter := DELIMITERS.get(path.suffix.lower()):
        try:
            head, *rows = csv.reader(lines, delimiter=delimiter)
        except (ValueError, csv.Error) as error:
            raise UsageError(f"{path} cannot be read: {error}.", "Write it as UTF-8.") from None
        heads = [text.strip().casefold() for text in head]
        at = heads.index("name") if "name" in heads else 0
        kind = "" if not heads or heads[at] in PLAIN_HEADS else heads[at]
        texts = [row[at] for row in rows if len(row) > at]
    else:
        texts = list(lines)
    names = _clean_names(texts, str(path), kind)
    if not names:
        raise UsageError(f"{path} holds no names.", "Write one on each line, under a heading.")
    return names


def split_names(text: str) -> list[RowName]:
    """The rows of a list with commas. Raises UsageError."""
    return _clean_names(text.split(","), "The list")


def _clean_names(texts: Iterable[str], what: str, kind: str = "") -> list[RowName]:
    names = distinct_rows(RowName(" ".join(text.split()), kind=kind) for text in texts)
    if len(names) > MAX_ROWS or any(len(row.name) > MAX_NAME for row in names):
        limits = f"at most {MAX_ROWS} rows, each of at most {MAX_NAME} characters"
        raise UsageError(f"{what} is too large: {limits}.", "Split it.")
    return names


def distinct_rows(rows: Iterable[RowName]) -> list[RowName]:
    """The rows, each name once, whatever its case, accents or article."""
    found: dict[str, RowName] = {}
    for row in rows:
        if row.name:
            found.setdefault(normalize_value(row.name), row)
    return list(found.values())


def begin_rows(topic: str, settings: Settings, run_name: str) -> Run:
    """The run that finds the rows of a topic; where a run of this name was begun, it goes on."""
    schema = {
        "type": "object",
        "properties": {
            ROW: {
                "type": "array",
                "items": {"type": "string"},
                "description": "every one of those that the topic is about, each by its name alone",
            }
        },
    }
    return research(topic, settings, slots_schema=schema, resume=run_name)


def collect_rows(run: Run, answer: Answer, wanted: int | None) -> list[RowName]:
    """The rows that a run found: as its model says, else the list of the pages that it cites.

    Of several lists that with as many items as are wanted, else the first one.
    """
    names = (answer.data or {}).get(ROW) or []
    rows = [
        RowName(str(name), _other_names(answer, n)) for n, name in enumerate(names) if name
    ] or [RowName(name) for name in _choose_list(run.research.sources, answer, wanted)]
    short = (row for row in rows if len(row.name) <= MAX_NAME)
    return distinct_rows(short)[: wanted or MAX_ROWS]


def found_table(
    topic: str, columns: tuple[Column, ...], output: OutputFile, run: Run, wanted: int | None
) -> TableRun | None:
    """The table of the rows that a run finds; None where it finds none. Raises AgentError."""
    answer = run.answer()
    if answer.error:
        raise AgentError(answer.error.message, answer.error.remedy)
    rows = collect_rows(run, answer, wanted)
    few = (f"{len(rows)} rows were found of {wanted}.",) if len(rows) < (wanted or 0) else ()
    return TableRun(topic, columns, rows, output, warnings=few, found_by=answer) if rows else None


def _other_names(answer: Answer, n: int) -> tuple[str, ...]:
    slot = answer.slots.get(f"{ROW}[{n}]")
    return tuple(str(one.value) for one in slot.alternatives) if slot else ()


def _choose_list(sources: Sequence[Source], answer: Answer, wanted: int | None) -> list[str]:
    quotes = [one.quote for one in answer.citations]
    cited = {one.url for one in answer.citations}
    texts = [source.page.text for source in sources if source.page.url in cited]
    lists = [found for quote in quotes for found in find_items(quote)]
    lists += [found for text in texts for found in find_rows(text)]
    exact = (one for one in lists if len(one) == wanted)
    return next(exact, next(iter(lists), []))


class TableRun:
    """Researches the rows of a table, each once: what has a row in `output` is not done again."""

    def __init__(
        self,
        topic: str,
        columns: tuple[Column, ...],
        rows: Sequence[RowName],
        output: OutputFile,
        *,
        warnings: tuple[str, ...] = (),
        found_by: Answer | None = None,
    ) -> None:
        """`found_by`: the answer of the run that found the rows, which their runs follow."""
        self._topic, self._columns, self._rows = topic, columns, rows
        self._output, self._warnings = output, warnings
        counted = found_by.usage.model_dump(include={*CallUsage.model_fields}) if found_by else {}
        self._usage = CallUsage.model_validate(counted)
        self._follow = found_by.run.id if found_by and found_by.run else ""
        self._read: dict[str, TableRow] = {}

    def shape(self, settings: Settings) -> Settings:
        """The settings with which a row is researched: its slots are the columns."""
        return settings.model_copy(update={"slots_schema": row_schema(self._columns)})

    def begin(self, engine: Engine, caps: Caps, concurrency: int) -> Batch:
        """The batch that researches what has no row yet; `engine`: with the settings of `shape`.

        Raises UsageError.
        """
        request = RunRequest(follow=self._follow)
        topics = [row.topic for row in self._rows]
        return Batch(topics, self._output, engine, request, caps, concurrency=concurrency)

    def usage(self) -> CallUsage:
        """What all runs used so far, that which found the rows too."""
        return sum_usages([self._usage, self._output.usage])

    def table(self) -> TableAnswer:
        """The table as far as it is known, one row an entity, in the order of the names."""
        rows, left = merge_rows(self.rows()), len(self._rows) - len(self._output.index)
        return TableAnswer(
            topic=self._topic,
            columns=self._columns,
            rows=tuple(rows),
            left=left,
            warnings=self._warnings,
        )

    def rows(self) -> list[TableRow]:
        """The rows that are done, in the order of the names."""
        for row in self._rows:
            if row.name in self._output.index and row.name not in self._read:
                self._read[row.name] = self._read_row(row)
        return [self._read[row.name] for row in self._rows if row.name in self._read]

    def _read_row(self, row: RowName) -> TableRow:
        held: dict[str, Any] = self._output.read_row(row.name)
        held.pop("id")
        try:
            answer = Answer.model_validate(upgrade_answer(held))
        except ValidationError:
            fault = f"{self._output.path} contains something other than rows ({row.name})."
            raise UsageError(fault, "Remove it to start over.") from None
        return build_row(row.name, row.also, self._columns, answer)
