"""What tables say: rows of a name and a value, and the rows that tell of a result of two sides.

A result is a row `West Germany | 1–0 | Argentina`. The rows around it tell of it: the day above,
and below it names with minutes, a shoot-out, and cells such as `Referee: Edgardo Codesal`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from agent.evidence import is_heading, is_row
from agent.evidence.names import name_spans
from agent.evidence.quantities import find_dates, is_score
from agent.evidence.words import word_lists
from agent.llm.extractive.fact import Fact
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion, is_another_event
from agent.llm.extractive.templates import Template, find_template

_DAY = re.compile(r"\b\d{1,2}\b.*\b\d{4}\b|\b\d{1,2}:\d\d\b")
_BY_MINUTE = re.compile(r"([^\d;|]*?[^\W\d][^\d;|]*?)\s*\d{1,3}(?:\+\d{1,2})?\s?['′’]")
_SIDE = re.compile(r"[^\W\d_][^;:\d|]*$")
_LABELLED = re.compile(r"([^|\n:：\d]+)[:：]\s?([^|\n(（]+)")
ROWS = 5  # about a result, below it


class Record(NamedTuple):
    """A row of two sides and a score, with the rows about it (`quote`)."""

    line: Line
    quote: str
    sides: tuple[str, str]
    score: str  # with that of a shoot-out behind it
    scorers: str

    @property
    def winner(self) -> str:
        """The side with more, after the shoot-out if there was one; empty for a draw."""
        first, second = map(int, re.findall(r"\d+", self.score.rpartition(", ")[2])[:2])
        return "" if first == second else self.sides[first < second]

    def value_of(self, asked: Fact, question: ParsedQuestion) -> str:
        """What is said of a fact: by a cell with its name, else by the result itself."""
        if told := self._labelled_cell(asked.relation, question):
            return told
        if asked.kind == "score":
            return self.score
        if asked.kind == "names":
            return self.scorers
        if asked.kind == "date":
            return next(iter(find_dates(self.quote)), "")
        if asked.kind == "place":
            return self._unlabelled_cell()
        return self.winner if "won" in asked.relation else ""

    def _labelled_cell(self, stems: Collection[str], question: ParsedQuestion) -> str:
        cells = _LABELLED.findall(self.quote)
        found = (value for name, value in cells if not set(question.read(name)).isdisjoint(stems))
        return next(found, "").strip()

    def _unlabelled_cell(self) -> str:
        """What stands beside labelled cells without a label of its own: where it took place."""
        rows = (row.split(" | ") for row in self.quote.split("\n") if _LABELLED.search(row))
        return next((row[0] for row in rows if not _LABELLED.search(row[0])), "").strip()

    def row_with(self, value: str) -> Line:
        """The row that holds a value: the result, unless only another one does."""
        rows = self.quote.split("\n") if value not in self.line.text else []
        row = next((row for row in rows if value in row), self.line.text)
        return self.line._replace(text=row, start=self.line.whole.find(row))


def find_record(found: Sequence[Line], question: ParsedQuestion) -> Record | None:
    """The very result that a question is about: by its sides, else by the part of the page."""
    template, asked = find_template(question), set(question.words)
    alone = template and not template.parties(question)
    for line in found:
        cells = line.text.split(" | ")
        if len(cells) != 3 or not is_score(cells[1]) or not all(map(_SIDE.match, cells[::2])):
            continue
        if is_another_event(f"{line.title} {line.heading}", question, line.title):
            continue
        sides = [set(question.read(side)) for side in cells[::2]]
        if all(side and side <= asked for side in sides):
            return _read_record(line, cells)
        if alone and template and is_of_part(line, template):
            return _read_record(line, cells)
    return None


def is_of_part(line: Line, template: Template) -> bool:
    """Whether a line is of the part of a page, or of the page, that tells what a topic asks for."""
    return bool(template.part and template.part.search(line.heading or line.title))


def _read_record(line: Line, cells: list[str]) -> Record:
    above = line.whole[: line.start].rstrip("\n").rpartition("\n")
    dated = is_row(above[2]) and _DAY.search(above[2])
    start = len(above[0]) + len(above[1]) if dated else line.start
    below = list(_rows_below(line))
    end = line.start + len(line.text) + sum(1 + len(row) for row in below)
    shot = [c for row in below[1:] for c in row.split(" | ")[1:2] if is_score(c)]
    names = (name.strip(" ,") for row in below[:1] for name in _BY_MINUTE.findall(row))
    return Record(
        line,
        line.whole[start:end],
        (cells[0], cells[2]),
        ", ".join((cells[1], *shot[:1])),
        ", ".join(dict.fromkeys(names)),
    )


def _rows_below(line: Line) -> Iterator[str]:
    """The rows about a result, up to the next heading or the one with several named cells."""
    end = line.start + len(line.text)
    for row in line.whole[end:].split("\n")[1 : ROWS + 1]:
        if is_heading(row) and not re.match(word_lists()["records"]["inner"], row):
            return
        yield row
        if row.count(": ") > 1:
            return


# --- names with numbers, in prose ----------------------------------------------------------------

_BRACKET = re.compile(r"\s\((?=\d)")


def find_numbered(line: Line) -> str:
    """The names of a sentence that each have a number in brackets behind them; "" for others."""
    names = {b: line.text[a:b] for a, b in name_spans(line.text)}
    found = [names.get(match.start()) for match in _BRACKET.finditer(line.text)]
    return ", ".join(dict.fromkeys(map(str, found))) if found and all(found) else ""
