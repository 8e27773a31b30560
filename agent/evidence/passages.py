"""How a page is cut into passages: at its sections and tables, with the heading above each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from agent.evidence.bm25 import ranked_spans
from agent.evidence.sentences import PASSAGE, Span, split_sentences

#: Rows one below the other, and how many of them are a long table.
_TABLE, LONG_TABLE = re.compile(r"(?:^[^\n]* \| [^\n]*\n?)++", re.M), 500


class PassageSpan(NamedTuple):
    """A passage, and where the heading of its section is (empty where there is none)."""

    start: int
    end: int
    heading: Span = (0, 0)

    def shown_spans(self) -> list[Span]:
        """The spans to show: the heading, if it comes before the passage, and the passage."""
        return [self.heading, self[:2]] if 0 < self.heading[1] <= self.start else [self[:2]]


def ranked_passages(text: str, query: str, length: int) -> Iterator[PassageSpan]:
    """The passages of a text, or of the parts of it that are ranked where it is too long."""
    for start, end in ranked_spans(text, query, length):
        head = _find_table_head(text, start) if start else (0, 0)
        for a, b, (above, below) in cut_passages(text[start:end]):
            heading = (above + start, below + start) if below else head
            yield PassageSpan(a + start, b + start, heading)


def _find_table_head(text: str, start: int) -> Span:
    """The first line of the table in whose rows an offset lies; an empty span for no long one.

    The rows of a long table do not name their columns: see `documents/formats/grid.py`.
    """
    if not is_row(text[start : text.find("\n", start) % (len(text) + 1)]):
        return (0, 0)
    return next((head for head, a, b in _find_long_tables(text) if a <= start < b), (0, 0))


@lru_cache(maxsize=16)
def _find_long_tables(text: str) -> list[tuple[Span, int, int]]:
    found = []
    for table in _TABLE.finditer(text):
        start, end = table.span()
        if text.count("\n", start, end) >= LONG_TABLE:
            found.append(((start, text.index("\n", start)), start, end))
    return found


@lru_cache(maxsize=64)
def cut_passages(text: str) -> list[PassageSpan]:
    """Cut a text into passages. A section or table begins one, but not after a small section."""
    pieces: list[PassageSpan] = []
    heading = (0, 0)
    spans = split_sentences(text)
    for at, (start, end) in enumerate(spans):
        opens = _opening_of(text, spans, at)
        if opens == "section":
            heading = (start, end)
            _join_tail(pieces)
        small = pieces and start - pieces[-1].start < PASSAGE // 4
        if pieces and end - pieces[-1].start <= PASSAGE and (small or not opens):
            pieces[-1] = pieces[-1]._replace(end=end)
        else:
            cuts = range(start, end, 2 * PASSAGE)
            pieces.extend(PassageSpan(a, min(a + 2 * PASSAGE, end), heading) for a in cuts)
    return pieces


def _join_tail(pieces: list[PassageSpan]) -> None:
    """Join the small end of a section to its passage before it, not to the section that follows."""
    if len(pieces) < 2:
        return
    before, last = pieces[-2:]
    if before.heading == last.heading and last.end - last.start < PASSAGE // 4:
        pieces[-2:] = [before._replace(end=last.end)]


def _opening_of(text: str, spans: Sequence[Span], at: int) -> str:
    """ "section" for a heading, "table" for the first row of a table, else ""."""
    lines = [text[slice(*spans[i])] if 0 <= i < len(spans) else "" for i in range(at - 1, at + 2)]
    before, line, after = lines
    if is_row(line):
        prose = not is_row(before) and not is_heading(before)
        return "table" if before and prose else ""
    alone = text[spans[at][1] : spans[at][1] + 1] == "\n"
    return "section" if alone and is_heading(line) and not (after and is_heading(after)) else ""


_MARKED = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?$")
_ITEM = re.compile(r"(?:[-*+•‣–>]|\d{1,3}[.)])\s")


def is_row(line: str) -> bool:
    """Whether a line is a row of a table: cells with bars between them."""
    return " | " in line or line.startswith("| ")


def is_heading(line: str) -> bool:
    """Whether a line by itself looks like a heading: marked as one, or short and no sentence."""
    short = 0 < len(line) < 60 and line[-1].isalnum() and ":" not in line
    is_alone = short and not is_row(line) and not _ITEM.match(line)
    return "\n" not in line and bool(is_alone or _MARKED.match(line))
