"""What tables say: rows of a name and a value, and reports of matches, as pages lay them out.

A report is a heading or a date, a row `West Germany | 1–0 | Argentina`, and the rows about it:
who scored for either side, a shoot-out, the place, the attendance, the referee.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.evidence import content_words, is_heading, is_row, split_sentences
from agent.evidence.names import chinese_name_spans, name_spans
from agent.evidence.scores import is_score
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion, is_another_event, named_opponents

_DAY = re.compile(r"\b\d{1,2}\b.*\b\d{4}\b|\b\d{1,2}:\d\d\b")
_SCORER = re.compile(r"([^\d;|]*?[^\W\d][^\d;|]*?)\s*\d{1,3}(?:\+\d{1,2})?\s?['′’]")
_FINAL = re.compile(r"(?:^|[\s–-])final$|决赛$", re.I)
_NOT_FINAL = re.compile(r"(?:semi|quarter)[\s-]?finals?|third|半决赛|四分之一", re.I)
ROWS = 5  # of a report after its result
CELLS = {"referee": r"referee|裁判", "attendance": r"attendance|观众"}


class MatchReport(NamedTuple):
    """A match as a table reports it. `line.text` is the result; `quote` the whole report."""

    line: Line
    quote: str
    sides: tuple[str, str]
    result: str
    shootout: str
    scorers: tuple[str, ...]

    @property
    def winner(self) -> str:
        """The side that won, after the shoot-out if there was one; empty for a draw."""
        first, second = map(int, re.findall(r"\d+", self.shootout or self.result)[:2])
        return "" if first == second else self.sides[first < second]

    def row_with(self, value: str) -> Line:
        """The row of the report that holds a value: the result, unless only another one does."""
        line = self.line
        for row in self.quote.split("\n") if value not in line.text else ():
            if value in row:
                return line._replace(text=row, start=line.whole.find(row))
        return line

    @property
    def loser(self) -> str:
        """The other side than the winner; empty for a draw."""
        return next((s for s in self.sides if self.winner and s != self.winner), "")

    @property
    def score(self) -> str:
        """The result, and that of a shoot-out."""
        return ", ".join(filter(None, (self.result, self.shootout)))

    def fact(self, what: str) -> str:
        """A fact by its name in `facts.FACTS`; empty where the report does not tell it."""
        plain = {
            "winner": self.winner,
            "loser": self.loser,
            "score": self.score,
            "scorers": ", ".join(self.scorers),
            "place": self.place,
            "day": self.day,
        }
        return plain[what] if what in plain else self.cell(CELLS[what])

    def cell(self, named: str) -> str:
        """The value of a cell `Name: value`, without what follows in brackets."""
        found = re.search(rf"(?:{named})s?\s?[:：]\s?([^|\n(（]+)", self.quote, re.I)
        return found[1].strip() if found else ""

    @property
    def place(self) -> str:
        """Where it was played: the cell before the attendance or the referee."""
        found = re.search(r"([^|\n]+?) \| (?:Attendance|Referee):", self.quote)
        return found[1] if found else ""

    @property
    def day(self) -> str:
        """When it was played: the first cell of the row above the result."""
        above = self.quote.split("\n")[0]
        return above.split(" | ")[0] if _DAY.search(above) and self.result not in above else ""


def find_reports(found: Sequence[Line]) -> list[MatchReport]:
    """The matches among the lines of some evidence."""
    made = []
    for line in found:
        cells = line.text.split(" | ")
        if len(cells) == 3 and is_score(cells[1]) and all(map(_is_side, cells[::2])):
            made.append(_make_report(line, cells))
    return made


def _is_side(cell: str) -> bool:
    """Whether a cell can be a side: a name, not a list of those who shot penalties."""
    return bool(re.match(r"[^\W\d_]", cell)) and not re.search(r"[;:\d|]", cell)


def _make_report(line: Line, cells: list[str]) -> MatchReport:
    start, end = _report_span(line)
    quote = line.whole[start:end]
    rows = line.whole[line.start + len(line.text) : end].strip("\n").split("\n")
    shot = next((i for i, row in enumerate(rows) if row.casefold().startswith("penalt")), -1)
    after = rows[shot + 1].split(" | ") if 0 <= shot < len(rows) - 1 else []
    shootout = next((cell for cell in after if is_score(cell)), "")
    scorers = [
        n.strip(" ,") for row in rows[:1] for n in _SCORER.findall(row.replace("Report", ""))
    ]
    return MatchReport(
        line, quote, (cells[0], cells[2]), cells[1], shootout, tuple(dict.fromkeys(scorers))
    )


def _report_span(line: Line) -> tuple[int, int]:
    """Where a report begins and ends: a row with the day above it, and the rows below."""
    start, end = line.start, line.start + len(line.text)
    above = line.whole[:start].rstrip("\n").rpartition("\n")
    if is_row(above[2]) and _DAY.search(above[2]):
        start = len(above[0]) + len(above[1])
    for row in line.whole[end:].split("\n")[1 : ROWS + 1]:
        if not (is_row(row) or row == "Report" or row.casefold().startswith("penalt")):
            break
        end += 1 + len(row)
        if re.search(CELLS["referee"], row, re.I):
            break
    return start, end


def find_asked_report(found: Sequence[Line], question: ParsedQuestion) -> MatchReport | None:
    """The report of the very match that is asked for: by its sides, else the final of the event."""
    sides = [frozenset(content_words(side)) for side in named_opponents(question)]
    for report in find_reports(found):
        line = report.line
        if is_another_event(f"{line.title} {line.heading}", question, line.title):
            continue
        own = [frozenset(content_words(side)) for side in report.sides]
        if sides and sorted(map(sorted, own)) == sorted(map(sorted, sides)):
            return report
        if not sides and _asks_for_final(question) and is_final(line):
            return report
    return None


def _asks_for_final(question: ParsedQuestion) -> bool:
    """Whether a question is about the final of a contest, by name or because that decides it."""
    if _NOT_FINAL.search(question.text):
        return False
    return question.asks_for_final or bool(re.search(r"\bfinal\b|决赛", question.text, re.I))


def is_final(line: Line) -> bool:
    """Whether a line is of the part of a page, or of the page, that is about a final."""
    about = line.heading or line.title
    return any(
        _FINAL.search(text) and not _NOT_FINAL.search(text) for text in (line.heading, line.title)
    ) and not _NOT_FINAL.search(about)


def split_entry(line: Line) -> tuple[str, str] | None:
    """A row of two cells, as a name and its value; None for anything else."""
    cells = line.text.split(" | ")
    if len(cells) != 2 or not all(map(str.strip, cells)) or not is_heading(cells[0].strip(" :()s")):
        return None
    return cells[0].strip(" :"), cells[1].strip()


# --- who scored, in prose ------------------------------------------------------------------------

QUOTE = 700  # characters of a quote that runs over several sentences
MINUTE = re.compile(
    r"\(?\b\d{1,3}(?:st|nd|rd|th) minute|\b\d{1,3}(?:\+\d{1,2})?\s?['′’](?!s)|第\d{1,3}分钟"
)
_OF = re.compile(r"\b(?:of|for|from|against|by|in|at|to|with|over)\s(?:the\s)?$")


def find_scorers(line: Line) -> tuple[list[str], str] | None:
    """Who scored, where minutes are told: the name before each of them; and the quote."""
    if not MINUTE.search(line.text):
        return None
    first, last = _scorer_span(line)
    quote = line.whole[first:last]
    found: list[str] = []
    spans = [span for span in name_spans(quote) if _can_act(quote, *span)]
    spans = chinese_name_spans(quote) or spans
    for minute in MINUTE.finditer(quote):
        before = [(a, b) for a, b in spans if b <= minute.start()]
        whole = [span for span in before if " " in quote[slice(*span)]] or before
        close = [span for span in before[-1:] if minute.start() - span[1] <= 3] or whole[-1:]
        found.extend(quote[a:b] for a, b in close)
    return (list(dict.fromkeys(found)), quote) if found else None


def _can_act(text: str, start: int, end: int) -> bool:
    """Whether a name can be who does something: not `of France`, `the French`, `, a captain,`."""
    before, after = text[max(0, start - 12) : start], text[end : end + 2]
    if _OF.search(before) or (before.endswith(", ") and after == ", "):
        return False
    return " " in text[start:end] or not re.search(r"\b(?:a|an|the)\s$", before, re.I)


def _scorer_span(line: Line) -> tuple[int, int]:
    """The span of a line and of its neighbours that tell minutes too, within a paragraph."""
    first, last = line.start, line.start + len(line.text)
    spans = split_sentences(line.whole)
    for start, end in (s for s in spans if s[0] >= last):
        if "\n" in line.whole[last:start] or not MINUTE.search(line.whole[start:end]):
            break
        last = end if end - first <= QUOTE else last
    for start, end in (s for s in reversed(spans) if s[1] <= first):
        if "\n" in line.whole[end:first] or not MINUTE.search(line.whole[start:end]):
            break
        first = start if last - start <= QUOTE else first
    return first, last
