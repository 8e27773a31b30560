"""The head of a table of a PDF: what stands above several columns is part of the name of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations

from agent.documents.pdf.lines import CELL_BREAK, PageLine

MAX_GROUPED = 30  # columns that have heads in common
MAX_DRIFT = 8  # quarters of the size of type that a cell stands from its place

Span = tuple[float, float]
Group = tuple[int, int]  # the first of some columns, and what is behind the last
#: How far cells stand from the places of their groups, how few columns those are, how uneven.
_Cover = tuple[int, int, int, tuple[Group, ...]]
#: Where a cell may stand above the first to the last of some columns: in their middle, where they
#: begin, where they end.
_PLACES: Sequence[Callable[[Span, Span], float]] = (
    lambda first, last: (sum(first) + sum(last)) / 4,
    lambda first, _: first[0],
    lambda _, last: last[1],
)


def read_head(
    lines: Sequence[PageLine], columns: Sequence[Span]
) -> tuple[list[str], list[PageLine]]:
    """The names of columns, each from the top, and the lines that have them.

    What stands over the first column alone, where all have a name, is a caption.
    """
    names, places, used = [""] * len(columns), list(columns), list[PageLine]()
    size = max(line.size for line in lines) / 4
    for level in _find_levels(lines):
        placed = (zip(line.cells, line.text.split(CELL_BREAK), strict=False) for line in level)
        cells, texts = zip(*sorted(chain.from_iterable(placed)), strict=True)
        own = [find_own(cell, columns) for cell in cells]
        if len(cells) == len(columns) and all(n in (of or [n]) for n, of in enumerate(own)):
            own = [[n] for n in range(len(columns))]
        own = [of or find_nearest(cell, columns) for of, cell in zip(own, cells, strict=True)]
        if all(names) and len(cells) == 1 and 0 in own[0]:
            break
        over = [n for n, of in enumerate(own) if len(of) > 1 or names[of[0]]]
        told = [name for name in _write_above(names, texts, own) if name]
        is_plain = len({*told}) == len(told) and all(
            len(own[n]) == 1 and _is_above(cells[n], places[own[n][0]], size) for n in over
        )
        if over and not is_plain:
            named = [n for n, name in enumerate(names) if name and (n or 0 in own[over[0]])]
            groups = _find_groups([cells[n] for n in over], [places[n] for n in named], size)
            for n, (start, end) in zip(over, groups, strict=False):
                own[n] = named[start:end]
        for cell, of in zip(cells, own, strict=True):
            if len(of) == 1 and not names[of[0]]:
                places[of[0]] = cell
        names = _write_above(names, texts, own)
        used += level
    return names, used


def find_own(cell: Span, columns: Sequence[Span]) -> list[int]:
    """The columns that a cell stands in."""
    return [n for n, (start, end) in enumerate(columns) if cell[0] < end and start < cell[1]]


def find_nearest(cell: Span, columns: Sequence[Span]) -> list[int]:
    """The column whose middle is nearest to that of a cell."""
    return [min(range(len(columns)), key=lambda n: abs(sum(columns[n]) - sum(cell)))]


def _find_levels(lines: Sequence[PageLine]) -> Iterator[list[PageLine]]:
    """The lines side by side, the lowest first."""
    level: list[PageLine] = []
    for line in sorted(lines, key=lambda line: line.baseline):
        if level and line.baseline - level[-1].baseline > line.size / 2:
            yield level
            level = []
        level.append(line)
    yield level


def _write_above(
    names: Sequence[str], texts: Sequence[str], own: Sequence[Sequence[int]]
) -> list[str]:
    """The names with the texts above them."""
    told = list(names)
    for text, columns in reversed(list(zip(texts, own, strict=True))):
        for n in columns:
            told[n] = f"{text} {told[n]}".strip()
    return told


def _is_above(cell: Span, column: Span, size: float) -> bool:
    return any(abs(at(cell, cell) - at(column, column)) <= 2 * size for at in _PLACES)


def _find_groups(cells: Sequence[Span], columns: Sequence[Span], size: float) -> Sequence[Group]:
    """The columns that each cell of a head is over.

    All cells stand in the middle of what they are over, or all where that begins, or where it ends.
    Of what fits as well, what covers most and is most even. None where nothing fits.
    """
    return min(_cover(cells[:MAX_GROUPED], columns[:MAX_GROUPED], size, at) for at in _PLACES)[-1]


def _cover(
    cells: Sequence[Span],
    columns: Sequence[Span],
    size: float,
    at: Callable[[Span, Span], float],
) -> _Cover:
    best: dict[int, _Cover] = {0: (0, 0, 0, ())}
    for cell in cells:
        known, best = best, {}
        for start, end in combinations(range(len(columns) + 1), 2):
            drift = round(abs(at(cell, cell) - at(columns[start], columns[end - 1])) / size)
            width = end - start
            for free, (drifts, left, uneven, groups) in known.items() if drift < MAX_DRIFT else ():
                if free <= start:
                    group = (*groups, (start, end))
                    one = drifts + drift, left - width, uneven + width**2, group
                    best[end] = min(best.get(end, one), one)
    return min(best.values(), default=(MAX_DRIFT * len(cells), 0, 0, ()))
