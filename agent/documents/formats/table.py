"""Rows of a table as lines: cells joined by ` | `, with the names of their columns if it has some.

A row of a sheet is found and quoted by itself, far from the head of its table. So each cell says
which column it is of: `Item: Tea | Price: 3.50`.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice, takewhile, zip_longest

from agent.documents.body_text import PlacedText

Row = tuple[int, Sequence[str]]  # its number in the table, from 1, and its cells
Sheet = tuple[str, Iterable[Row]]  # its name and its rows
HIDDEN = " (hidden)"  # behind the name of what is not shown

MAX_COLUMNS = 16_384  # as many as a sheet of Excel has
MAX_NAME = 60  # characters of the name of a column
LOOKED_AT = 20  # rows that tell whether the first of them is a head

_VALUE = re.compile(r"[-+(]?\s*[$€£¥₹]?\s*[\d.,]*\d")
_YEAR = re.compile(r"(?:19|20)\d\d")


def add_sheets(text: PlacedText, sheets: Iterable[Sheet]) -> None:
    """Add the rows of sheets."""
    for name, rows in sheets:
        text.add(name, f"sheet {name}")
        add_rows(text, rows, f"sheet {name}, row")


def add_rows(text: PlacedText, rows: Iterable[Row], place: str) -> None:
    """Add the rows of a table, each at its number."""
    for number, line in format_rows(rows):
        text.add_line(line, place, number)
        if text.is_full:
            break


def join_cells(cells: Iterable[str]) -> str:
    """The cells of a row on one line, without the empty ones at its end."""
    shown = [" ".join(cell.split()) for cell in cells]
    last = max((n for n, cell in enumerate(shown, 1) if cell), default=0)
    return " | ".join(shown[:last])


def name_cells(cells: Sequence[str], names: Sequence[str]) -> str:
    """The cells of a row on one line, each behind the name of its column, without empty ones."""
    texts = [" ".join(cell.split()) for cell in cells]
    named = zip_longest(texts, names[: len(texts)], fillvalue="")
    return " | ".join(f"{name}: {text}" if name else text for text, name in named if text)


def format_rows(rows: Iterable[Row]) -> Iterator[tuple[int, str]]:
    """The number and the line of each row. A row that is left out ends a table.

    The first row of a table is its head where that is plain: see `find_head`.
    """
    rest = iter(rows)
    ahead = deque(islice(rest, LOOKED_AT))
    is_first = True
    while ahead:
        is_caption = sum(bool(cell.strip()) for cell in ahead[0][1]) < 2
        names = () if is_caption else find_head(_until_gap(ahead), is_first=is_first)
        is_first = is_first and is_caption
        number = start = ahead[0][0]
        while ahead and ahead[0][0] == number:
            _, cells = ahead.popleft()
            is_named = names and number > start
            yield number, name_cells(cells, names) if is_named else join_cells(cells)
            ahead.extend(islice(rest, 1))
            number += 1
            if is_caption:
                break


def _until_gap(rows: Sequence[Row]) -> list[Sequence[str]]:
    """The cells of the rows up to the first number that is left out."""
    counted = zip(rows, count(rows[0][0]), strict=False)
    return [cells for (_, cells), _ in takewhile(lambda one: one[0][0] == one[1], counted)]


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
    columns = ([row[n].strip() for row in body if n < len(row)] for n in filled)
    told = (list(filter(None, column)) for column in columns)
    # most of the cells of a column are values
    has_values = any(2 * sum(map(bool, map(_VALUE.match, one))) > len(one) for one in told)
    return names if has_values or (is_first and len(filled) > 2) else ()


def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and (not _VALUE.match(text) or bool(_YEAR.fullmatch(text)))
