"""What tables say: rows of a name and a value, and the rows about a result of two sides.

A result is a row `West Germany | 1–0 | Argentina`. The rows around it tell of it: the day above,
and below it names with minutes, a shoot-out, and cells such as `Referee: Edgardo Codesal`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.evidence import is_heading, is_row, split_sentences
from agent.evidence.names import chinese_name_spans, name_spans
from agent.evidence.scores import is_score
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion, is_another_event, named_opponents

_DAY = re.compile(r"\b\d{1,2}\b.*\b\d{4}\b|\b\d{1,2}:\d\d\b")
_BY_MINUTE = re.compile(r"([^\d;|]*?[^\W\d][^\d;|]*?)\s*\d{1,3}(?:\+\d{1,2})?\s?['′’]")
_SIDE = re.compile(r"[^\W\d_][^;:\d|]*$")
_FINAL = re.compile(r"(?:^|[\s–-])final$|决赛$", re.I)
_NOT_FINAL = re.compile(r"(?:semi|quarter)[\s-]?finals?|third|半决赛|四分之一", re.I)
ROWS = 5  # about a result, below it


class MatchReport(NamedTuple):
    """A result with the rows about it (`quote`)."""

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

    def cell(self, stems: Sequence[str], question: ParsedQuestion) -> str:
        """The value of the cell whose name is one of some stems, without brackets."""
        cells = re.findall(r"([^|\n:：]+)[:：]\s?([^|\n(（]+)", self.quote)
        named = (value for name, value in cells if set(question.read(name)) & set(stems))
        return next(named, "").strip()

    def row_with(self, value: str) -> Line:
        """The row that holds a value: the result, unless only another one does."""
        rows = self.quote.split("\n") if value not in self.line.text else []
        row = next((row for row in rows if value in row), self.line.text)
        return self.line._replace(text=row, start=self.line.whole.find(row))


def find_asked_result(found: Sequence[Line], question: ParsedQuestion) -> MatchReport | None:
    """The very result that is asked for: by its sides, else the final of the event."""
    sides = sorted(sorted(question.read(side)) for side in named_opponents(question))
    for line in found:
        cells = line.text.split(" | ")
        if len(cells) != 3 or not is_score(cells[1]) or not all(map(_SIDE.match, cells[::2])):
            continue
        if is_another_event(f"{line.title} {line.heading}", question, line.title):
            continue
        if sides == sorted(sorted(question.read(side)) for side in cells[::2]):
            return _read_result(line, cells)
        if not sides and is_final(line) and not _NOT_FINAL.search(question.text):
            return _read_result(line, cells)
    return None


def _read_result(line: Line, cells: list[str]) -> MatchReport:
    above = line.whole[: line.start].rstrip("\n").rpartition("\n")
    dated = is_row(above[2]) and _DAY.search(above[2])
    start = len(above[0]) + len(above[1]) if dated else line.start
    end = line.start + len(line.text)
    below: list[str] = []
    for row in line.whole[end:].split("\n")[1 : ROWS + 1]:
        if is_heading(row) and row != "Report" and not row.casefold().startswith("penalt"):
            break
        below.append(row)
        end += 1 + len(row)
        if row.count(": ") > 1:
            break  # attendance and referee end it
    shot = [c for row in below[1:] for c in row.split(" | ")[1:2] if is_score(c)]
    names = [
        name.strip(" ,")
        for row in below[:1]
        for name in _BY_MINUTE.findall(row.replace("Report", ""))
    ]
    return MatchReport(
        line,
        line.whole[start:end],
        (cells[0], cells[2]),
        ", ".join((cells[1], *shot[:1])),
        ", ".join(dict.fromkeys(names)),
    )


def is_final(line: Line) -> bool:
    """Whether a line is of the part of a page, or of the page, that is about a final."""
    told = any(_FINAL.search(text) for text in (line.heading, line.title))
    return told and not _NOT_FINAL.search(line.heading or line.title)


def split_entry(line: Line) -> tuple[str, str] | None:
    """A row of two cells, as a name and its value; None for anything else."""
    cells = line.text.split(" | ")
    if len(cells) != 2 or not all(map(str.strip, cells)) or not is_heading(cells[0].strip(" :()s")):
        return None
    return cells[0].strip(" :"), cells[1].strip()


# --- names with minutes, in prose ----------------------------------------------------------------

_MINUTE = re.compile(
    r"\(?\b\d{1,3}(?:st|nd|rd|th) minute|\b\d{1,3}(?:\+\d{1,2})?\s?['′’](?!s)|第\d{1,3}分钟"
)
_HELD = re.compile(r"\b(?:of|for|from|against|by|in|at|to|with|over)\s(?:the\s)?$")
MOST = 700  # characters of a quote that runs over several sentences


def find_scorers(line: Line) -> tuple[str, str] | None:
    """Who scored, where minutes are told: the name before each of them; and the quote."""
    if not _MINUTE.search(line.text):
        return None
    quote = _paragraph_of(line)
    spans = chinese_name_spans(quote) or [
        span for span in name_spans(quote) if _can_act(quote, *span)
    ]
    found = dict.fromkeys(quote[a:b] for a, b in _named_before(quote, spans))
    return (", ".join(found), quote) if found else None


def _named_before(quote: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for minute in _MINUTE.finditer(quote):
        before = [span for span in spans if span[1] <= minute.start()]
        whole = [span for span in before if " " in quote[slice(*span)]] or before
        close = [span for span in before[-1:] if minute.start() - span[1] <= 3]
        yield from close or whole[-1:]


def _can_act(text: str, start: int, end: int) -> bool:
    """Whether a name can be who does something: not `of France`, `the French`, `, a captain,`."""
    before, after = text[max(0, start - 12) : start], text[end : end + 2]
    if _HELD.search(before) or (before.endswith(", ") and after == ", "):
        return False
    return " " in text[start:end] or not re.search(r"\b(?:a|an|the)\s$", before, re.I)


def _paragraph_of(line: Line) -> str:
    """The sentences of a line's paragraph from the first to the last that tells a minute."""
    start = line.whole.rfind("\n", 0, line.start) + 1
    end = (line.whole + "\n").index("\n", line.start)
    told = [
        (a + start, b + start)
        for a, b in split_sentences(line.whole[start:end])
        if _MINUTE.search(line.whole[a + start : b + start])
    ]
    first = min((a for a, _ in told), default=line.start)
    last = max((b for _, b in told if b - first <= MOST), default=0)
    return line.whole[first : max(last, line.start + len(line.text))]
