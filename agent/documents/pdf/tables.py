"""The tables of a page of a PDF: lines one below the other, whose cells stand in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from agent.documents.pdf.lines import CELL_BREAK, PageLine

MAX_BETWEEN = 2  # lines with one cell between two rows: parts of a cell that has several
MAX_DROP = 3.0  # heights of type from one row to the next
MAX_HEAD, MAX_HEAD_LINES = 5.0, 20  # heights of type that a head takes, and lines with parts of it
MAX_BEYOND = 3.0  # heights of type that a part of a head stands out of the columns, on each side
MAX_WIDTH = 0.6  # of a table, that a part of its head has
MAX_SPACE = 2.0  # heights of type from one line of prose to the next
WRAPPED = 0.8  # of the usual distance of rows: what is nearer goes on with the row above

LARGE = 1.2  # times the size of a table, that a heading below it has

Span = tuple[float, float]


def align_cells(lines: Sequence[PageLine]) -> Iterator[PageLine]:
    """The lines with each cell of a table at the place of its column. A row alone is none."""
    lines = list(_find_rows(lines))
    at = 0
    for head, start, end in _find_tables(lines):
        yield from map(_join_cells, lines[at:head])
        yield from _align(lines[head:start], lines[start:end])
        at = end
    yield from map(_join_cells, lines[at:])


def _find_rows(lines: Sequence[PageLine]) -> Iterator[PageLine]:
    """The lines, those as rows whose words stand one by one below the cells of the row above."""
    above: tuple[Span, ...] = ()
    for line in lines:
        is_below = [[n] for n in range(len(above))] == [
            _find_own(cell, above) for cell in line.stretched[1]
        ]
        row = _stretch(line) if above and is_below else line
        above = row.cells if row.is_row else ()
        yield row


def _stretch(line: PageLine) -> PageLine:
    """A line that looks like words between margins, as the row of a table that it is."""
    text, cells = line.stretched
    return line._replace(text=text, cells=cells) if text else line


def _join_cells(line: PageLine) -> PageLine:
    return line._replace(text=line.text.replace(CELL_BREAK, " "))


def _find_tables(lines: Sequence[PageLine]) -> Iterator[tuple[int, int, int]]:
    """Where the head of each table begins, its rows, and what is behind it."""
    start = after = 0
    while start < len(lines):
        end = _find_end(lines, start)
        if end - start > 1:
            head = _find_head(lines, after, start, end)
            yield head, start, end
            after = end
        start = end


def _find_end(lines: Sequence[PageLine], start: int) -> int:
    """Behind the last row of the table that begins with a line; the next line where none does."""
    end = start + 1
    for n in range(start + 1, len(lines)) if lines[start].is_row else ():
        drop = lines[n - 1].baseline - lines[n].baseline
        size = min(lines[n - 1].size, lines[n].size)
        is_heading = not lines[n].is_row and lines[n].size > LARGE * lines[start].size
        if is_heading or n - end > MAX_BETWEEN or not 0 < drop < MAX_DROP * size:
            break
        if lines[n].is_row:
            end = n + 1
    return end


def _find_head(lines: Sequence[PageLine], after: int, start: int, end: int) -> int:
    """Where the lines begin that are parts of the head of a table, in whatever order they are."""
    left = min(line.left for line in lines[start:end])
    right = max(line.right for line in lines[start:end])
    top = lines[start].baseline
    head = start
    while head > max(after, start - MAX_HEAD_LINES):
        line = lines[head - 1]
        is_above = -line.size / 2 < line.baseline - top < MAX_HEAD * line.size
        beyond = MAX_BEYOND * line.size
        is_inside = left - beyond < line.left and line.right < right + beyond
        is_short = max(b - a for a, b in line.cells) < MAX_WIDTH * (right - left)
        if not (is_above and is_inside and is_short):
            break
        head -= 1
    while after < head < start and _is_wrapped(lines[head - 1], lines[head], right - left):
        head += 1
    return head


def _is_wrapped(line: PageLine, other: PageLine, width: float) -> bool:
    """Whether a line is the rest of a wide one above it, which is prose."""
    is_wide = line.right - line.left > MAX_WIDTH * width and not line.is_row
    is_below = 0 < line.baseline - other.baseline < MAX_SPACE * line.size
    return is_wide and is_below and abs(line.left - other.left) < line.size


def _align(head: Sequence[PageLine], rows: Sequence[PageLine]) -> Iterator[PageLine]:
    columns = _find_columns(rows)
    if not columns:
        yield from (*head, *rows)
        return
    counts = Counter(len(line.cells) for line in rows if line.is_row)
    usual = max(counts, key=lambda count: (counts[count], -count))
    first = next(n for n, line in enumerate(rows) if len(line.cells) >= usual)
    above = sorted((*head, *rows[:first]), key=lambda line: -line.baseline)
    if above:
        names = [""] * len(columns)
        for part in above:
            own = [_find_own(cell, columns) for cell in part.stretched[1]]
            line = _stretch(part) if all(len(one) == 1 for one in own) else part
            for n, text in _place_cells(line, columns, is_head=True):
                names[n] = f"{names[n]} {text}".strip()
        yield above[0]._replace(text=CELL_BREAK.join(names))
    yield from _join_wrapped(rows[first:], columns)


def _join_wrapped(rows: Sequence[PageLine], columns: Sequence[Span]) -> Iterator[PageLine]:
    """The rows, each with what stands close below it and has nothing in the first column."""
    texts: list[list[str]] = []
    for line in rows:
        texts.append([""] * len(columns))
        for n, text in _place_cells(line, columns, is_head=False):
            texts[-1][n] = f"{texts[-1][n]} {text}".strip()
    drops = [0.0, *(a.baseline - b.baseline for a, b in pairwise(rows))]
    whole = [drop for drop, row in zip(drops[1:], texts[1:], strict=True) if row[0]]
    kept: list[int] = []
    for n, row in enumerate(texts):
        if kept and not row[0] and whole and drops[n] < WRAPPED * median(whole):
            pairs = zip(texts[kept[-1]], row, strict=True)
            texts[kept[-1]] = [" ".join(filter(None, pair)) for pair in pairs]
        else:
            kept.append(n)
    yield from (rows[n]._replace(text=CELL_BREAK.join(texts[n])) for n in kept)


def _find_columns(rows: Sequence[PageLine]) -> list[Span]:
    """Where the columns stand: by the rows with most cells, then by what stands beside those."""
    columns: list[Span] = []
    for line in sorted(rows, key=lambda one: -len(one.cells)):
        for cell in line.cells:
            own = _find_own(cell, columns)
            if len(own) == 1:
                start, end = columns[own[0]]
                columns[own[0]] = min(cell[0], start), max(cell[1], end)
            elif not own:
                columns.append(cell)
    columns.sort()
    is_apart = all(one[1] <= other[0] for one, other in pairwise(columns))
    return columns if is_apart and len(columns) > 1 else []


def _find_own(cell: Span, columns: Sequence[Span]) -> list[int]:
    """The columns that a cell stands in."""
    return [n for n, (start, end) in enumerate(columns) if cell[0] < end and start < cell[1]]


def _place_cells(
    line: PageLine, columns: Sequence[Span], *, is_head: bool
) -> Iterator[tuple[int, str]]:
    """The cells of a line, each with the column where it begins; of a head, with all it is over."""
    for text, cell in zip(line.text.split(CELL_BREAK), line.cells, strict=False):
        middle = sum(cell) / 2
        near = min(range(len(columns)), key=lambda n: abs(sum(columns[n]) / 2 - middle))
        own = _find_own(cell, columns) or [near]
        yield from ((n, text) for n in (own if is_head else own[:1]))
