"""What tables say: rows of a name and a value, and reports of matches, as pages lay them out.

A report is a heading or a date, a row `West Germany | 1–0 | Argentina`, and the rows about it:
who scored for either side, a shoot-out, the place, the attendance, the referee.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.evidence import content_words, is_heading, is_row
from agent.evidence.dates import find_years
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


_CONTEST = r"(?:tournament|competition|championship|cup|title|trophy|final|league|contest|event)s?"
_WINS = re.compile(
    rf"\b{_CONTEST}\b[^.;]{{0,90}}?\bwon by\b|^it was (?:\w+ )?won by\b|\band won by\b"
    rf"|\b(?:won|wins?|winning|claimed|lifted|retained)\s(?:the|their|its|a|an|his|her)\b[^.,;]{{0,60}}\b{_CONTEST}\b"
    rf"|\b(?:were|was|are|is|became|crowned|the)\b[^.,;]{{0,40}}\bchampions?\b|冠军|夺得|夺冠",
    re.I,
)
_OTHER_STAGE = re.compile(
    r"\b(?:semi|quarter)[\s-]?finals?\b|\bthird[\s-]place|\bgroup\b|\bround of\b|\bqualif\w+"
    r"|\b(?:won|win|winning) the right\b|\bdefending champions?\b|\breigning\b"
    r"|\bopening (?:match|game)\b"
    r"|半决赛|四分之一决赛|小组赛",
    re.I,
)
_BEATS = re.compile(r"\b(?:beat\w*|defeat\w*|won|overcame)\b|以.*(?:战胜|击败|获胜)|战成", re.I)


def decides_contest(line: Line, question: ParsedQuestion, what: str) -> bool:
    """Whether a sentence tells how the final of the very contest ended.

    It says who won the contest, or is about the final: by its words, its heading or its page.
    """
    text = f"{line.before} {line.text}" if line.opens_with_pronoun else line.text
    around = f"{line.title} {line.heading} {text}"
    if is_another_event(around, question, line.title) or _is_another_time(text, question):
        return False
    if _OTHER_STAGE.search(text):
        return False
    if what == "winner":
        wins = bool(_WINS.search(line.text))
        return wins or (_is_about_final(line, text) and bool(_BEATS.search(line.text)))
    return _is_about_final(line, text) or (bool(_WINS.search(text)) and what != "scorers")


def _is_about_final(line: Line, text: str) -> bool:
    plain = _NOT_FINAL.sub(" ", text)
    return is_final(line) or bool(re.search(r"\bfinal\b|决赛", plain, re.I))


def _is_another_time(text: str, question: ParsedQuestion) -> bool:
    """Whether a sentence tells of other years than the one that is asked for."""
    years = set(find_years(text))
    return bool(question.years and years and not years & set(question.years))


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
