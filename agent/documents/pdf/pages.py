"""The text of the pages of a PDF: what goes on from page to page, and what is on each of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from agent.documents.formats.table import format_lines
from agent.documents.pdf.lines import HYPHEN, PageLine
from agent.documents.pdf.paragraphs import (
    LOOKED_AHEAD,
    Paragraph,
    TextJoiner,
    find_joint,
    is_same_size,
    split_paragraphs,
)
from agent.documents.pdf.tables import align_cells

MARGIN_LINES = 2  # at the top and the bottom of a page, where its head and its number may be
MIN_LINES = 6  # of a page that has a head or foot
MIN_APART = 2.5  # sizes of the type between the text and a head or foot that stands apart
MAX_WIDTH = 0.7  # of the widest line, that a head or foot has
MAX_APART = 2  # pages from one head to the next: left and right pages may differ
_NUMBER = re.compile(r"\d{1,3}(?!\d)")


class PageText(NamedTuple):
    """The text of a page, and what is between it and the page before."""

    text: str
    joint: str


class PageJoiner:
    """Joins the pages of a document one by one, in their order."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._texts = TextJoiner()
        self._open: Paragraph | None = None  # the last one of the page before, if it may go on
        self._divided: list[PageLine] = []  # the last line of the page before, if it ends in a word
        self._margins: dict[str, int] = {}  # lines of heads and feet, with the page of the last

    def add(self, lines: Sequence[PageLine], number: int) -> PageText:
        """The text of a page: a head or foot first, unless the pages before have it too.

        A line that ends within a word is part of the next page.
        """
        self._texts.learn(lines)
        margins = _find_margins(lines)
        known = {line for line in margins if not self._is_new_margin(line, number)}
        apart = [line for line, is_apart in margins.items() if is_apart and line not in known]
        inside = [line for line in lines if line not in known and line not in apart]
        heads = [Paragraph([line]) for line in apart]
        paragraphs = [*heads, *split_paragraphs([*self._divided, *align_cells(inside)])]
        joint = self._begin_with_rest(paragraphs)
        _end_with_open(paragraphs)
        self._divided = self._cut_divided(paragraphs) if number < self._count else []
        self._open = paragraphs[-1] if paragraphs and paragraphs[-1].is_open else None
        texts: list[str] = []
        for one in paragraphs:  # an empty line parts two tables
            texts += [""] * one.lines[0].is_head + [self._texts.join(one)]
        return PageText("\n".join(filter(None, format_lines(texts))), joint)

    def _is_new_margin(self, line: PageLine, number: int) -> bool:
        """Whether a head or foot says something else than those of the pages before."""
        known = _NUMBER.sub(lambda match: f"{int(match[0]) - number:+d}", line.text)
        last = self._margins.get(known, -MAX_APART)
        self._margins[known] = number
        bare = re.fullmatch(rf"(?i)(?:page )?{number}(?: ?(?:of|/) ?\d+)?", line.text)
        return number - last > MAX_APART and not bare  # the number of the page and nothing else

    @staticmethod
    def _cut_divided(paragraphs: list[Paragraph]) -> list[PageLine]:
        """Take away the last lines of the last paragraph that end within a word."""
        if not paragraphs:
            return []
        lines = paragraphs.pop().lines
        kept = max((n for n, line in enumerate(lines, 1) if line.text[-1] != HYPHEN), default=0)
        paragraphs += [Paragraph(lines[:kept])] if kept else []
        return list(lines[kept:])

    def _begin_with_rest(self, paragraphs: list[Paragraph]) -> str:
        """Move the rest of the page before to the beginning, from behind a head; its joint."""
        if self._open is None:
            return "\n"
        for n, paragraph in enumerate(paragraphs[:LOOKED_AHEAD]):
            if self._open.is_continued_by(paragraph):
                paragraphs.insert(0, paragraphs.pop(n))
                return find_joint(self._open.lines[-1], paragraph.lines[0])
            if is_same_size(self._open.lines[0], paragraph.lines[0]) and len(paragraph.lines) > 1:
                break
        return "\n"


def _find_margins(lines: Sequence[PageLine]) -> dict[PageLine, bool]:
    """The lines that may be heads and feet, and whether they stand apart from the text."""
    if len(lines) < MIN_LINES:
        return {}
    body = _body_size(lines)
    width = max(line.right - line.left for line in lines)
    down = sorted(lines, key=lambda line: -line.baseline)
    found: dict[PageLine, bool] = {}
    for order in (down, down[::-1]):
        for n, line in enumerate(order[:MARGIN_LINES]):
            is_long = line.right - line.left > MAX_WIDTH * width
            if is_long or line.is_row or line.size > 1.1 * body or line.text[-1] in ".!?":
                break
            is_apart = abs(line.baseline - order[n + 1].baseline) > MIN_APART * body
            if is_apart or n == 0:
                found |= dict.fromkeys(order[: n + 1], is_apart)
    return found


def _body_size(lines: Sequence[PageLine]) -> float:
    """The size of the type of most characters."""
    counts: Counter[float] = Counter()
    for line in lines:
        counts[line.size] += len(line.text)
    return max(counts, key=lambda size: counts[size], default=0.0)


def _end_with_open(paragraphs: list[Paragraph]) -> None:
    """Move a last paragraph that may go on overleaf behind the footnotes, which are smaller."""
    body = _body_size([line for one in paragraphs for line in one.lines])
    large = [n for n, one in enumerate(paragraphs) if one.size >= 0.95 * body]
    last = paragraphs[large[-1]] if large else None
    if last and last.is_open and abs(last.size - body) < 0.05 * body:
        paragraphs.append(paragraphs.pop(large[-1]))
