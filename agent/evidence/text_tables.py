"""Tables in the text of a page: lines of cells with bars between them, below a heading row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

CELL = " | "  # between the cells of a row
LONG = 1000  # rows of a table whose heading row alone names the columns
LEAST = 4  # rows of a table that is worth a query
_NUMBER = re.compile(r"[-+]?[$€£¥]?\s?(?:\d{1,3}(?:[,\u202f\xa0 ]\d{3})+|\d+)(?:\.\d+)?\s?%?")
_NO_DIGIT = re.compile(r"[^\d.+-]")

Cells = tuple[str, ...]


class TextRow(NamedTuple):
    """A row, with its place in the text."""

    start: int
    end: int
    cells: Cells


class TextTable(NamedTuple):
    """The heading row, the columns as a query names them, and the rows."""

    heading: TextRow
    columns: Cells
    rows: tuple[TextRow, ...]

    def are_numbers(self, column: int) -> bool:
        """Whether each cell of a column that is not empty is a number."""
        cells = [row.cells[column] for row in self.rows if row.cells[column]]
        return bool(cells) and all(map(_NUMBER.fullmatch, cells))


def read_number(cell: str) -> float | None:
    """The number that a cell is, without its sign of money or share; None for an empty one."""
    return float(_NO_DIGIT.sub("", cell)) if cell else None


@lru_cache(maxsize=32)
def find_tables(text: str) -> tuple[TextTable, ...]:
    """The tables of a text that have a heading row."""
    return tuple(table for group in _group_lines(text) if (table := _read_table(text, group)))


def _group_lines(text: str) -> Iterator[list[tuple[int, int]]]:
    """The lines with bars that follow each other; a line of one named cell is one of them."""
    group: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        is_row = CELL in line or (len(group) > 1 and ": " in line)
        if group and not is_row:
            yield group
            group = []
        if is_row:
            group.append((start, start + len(line)))
        start += len(line) + 1
    if group:
        yield group


def _read_table(text: str, lines: Sequence[tuple[int, int]]) -> TextTable | None:
    (start, end), *rest = lines
    names = tuple(text[start:end].split(CELL))
    is_named = any(text.startswith(f"{name}: ", rest[0][0]) for name in names) if rest else False
    if len(rest) < LEAST or not (is_named or len(rest) >= LONG):
        return None
    rows = []
    for a, b in rest:
        cells = text[a:b].split(CELL)
        cells = _place_cells(cells, names) if is_named else cells[: len(names)]
        rows.append(TextRow(a, b, tuple(cells) + ("",) * (len(names) - len(cells))))
    return TextTable(TextRow(start, end, names), _name_columns(names), tuple(rows))


def _place_cells(cells: Sequence[str], names: Cells) -> list[str]:
    found = [""] * len(names)
    at = 0
    for cell in cells:
        fits = (n for n in range(at, len(names)) if cell.startswith(f"{names[n]}: "))
        if (n := next(fits, None)) is not None:
            found[n], at = cell[len(names[n]) + 2 :], n + 1
        elif at:  # a cell with a bar in it
            found[at - 1] += CELL + cell
    return found


def _name_columns(names: Cells) -> Cells:
    """Names that need no quotes in SQL, each once."""
    plain: dict[str, None] = {}
    for n, name in enumerate(names, 1):
        word = re.sub(r"\W+", "_", name).strip("_").lower()[:40]
        word = word if word and not word[0].isdigit() else f"column_{n}_{word}".rstrip("_")
        plain[word if word not in plain else f"{word}_{n}"] = None
    return tuple(plain)
