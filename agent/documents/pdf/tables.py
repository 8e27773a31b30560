"""The tables of a page of a PDF: lines one below the other, whose cells stand in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from agent.documents.formats.table import MAX_NAME, is_name
from agent.documents.pdf.heads import Span, find_nearest, find_own, read_head
from agent.documents.pdf.lines import CELL_BREAK, PageLine

MAX_BETWEEN = 2  # lines with one cell between two rows: parts of a cell that has several
MAX_DROP = 3.0  # heights of type from one row to the next
MAX_HEAD, MAX_HEAD_LINES = 5.0, 20  # heights of type that a head takes, and lines with parts of it
MAX_BEYOND = 3.0  # heights of type that a part of a head stands out of the columns, on each side
MAX_WIDTH = 0.6  # of a table, that a part of its head has
MAX_SPACE = 2.0  # heights of type from one line of prose to the next
WRAPPED = 0.8  # of the usual distance of rows: what is nearer goes on with the row above

LARGE = 1.2  # times the size of a table, that a heading below it has


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
            find_own(cell, above) for cell in line.stretched[1]
        ]
        row = _stretch(line) if above and is_below else line
        above = row.cells if row.is_row else ()
        yield row


def _stretch(line: PageLine) -> PageLine:
    """A line that looks like words between margins, as the row of a table that it is."""
    text, cells = line.stretched
    return line._replace(text=text, cells=cells) if text else line


def _stretch_over(line: PageLine, columns: Sequence[Span]) -> PageLine:
    """The line as a row, if each of its cells is in one column."""
    own = [find_own(cell, columns) for cell in line.stretched[1]]
    return _stretch(line) if all(len(one) == 1 for one in own) else line


def _join_cells(line: PageLine) -> PageLine:
    return line._replace(text=line.text.replace(CELL_BREAK, " "))


def _find_tables(lines: Sequence[PageLine]) -> Iterator[tuple[int, int, int]]:
    """Where the head of each table begins, its first whole row, and what is behind it."""
    start = after = 0
    while start < len(lines):
        end = _find_end(lines, start)
        if end - start > 1:
            counts = Counter(len(line.cells) for line in lines[start:end] if line.is_row)
            usual = max(counts, key=lambda count: (counts[count], -count))
            first = next(n for n in range(start, end) if len(lines[n].cells) >= usual)
            yield _find_head(lines, after, start, first, end), first, end
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


def _find_head(lines: Sequence[PageLine], after: int, start: int, first: int, end: int) -> int:
    """Where the lines begin that are parts of the head of a table, in whatever order they are."""
    left = min(line.left for line in lines[start:end])
    right = max(line.right for line in lines[start:end])
    most = max(len(line.cells) for line in lines[start:end])
    head = start
    while head > max(after, start - MAX_HEAD_LINES):
        line = lines[head - 1]
        top = lines[first if line.baseline < lines[start].baseline else start].baseline
        is_above = -line.size / 2 < line.baseline - top < MAX_HEAD * line.size
        beyond = MAX_BEYOND * line.size
        is_inside = left - beyond < line.left and line.right < right + beyond
        is_names = len(line.stretched[1]) <= most and _is_head(_stretch(line))
        widest = max(b - a for a, b in (_stretch(line) if is_names else line).cells)
        if not (is_above and is_inside and widest < MAX_WIDTH * (right - left)):
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
    has_own = len(rows) > 1 and _is_head(rows[0]) and _has_values(rows[1])
    columns = _find_columns(rows[has_own:])
    if has_own and len(columns) < len(rows[0].cells):
        columns = _find_columns(rows)
    if not columns:
        yield from (*head, *rows)
        return
    if head or has_own:
        lines = [_stretch_over(line, columns) for line in (*head, *rows[:has_own])]
        names, used = read_head(lines, columns)
        captions = [line for line in lines if line not in used]
        yield from map(_join_cells, captions)
        yield used[0]._replace(text=CELL_BREAK.join(names), is_head=all(map(is_name, names)))
    yield from _join_wrapped(rows[has_own:], columns)


def _is_head(row: PageLine) -> bool:
    return row.is_row and all(map(is_name, row.text.split(CELL_BREAK)))


def _has_values(row: PageLine) -> bool:
    cells = row.text.split(CELL_BREAK)[1:]
    return any(len(cell) <= MAX_NAME and not is_name(cell) for cell in cells)


def _join_wrapped(rows: Sequence[PageLine], columns: Sequence[Span]) -> Iterator[PageLine]:
    """The rows, each with what stands close below it and has nothing in the first column."""
    texts = [_place_cells(line, columns) for line in rows]
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
            own = find_own(cell, columns)
            if len(own) == 1:
                start, end = columns[own[0]]
                columns[own[0]] = min(cell[0], start), max(cell[1], end)
            elif not own:
                columns.append(cell)
    columns.sort()
    is_apart = all(one[1] <= other[0] for one, other in pairwise(columns))
    return columns if is_apart and len(columns) > 1 else []


def _place_cells(line: PageLine, columns: Sequence[Span]) -> list[str]:
    """The cells of a row, each in the column where it begins."""
    row = [""] * len(columns)
    for text, cell in zip(line.text.split(CELL_BREAK), line.cells, strict=False):
        n = (find_own(cell, columns) or find_nearest(cell, columns))[0]
        row[n] = f"{row[n]} {text}".strip()
    return row
