"""The model of a table: a grid of cells with spans and heads, written as lines of text.

A row is quoted far from the head of its table, so each cell names its column: `Item: Tea | Sum: 3`.
A head of several rows is joined: `2024 Actual: 614`. Of a table of more than `LONG` rows only the
head has the names.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import count, groupby, islice, takewhile, zip_longest
from typing import NamedTuple

from agent.documents.body_text import CELL, PlacedText

Row = tuple[int, Sequence[str]]  # its number in the table, from 1, and its cells
HIDDEN = " (hidden)"  # behind the name of what is not shown

MAX_COLUMNS = 16_384  # as many as a sheet of Excel has
MAX_SPAN = 1000  # columns or rows that a cell goes over
MAX_NAME = 60  # characters of the name of a column
MAX_HEADS = 4  # rows of a head
LONG = 1000  # rows of a table whose columns are named in each of them
LOOKED_AT = 20  # rows from which the head is detected

_VALUE = re.compile(r"[-+(]?\s*[$€£¥₹]?\s*[\d.,]*\d")
_BARE = re.compile(rf"{_VALUE.pattern}\s*[%$€£¥₹]?\)?")
_YEAR = re.compile(r"(?:19|20)\d\d")


class Sheet(NamedTuple):
    """A sheet. What of it is hidden is known once its rows are read; columns count from 0."""

    name: str
    rows: Iterable[Row]
    hidden_rows: Set[int] = frozenset()
    hidden_columns: Set[int] = frozenset()


class TableCell(NamedTuple):
    """A cell of a table as its format has it, over so many columns and rows."""

    text: str
    columns: int = 1
    rows: int = 1
    is_head: bool = False


class Head(NamedTuple):
    """How many rows are the head of a table, and the names of its columns."""

    rows: int = 0
    names: Sequence[str] = ()


def add_sheets(text: PlacedText, sheets: Iterable[Sheet]) -> None:
    """Add the rows of sheets. The places of hidden rows say so, and the names of hidden columns."""
    for sheet in sheets:
        text.add(sheet.name, f"sheet {sheet.name}")
        add_rows(text, _mark_columns(sheet), f"sheet {sheet.name}, row", sheet.hidden_rows)


def _mark_columns(sheet: Sheet) -> Iterator[Row]:
    """The rows; the first cell of a hidden column is marked as hidden."""
    marked = set[int]()
    for number, cells in sheet.rows:
        new = {n for n in sheet.hidden_columns - marked if n < len(cells) and cells[n]}
        marked |= new
        yield number, [cell + HIDDEN * (n in new) for n, cell in enumerate(cells)] if new else cells


def add_rows(
    text: PlacedText, rows: Iterable[Row], place: str, hidden: Set[int] = frozenset()
) -> None:
    """Add the rows of a table, each at its number."""
    for number, line in format_rows(rows):
        name = f"{place.removesuffix('row')}hidden row" if number in hidden else place
        text.add_line(line, name, number)
        if text.is_full:
            break


def format_table(rows: Iterable[Sequence[TableCell]]) -> tuple[list[str], bool]:
    """The lines of a table, and whether its columns have names."""
    marked = list(rows)
    flagged = sum(1 for _ in takewhile(lambda row: all(cell.is_head for cell in row), marked))
    grid = list(expand_spans(marked))
    lines = [line for _, line in format_rows(enumerate(grid, 1), flagged)]
    return lines, lines != list(map(join_cells, grid))


def expand_spans(rows: Iterable[Sequence[TableCell]]) -> Iterator[list[str]]:
    """The texts of the rows as a grid: a cell that spans is at each place that it covers.

    One over a whole row is there once: it is a caption.
    """
    open_cells: dict[int, tuple[str, int]] = {}  # by column: what goes on below, for how many rows
    for row in rows:
        texts: dict[int, str] = {n: text for n, (text, left) in open_cells.items() if left > 0}
        below = {n: (text, left - 1) for n, (text, left) in open_cells.items() if left > 1}
        column = 0
        for cell in row:
            while column in texts:
                column += 1
            columns, down = max(cell.columns, 1), min(cell.rows, MAX_SPAN)
            covered = min(columns, MAX_SPAN, MAX_COLUMNS - column) if cell.text else 0
            for n in range(column, column + covered):
                texts[n] = cell.text
                below |= {n: (cell.text, down - 1)} if down > 1 else {}
            column += columns
        open_cells = below
        shown = [texts.get(n, "") for n in range(max(texts, default=-1) + 1)]
        is_caption = len(row) == 1 and row[0].columns >= len(shown) > 1
        yield shown[:1] if is_caption else shown


def join_cells(cells: Iterable[str]) -> str:
    """The cells of a row on one line, without the empty ones at its end."""
    shown = [" ".join(cell.split()) for cell in cells]
    last = max((n for n, cell in enumerate(shown, 1) if cell), default=0)
    return CELL.join(shown[:last])


def name_cells(cells: Sequence[str], names: Sequence[str]) -> str:
    """The cells of a row on one line, each behind the name of its column, without empty ones."""
    texts = [" ".join(cell.split()) for cell in cells]
    named = zip_longest(texts, names[: len(texts)], fillvalue="")
    return CELL.join(f"{name}: {text}" if name else text for text, name in named if text)


def format_rows(rows: Iterable[Row], flagged: int | None = None) -> Iterator[tuple[int, str]]:
    """The number and the line of each row. A row that is left out ends a table.

    The first rows of a table are its head where so many are `flagged`, or where that is plain: see
    `find_head`. None: a format that flags no rows.
    """
    rest = iter(rows)
    ahead = deque(islice(rest, LONG + MAX_HEADS))
    is_first = True
    while ahead:
        number, cells = ahead[0]
        is_caption = sum(bool(cell.strip()) for cell in cells) < 2
        near = _until_gap(islice(ahead, LOOKED_AT))
        head = Head() if is_caption else find_head(near, flagged, is_first=is_first)
        is_first = is_first and is_caption
        flagged = None if flagged is None else max(flagged - max(head.rows, 1), 0)
        is_long = len(ahead) > LONG and ahead[LONG][0] == number + LONG
        if head.rows:
            yield number, join_cells(head.names)
        names = () if is_long else head.names
        for row, cells in _take_table(ahead, rest, is_caption=is_caption):
            if row >= number + head.rows:
                yield row, name_cells(cells, names) if names else join_cells(cells)


def _take_table(ahead: deque[Row], rest: Iterator[Row], *, is_caption: bool) -> Iterator[Row]:
    """The rows up to the first number that is left out; a caption alone."""
    number = ahead[0][0]
    while ahead and ahead[0][0] == number:
        yield ahead.popleft()
        ahead.extend(islice(rest, 1))
        number += 1
        if is_caption:
            return


def _until_gap(rows: Iterable[Row]) -> list[Sequence[str]]:
    """The cells of the rows up to the first number that is left out."""
    near = list(rows)
    counted = zip(near, count(near[0][0]), strict=False)
    return [cells for (_, cells), _ in takewhile(lambda one: one[0][0] == one[1], counted)]


def find_head(
    rows: Sequence[Sequence[str]], flagged: int | None = None, *, is_first: bool = True
) -> Head:
    """The rows that name the columns: as many as are flagged, else one or two if that is plain.

    The cells of a head are short texts that differ, and a column below has values. A table of texts
    alone has a head only if it is the first and has three columns. Two columns, whose rows may be
    names with values, have one where the first has values below, or, in a format without flags,
    where the second has numbers alone. Two rows are a head where the second fills the gaps of the
    first.
    """
    if flagged and flagged < len(rows):
        names = join_heads(rows[:flagged])
        return Head(flagged, names) if _are_names(names, rows[flagged:]) else Head()
    if len(rows) > 2 and _has_gaps_filled(*rows[:2]):
        names = join_heads(rows[:2])
        if _are_names(names, rows[2:]) and any(map(_are_values, _take_columns(names, rows[2:]))):
            return Head(2, names)
    names = join_heads(rows[:1])
    is_unlike = len({*filter(None, names)}) == sum(map(bool, names))
    if not is_unlike or not _are_names(names, rows[1:]):
        return Head()
    columns = _take_columns(names, rows[1:])
    if len(columns) > 2:
        is_head = is_first or any(map(_are_values, columns))
    else:
        is_bare = flagged is None and all(map(_BARE.fullmatch, columns[-1]))
        is_head = is_bare or _are_values(columns[0])
    return Head(1, names) if is_head else Head()


def join_heads(rows: Sequence[Sequence[str]]) -> list[str]:
    """The names of columns: the texts above each, from the top, each text once.

    A gap in an upper row has the text to its left.
    """
    names = []
    for column in zip_longest(*map(_fill_gaps, rows[:-1]), *rows[-1:], fillvalue=""):
        texts = (" ".join(text.split()) for text in column)
        names.append(" ".join(dict.fromkeys(filter(None, texts))))
    return names


def _fill_gaps(row: Sequence[str]) -> Iterator[str]:
    last = ""
    for text in row:
        last = text if text.strip() else last
        yield last


def _has_gaps_filled(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Whether a row names groups of columns that the row below names: cells that span, or gaps."""
    texts = [text.strip() for text in (*upper, *lower) if text.strip()]
    pairs = list(zip_longest(upper, lower, fillvalue=""))
    spanned = any(
        one and (not two or one == two) and low and other and low != other
        for (one, low), (two, other) in zip(pairs, pairs[1:], strict=False)
    )
    return spanned and all(map(is_name, texts)) and not any(map(_YEAR.fullmatch, lower))


def _are_names(names: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    filled = [name for name, _ in groupby(filter(None, names))]  # one over two columns counts once
    if len(filled) < 2 or not body or not all(map(is_name, filled)):
        return False
    if max(Counter(filled).values()) > 1 or _YEAR.fullmatch(filled[0]):
        return False
    widest = max(len([cell for cell in row if cell.strip()]) for row in body)
    return 2 <= widest <= len(names) + 2


def _take_columns(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[list[str]]:
    filled = (n for n, name in enumerate(names) if name)
    columns = ((row[n].strip() for row in body if n < len(row)) for n in filled)
    return [list(filter(None, column)) for column in columns]


def _are_values(column: Sequence[str]) -> bool:
    return 2 * sum(map(bool, map(_VALUE.match, column))) > len(column)


def is_name(text: str) -> bool:
    """Whether a text may be the name of a column: a short one, and no value but a year."""
    return len(text) <= MAX_NAME and (not _VALUE.match(text) or bool(_YEAR.match(text)))
