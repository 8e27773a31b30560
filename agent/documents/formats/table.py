"""Rows of a table as lines: cells joined by ` | `, with the names of their columns if it has some.

A row of a sheet is found and quoted by itself, far from the head of its table. So each cell says
which column it is of: `Item: Tea | Price: 3.50`.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

Row = tuple[int, Sequence[str]]  # its number in the table, from 1, and its cells

MAX_COLUMNS = 16_384  # as many as a sheet of Excel has
MAX_NAME = 60  # characters of the name of a column
LOOKED_AT = 20  # rows that tell whether the first of them is a head

_VALUE = re.compile(r"[-+(]?\s*[$€£¥₹]?\s*[\d.,]*\d")
_YEAR = re.compile(r"(?:19|20)\d\d")


def join_cells(cells: Iterable[str]) -> str:
    """The cells of a row on one line, without the empty ones at its end."""
    shown = [" ".join(cell.split()) for cell in cells]
    while shown and not shown[-1]:
        shown.pop()
    return " | ".join(shown)


def name_cells(cells: Sequence[str], names: Sequence[str]) -> str:
    """The cells of a row on one line, each behind the name of its column, without empty ones."""
    shown = []
    for n, cell in enumerate(cells):
        if text := " ".join(cell.split()):
            name = names[n] if n < len(names) else ""
            shown.append(f"{name}: {text}" if name else text)
    return " | ".join(shown)


def format_rows(rows: Iterable[Row]) -> Iterator[tuple[int, str]]:
    """The number and the line of each row. A row that is left out ends a table.

    The first row of a table is its head where that is plain: see `find_head`.
    """
    rest = iter(rows)
    ahead = deque(islice(rest, LOOKED_AT))
    is_first = True
    while ahead:
        if _is_caption(ahead[0][1]):
            number, cells = ahead.popleft()
            yield number, join_cells(cells)
            ahead.extend(islice(rest, 1))
            continue
        names = find_head([cells for _, cells in _until_gap(ahead)], is_first=is_first)
        is_first = False
        is_head = True
        number = ahead[0][0]
        while ahead and ahead[0][0] == number:
            _, cells = ahead.popleft()
            yield number, name_cells(cells, names) if names and not is_head else join_cells(cells)
            ahead.extend(islice(rest, 1))
            is_head = False
            number += 1


def _is_caption(cells: Sequence[str]) -> bool:
    """Whether a row has one cell alone, as the line above a table."""
    return sum(bool(cell.strip()) for cell in cells) < 2


def _until_gap(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows up to the first number that is left out."""
    expected = None
    for row in rows:
        if expected is not None and row[0] != expected:
            return
        expected = row[0] + 1
        yield row


def find_head(rows: Sequence[Sequence[str]], *, is_first: bool) -> Sequence[str]:
    """The names of the columns, if the first row has them; else nothing.

    It has where its cells are short texts that differ, and where a column below has values. A table
    of texts alone has a head only if it is the first and has three columns: of two columns each
    row may be a name and its value.
    """
    if len(rows) < 2:
        return ()
    names, body = [" ".join(cell.split()) for cell in rows[0]], rows[1:]
    filled = [n for n, name in enumerate(names) if name]
    if len(filled) < 2 or not all(_is_name(names[n]) for n in filled):
        return ()
    if max(Counter(names[n] for n in filled).values()) > 1 or _YEAR.fullmatch(names[filled[0]]):
        return ()
    widest = max(len([cell for cell in row if cell.strip()]) for row in body)
    if widest < 2 or widest > len(filled) + 2:
        return ()
    has_values = any(_holds_values(body, n) for n in filled)
    return names if has_values or (is_first and len(filled) > 2) else ()


def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and (not _VALUE.match(text) or bool(_YEAR.fullmatch(text)))


def _holds_values(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether most cells of a column that are not empty begin with a number."""
    cells = [row[column].strip() for row in rows if column < len(row) and row[column].strip()]
    return bool(cells) and sum(bool(_VALUE.match(cell)) for cell in cells) * 2 > len(cells)
