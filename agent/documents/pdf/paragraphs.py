"""The paragraphs that the lines of a PDF make.

A line goes on in the next one if the first word of that one had no room left on it. So a margin,
an indent, the space between lines and the size of the type tell paragraphs apart, not their words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from agent.documents.pdf.lines import CELL_BREAK, HYPHEN, LIST_ITEM, PageLine

MIN_WRAPPED = 20  # characters: shorter lines are cells and headings
NEIGHBOURS = 4  # lines above and below that tell the width of a column
#: In sizes of the type: the least and the largest indent, and what is no difference of sizes. In
#: usual distances of lines: the space after a paragraph.
MIN_INDENT, MAX_INDENT, SAME_SIZE, MIN_SPACE = 0.5, 4.0, 0.08, 1.2
MIN_DIVIDED = 0.03  # of all lines that end with a hyphen where a program divides words
LOOKED_AHEAD = 6  # paragraphs between the parts of one, such as footnotes and captions
#: Scripts without spaces between words: a space is inserted neither between two such characters
#: nor at their punctuation. Chinese, Japanese and Korean, their symbols and full-width forms.
_UNSPACED_CHAR = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_ENDS = ".!?:;。！？؟।"
_WORD, _COMPOUND = re.compile(r"\w+"), re.compile(r"\w+(?:-\w+)*")
_DIVIDED = re.compile(rf"[\w-]*{HYPHEN}\n?\w*")


class Paragraph(NamedTuple):
    """The lines of a paragraph, or one row of a table."""

    lines: Sequence[PageLine]

    @property
    def size(self) -> float:
        """That of its type."""
        return self.lines[0].size

    @property
    def is_open(self) -> bool:
        """Whether its last line may go on elsewhere: it is long and ends no sentence."""
        last = self.lines[-1]
        return not last.is_row and len(last.text) >= MIN_WRAPPED and last.text[-1] not in _ENDS

    def is_continued_by(self, other: Paragraph) -> bool:
        """Whether another paragraph, further on, is the rest of this open one."""
        last, start = self.lines[-1], other.lines[0]
        if start.is_row or LIST_ITEM.match(start.text) or not is_same_size(last, start):
            return False
        if not start.text[0].isupper() or last.text.endswith(HYPHEN):
            return True
        widest = max(line.right for line in self.lines)
        is_above = start.baseline > last.baseline  # in the next column, or on the next page
        return is_above and len(self.lines) > 1 and last.right + start.first > widest


def split_paragraphs(lines: Sequence[PageLine]) -> list[Paragraph]:
    """The paragraphs of a page, each whole though others stand between its parts."""
    spaces = _usual_spaces(lines)
    found: list[list[PageLine]] = []
    for n, line in enumerate(lines):
        if not n or not _continues(lines, n, len(found[-1]), spaces):
            found.append([])
        found[-1].append(line)
    return _join_interrupted([Paragraph(one) for one in found])


def _usual_spaces(lines: Sequence[PageLine]) -> dict[int, float]:
    """The distance that most neighbouring lines have, by the size of their type."""
    counts: dict[int, Counter[float]] = {}
    for line, other in pairwise(lines):
        drop = line.baseline - other.baseline
        if 0 < drop < 3 * line.size and is_same_size(line, other):
            counts.setdefault(round(line.size), Counter())[round(2 * drop) / 2] += 1
    return {size: max(drops, key=lambda d: (drops[d], -d)) for size, drops in counts.items()}


def is_same_size(line: PageLine, other: PageLine) -> bool:
    return abs(line.size - other.size) <= SAME_SIZE * line.size


def _continues(lines: Sequence[PageLine], n: int, count: int, spaces: dict[int, float]) -> bool:
    """Whether a line goes on with the paragraph before it, which has `count` lines so far."""
    before, line = lines[n - 1], lines[n]
    is_apart = before.is_row or line.is_row or LIST_ITEM.match(line.text)
    if is_apart or not is_same_size(before, line):
        return False
    drop = before.baseline - line.baseline
    if before.text.endswith(HYPHEN):
        return True
    if len(before.text) < MIN_WRAPPED or before.right + line.first <= _margin_at(lines, n - 1):
        return False
    if drop <= 0 or before.right < line.left or line.right < before.left:  # in the next column
        return before.text[-1] not in _ENDS or line.text[0].islower()
    if drop > MIN_SPACE * spaces.get(round(line.size), drop):
        return False
    return not _is_indented(lines, n, count)


def _margin_at(lines: Sequence[PageLine], n: int) -> float:
    """Where the column of a line ends: where three lines near by do, or the longest of them."""
    line = lines[n]
    near = lines[max(0, n - NEIGHBOURS) : n + NEIGHBOURS + 1]
    ends = sorted(
        other.right
        for other in near
        if is_same_size(line, other)
        and not other.is_row
        and abs(other.left - line.left) < MAX_INDENT * line.size
    )
    if len(ends) < 2:
        return math.inf
    thirds = zip(ends[-3::-1], ends[::-1], strict=False)  # each end with the second after it
    return next((end for third, end in thirds if end - third < line.size / 2), ends[-1])


def _is_indented(lines: Sequence[PageLine], n: int, count: int) -> bool:
    """Whether a line begins a paragraph by its indent: the lines of an item hang below it."""
    before, line = lines[n - 1], lines[n]
    if line.left - before.left <= MIN_INDENT * line.size:
        return False
    if count > 1:
        return True
    after = lines[n + 1] if n + 1 < len(lines) else line
    hangs = abs(after.left - line.left) <= MIN_INDENT * line.size
    return not (hangs or LIST_ITEM.match(before.text))


def _join_interrupted(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """Each open paragraph with its rest, behind footnotes, captions and what else is between."""
    found = list(paragraphs)
    n = 0
    while n < len(found):
        rest = _find_rest(found, n) if found[n].is_open else None
        if rest is None:
            n += 1
        else:
            found[n] = Paragraph([*found[n].lines, *found.pop(rest).lines])
    return found


def _find_rest(paragraphs: Sequence[Paragraph], n: int) -> int | None:
    """The index of the rest of an open paragraph. Only what is in other type may be between."""
    last = paragraphs[n].lines[-1]
    for i, other in enumerate(paragraphs[n + 1 :][:LOOKED_AHEAD], n + 1):
        if paragraphs[n].is_continued_by(other):
            return i
        if is_same_size(last, other.lines[0]):
            break
    return None


class TextJoiner:
    """Makes a text of paragraphs; the words read so far tell which hyphens are part of a word."""

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._lines = self._divided = 0

    def learn(self, lines: Sequence[PageLine]) -> None:
        """Remember the words of a page, except those that are divided at the end of a line."""
        text = "\n".join(line.text for line in lines)
        self._lines += len(lines)
        self._divided += text.count(HYPHEN)
        self._words.update(_COMPOUND.findall(_DIVIDED.sub(" ", text).casefold()))

    def join(self, paragraph: Paragraph) -> str:
        """The text of a paragraph on one line."""
        text = paragraph.lines[0].text
        for before, line in pairwise(paragraph.lines):
            if text.endswith(HYPHEN):
                keeps = self._keeps_hyphen(text, line.text)
                text = text[:-1] + ("-" if keeps else "") + line.text
            else:
                text += find_joint(before, line) + line.text
        return text.replace(HYPHEN, "-").replace(CELL_BREAK, " | ")

    def _keeps_hyphen(self, left: str, right: str) -> bool:
        """Whether a hyphen at the end of a line is one within it too, as in singer-songwriter."""
        start = re.search(r"\w*$", left[:-1])
        end = _WORD.match(right)
        if not start or not end or not start[0].isalpha() or not right[0].islower():
            return True
        one, other = start[0].casefold(), end[0].casefold()
        if one + other in self._words:
            return False
        if f"{one}-{other}" in self._words:
            return True
        goes_on = right[end.end() :][:1] == "-"  # third-highest-ranked
        if self._divided > MIN_DIVIDED * self._lines:
            return goes_on and one in self._words
        return goes_on or left[: start.start()][-1:] == "-" or {one, other} <= self._words


def find_joint(line: PageLine, other: PageLine) -> str:
    """What joins two lines: a space, except after a hyphen or between unspaced characters."""
    left, right = line.text[-1], other.text[0]
    if left == "-" and right.islower():
        return ""
    is_unspaced = _UNSPACED_CHAR.match(left) and _UNSPACED_CHAR.match(right)
    return "" if is_unspaced and not line.has_blank else " "
