"""Questions over the rows of tables: one SELECT, beside the rows that a search alone finds.

Three real tables of Python's packages: names of HTML's characters as CSV, time zones as XLSX,
statuses of HTTP as HTML. Of each, questions how many, which has most, and the sum of. A scripted
model that obeys writes the right SELECT, or answers rightly from the rows that it is shown. *told*:
an answer was given. *right*: it has the true value. Both say what the way allows, not how well a
model takes it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from html.entities import html5
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from agent.calls import Task
from evals.harness import Bench, Evaluation, Table, count, half, main, share, size
from evals.scripted import Scripted, run_scripted

DAY = datetime(2026, 7, 1, tzinfo=UTC)
WAYS = ("one SELECT", "rows that a search finds")
Row = tuple[str, str, int]


class Asked(NamedTuple):
    """A question over the rows of a group, or of all where it is "". `kind` is what is asked."""

    table: str
    kind: str
    group: str

    @property
    def question(self) -> str:
        """In words, with the names of the columns."""
        name, group, number = COLUMNS[self.table]
        of = f" of {group} {self.group}" if self.group else ""
        asked = {
            "how many": f"How many rows of {name}{of} are there?",
            "most": f"Which {name}{of} has the largest {number}?",
            "sum": f"What is the sum of {number} over {name}{of}?",
        }
        return asked[self.kind]

    @property
    def statement(self) -> str:
        """The SELECT that answers it."""
        name, group, number = COLUMNS[self.table]
        where = f" WHERE {group} = '{self.group}'" if self.group else ""
        order = f" ORDER BY {number} DESC, {name} LIMIT 1"
        first, last = {
            "how many": ("count(*)", ""),
            "most": (name, order),
            "sum": (f"sum({number})", ""),
        }[self.kind]
        return f"SELECT {first} FROM t1{where}{last}"

    def answer(self, rows: Iterable[Row]) -> str:
        """What is true of these rows; "" where there are none."""
        own = [row for row in rows if self.group in ("", row[1])]
        if not own or self.kind == "how many":
            return str(len(own)) if own else ""
        if self.kind == "sum":
            return str(sum(row[2] for row in own))
        return min(own, key=lambda row: (-row[2], row[0]))[0]


class Outcome(NamedTuple):
    """What was answered in one way."""

    asked: Asked
    half: str
    way: str
    told: bool
    right: bool


COLUMNS = {
    "characters": ("entity", "block", "code"),
    "zones": ("zone", "region", "minutes"),
    "statuses": ("phrase", "class", "status"),
}


@cache
def rows_of(table: str) -> tuple[Row, ...]:
    """The rows of a table: a name, a group, a number."""
    if table == "characters":
        single = [(n.rstrip(";"), ord(c)) for n, c in html5.items() if len(c) == 1 and n[-1] == ";"]
        return tuple((name, f"U{code >> 8:02X}", code) for name, code in sorted(single))
    if table == "statuses":
        return tuple((s.phrase, f"{s.value // 100}xx", s.value) for s in HTTPStatus)
    zones = sorted(name for name in available_timezones() if "/" in name)
    offsets = (ZoneInfo(name).utcoffset(DAY) for name in zones)
    minutes = [int(one.total_seconds()) // 60 if one else 0 for one in offsets]
    return tuple((z, z.split("/")[0], m) for z, m in zip(zones, minutes, strict=True))


def load(_: Path) -> Iterator[Asked]:
    """Sixty questions: of all rows of each table, and of its largest groups."""
    for table in COLUMNS:
        sizes = {group: 0 for _, group, _ in rows_of(table)}
        for _, group, _ in rows_of(table):
            sizes[group] += 1
        groups = sorted(sizes, key=lambda group: (-sizes[group], group))
        asked = [Asked(table, k, g) for g in ("", *groups) for k in ("how many", "most", "sum")]
        yield from asked[:21]


def prepare(_: Sequence[Asked], bench: Bench) -> None:
    """Write each table as a file of its own kind in a folder of its own."""
    from openpyxl import Workbook

    for table, head in COLUMNS.items():
        folder = bench.work / f"table-{table}"
        folder.mkdir(exist_ok=True)
        lines = [head, *rows_of(table)]
        if table == "characters":
            with (folder / "characters.csv").open("w", newline="") as file:
                csv.writer(file).writerows(lines)
        elif table == "zones":
            book = Workbook()
            for line in lines:
                book.active.append(line)
            book.save(folder / "zones.xlsx")
        else:
            cells = ("".join(f"<td>{cell}</td>" for cell in line) for line in lines[1:])
            top = "".join(f"<th>{name}</th>" for name in head)
            body = "".join(f"<tr>{row}</tr>" for row in cells)
            page = f"<html><title>Statuses</title><body><h1>Statuses</h1><table><tr>{top}</tr>"
            (folder / "statuses.html").write_text(f"{page}{body}</table></body></html>")
        bench.open_index(folder)


def measure(asked: Asked, bench: Bench) -> Iterator[Outcome]:
    """Ask in both ways."""
    truth = asked.answer(rows_of(asked.table))
    for way in WAYS:
        model = Scripted(lambda task, way=way: _reply(asked, task, way))
        folder = bench.work / f"table-{asked.table}"
        run = run_scripted(asked.question, model, folder, bench, verify="rules", max_rounds=2)
        answer = run.answer()
        said = answer.answer if way == WAYS[0] else _answer_from(asked, model.seen)
        found = re.search(rf"(?<![\w.]){re.escape(truth)}(?!\w|\.\d)", said)
        yield Outcome(asked, half(asked.question), way, bool(said), bool(found))


def _reply(asked: Asked, task: Task[Any], way: str) -> dict[str, Any]:
    """A model that obeys: with the SELECT, or as one that finds nothing and reads on."""
    if task.name == "generate_queries":
        return {"queries": [asked.question], "slots": []}
    said = {"answerable": True, "answer": "", "citations": [], "slots": [], "new_queries": []}
    if way == WAYS[0] and "<table" in task.prompt():
        said |= {"statement": asked.statement, "sentence": "It is {}."}
    return said | {"need_more": False}


def _answer_from(asked: Asked, prompts: Sequence[str]) -> str:
    """What is right over the rows that the prompts have."""
    shown = "\n".join(prompts)
    lines = {row: _line(asked.table, row) for row in rows_of(asked.table)}
    return asked.answer(row for row, line in lines.items() if line in shown)


def _line(table: str, row: Row) -> str:
    names = COLUMNS[table]
    is_long = len(rows_of(table)) > 1000
    cells = (str(c) if is_long else f"{n}: {c}" for n, c in zip(names, row, strict=True))
    return " | ".join(cells)


EVALUATION = Evaluation(
    title="Questions over rows of tables, with a scripted model",
    load=load,
    prepare=prepare,
    measure=measure,
    tables=(
        Table(
            {"table": "asked.table", "half": "half", "way": "way"},
            {"n": size, "told": count("told"), "right": count("right"), "share": share("right")},
        ),
    ),
    missed=lambda one: (
        "" if one.right else f"{one.way}: {one.asked.question} {one.asked.statement}"
    ),
)

if __name__ == "__main__":
    main("tables")
