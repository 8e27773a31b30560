"""What the tables of a page say as wholes: rows found, counted and added up by their cells.

What is asked of a table is an expression, which anybody can compute again from the page:

- `count(City = Oslo; Amount > 100; Date = 2024-03)` of rows, `count(City; Country = Peru)` of the
  different cells of a column; `sum`, `mean`, `min`, `max` of a column: `sum(Amount; ...)`;
- `value(Amount; Order = A17)`: the cells of a column; `value(Order; Amount = max)`: of the row with
  most; `value(City; max count)`, `value(City; max count Order)`, `value(City; max sum Amount)`: the
  value with most rows, with most different orders, or with the largest sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

from agent.evidence.language import LANGUAGES, load_language
from agent.evidence.sentences import Span
from agent.state import Calculation

MAX_COLUMNS = 500  # of a table; one with more is no table that anybody asks
MIN_ROWS = 5  # of a table, its head among them
MOST_VALUES = 5  # that are told of a column
SAMPLED, NUMERIC = 100, 0.9  # cells of a column that are looked at; the share that are numbers
#: What stands in a column of numbers where one is not known.
UNKNOWN = frozenset("na n/a #n/a nan null none - – — . ?".split())
NEAR_SUM = Decimal("0.01")  # the share by which a row of totals may differ, being rounded
YEARS = range(1000, 2200)  # numbers that are all among these are years
Rows = Sequence[int]

_TABLE = re.compile(rf"(?:^[^\n]* \|(?: [^\n]*)?\n?){{{MIN_ROWS},}}+", re.M)
_FILTER = re.compile(r" (=|>=?|<=?) ")
_GROUP = re.compile(r"(max|min) (count|sum|mean)(?: (.+))?")
_QUERY = re.compile(r"(count|sum|mean|min|max|value)\((.*)\)")
_STATEMENT = re.compile(r"(.+?) = (\w+\(.*\))", re.S)
_DAY, _PERIOD = re.compile(r"\d{4}([-/])\d\d\1\d\d(?!\d)"), re.compile(r"\d{4}(?:-\d\d)?")
_DECIMAL_COMMA = re.compile(r"\d,\d{1,2}\W*$")
_DECIMAL_POINT = re.compile(r"\d\.(?:\d{1,2}|\d{4,})\W*$")
_DIGITS = re.compile(
    r"([-−(])?\s?(?:[A-Z]{3}\s|[^\w\s(]\s?)?([-−])?"
    r"(\.?\d[\d.,'’ \u00a0\u202f]*)(?:[eE]([-+]?\d\d?))?\)?"
    r"(?:\s?(?:[^\w\s]|[^\W\d_]{1,4}))?"
)


class Filter(NamedTuple):
    """What a cell of a column must be: `=`, `>` and so on, and of what; `max` is that of all."""

    column: int
    sign: str
    of: str


class Query(NamedTuple):
    """What is asked of a table; `group` is `max` or `min`, what of each value, and its column."""

    kind: str
    column: int | None = None
    filters: tuple[Filter, ...] = ()
    group: tuple[str, str, int | None] | None = None


class PageTable:
    """A table in a text: the names of its columns, the cells of its rows, and where these are."""

    def __init__(self, text: str, start: int, end: int) -> None:
        lines = text[start:end].rstrip("\n").split("\n")
        self.names = [cell.strip() for cell in lines[0].split("|")]
        self.spans: list[Span] = []
        for line in lines:
            self.spans.append((start, start + len(line)))
            start += len(line) + 1
        self._places = {name: n for n, name in enumerate(self.names)}
        self._is_named = any(f"{name}: " in line for line in lines[1:3] for name in self.names)
        self.rows = [self._split(line) for line in lines[1:]]
        self._numbers: dict[int, list[Decimal | None]] = {}
        self._folded: dict[int, list[str]] = {}  # the cells of columns, as they are compared
        if self._ends_in_totals():
            self.rows.pop()
            self._numbers.clear()

    def _split(self, line: str) -> list[str]:
        """The cells of a row, each at its column: by its place, or by the name before it."""
        cells = [cell.strip() for cell in line.split("|")][: len(self.names)]
        named = [cell.partition(": ") for cell in cells] if self._is_named else []
        if any(name in self._places for name, *_ in named):
            known = {name: value for name, _, value in named}
            return [known.get(name, "") for name in self.names]
        return cells + [""] * (len(self.names) - len(cells))

    @cached_property
    def _has_comma(self) -> bool:
        """Whether its numbers have a comma before their decimals, so far as one tells, no point."""
        sample = [cell for row in self.rows[:SAMPLED] for cell in row if _DIGITS.fullmatch(cell)]
        has_point = any(map(_DECIMAL_POINT.search, sample))
        return any(map(_DECIMAL_COMMA.search, sample)) and not has_point

    def _ends_in_totals(self) -> bool:
        """Whether the last row says that it adds up a column, and does so."""
        told = next(filter(None, self.rows[-1]), "")
        if not any(dict(load_language(tag).totals)["sum"].search(told) for tag in LANGUAGES):
            return False
        columns = (self.numbers(n) for n in range(len(self.names)))
        sums = ((one[-1], sum(filter(None, one[:-1]))) for one in columns)
        return any(last and abs(last - total) <= NEAR_SUM * abs(last) for last, total in sums)

    @property
    def has_names(self) -> bool:
        """Whether its first row may name its columns."""
        told = [name for name in self.names if name]
        return len(told) > 1 and len({*told}) == len(told) and not any(map(_to_number, told))

    def numbers(self, column: int) -> list[Decimal | None]:
        """The numbers of a column; none at all where it has other cells than numbers."""
        if column not in self._numbers:
            cells = [row[column] for row in self.rows]
            told = [cell for cell in cells if cell and cell.casefold() not in UNKNOWN]
            sample = told[:SAMPLED]
            has_comma = self._has_comma or any(map(_DECIMAL_COMMA.search, cells))
            are_told = sum(map(bool, map(_DIGITS.fullmatch, sample))) > NUMERIC * len(sample)
            read = [_to_number(cell, has_comma=has_comma) for cell in cells if are_told]
            others = (cell for cell, one in zip(cells, read, strict=False) if one is None)
            if not read or any(any(map(str.isdigit, cell)) for cell in others):
                read = [None] * len(cells)  # what holds a number that is not read, is not computed
            self._numbers[column] = read
        return self._numbers[column]

    def is_numeric(self, column: int) -> bool:
        """Whether the cells of a column are numbers."""
        return any(one is not None for one in self.numbers(column))

    def is_measure(self, column: int) -> bool:
        """Whether the cells of a column are numbers to compute with: no years, no names of rows."""
        told = [number for number in self.numbers(column) if number is not None]
        are_years = all(one in YEARS for one in told)
        return bool(told) and not are_years and (column > 0 or self.has_repeated(column))

    def has_days(self, column: int) -> bool:
        """Whether the cells of a column are days."""
        sample = [cell for row in self.rows[:SAMPLED] if (cell := row[column])]
        return sum(map(bool, map(_DAY.match, sample))) > NUMERIC * len(sample)

    def has_repeated(self, column: int) -> bool:
        """Whether two rows have the same cell in a column."""
        return len({row[column] for row in self.rows}) < len(self.rows)

    # --- computing ---

    def compute(self, query: Query) -> tuple[tuple[str, ...], Rows]:
        """The values that a query has, and the rows that were used; no value where it has none."""
        rows: Rows = range(len(self.rows))
        for one in sorted(query.filters, key=lambda one: one.of in ("max", "min")):
            rows = self._select(rows, one)
        column = query.column
        if query.kind == "count":
            return (str(self._total("count", column, rows)),), rows
        if column is None or not rows:
            return (), rows
        if query.group:
            return self._compute_groups(rows, column, query.group)
        if query.kind == "value":
            return tuple(dict.fromkeys(filter(None, (self.rows[n][column] for n in rows)))), rows
        if (value := self._total(query.kind, column, rows)) is None:
            return (), rows
        if query.kind in ("min", "max"):
            rows = [n for n in rows if self.numbers(column)[n] == value]
            return (self.rows[rows[0]][column],), rows
        before, after = self._units(column)
        return (f"{before}{_write(value)}{after}",), rows

    def _units(self, column: int) -> tuple[str, str]:
        """What stands before and behind every number of a column."""
        found = {
            (cell[: match.start(3)].strip("-−("), cell[match.end(3) :].strip(")"))
            for row in self.rows[:SAMPLED]
            if (match := _DIGITS.fullmatch(cell := row[column]))
        }
        return found.pop() if len(found) == 1 else ("", "")

    def _select(self, rows: Rows, one: Filter) -> Rows:
        if one.of in ("max", "min") and self.is_numeric(one.column):
            value = self._total(one.of, one.column, rows)
            return [n for n in rows if self.numbers(one.column)[n] == value]
        if one.sign == "=":
            same = str.maketrans("/", "-") if self.has_days(one.column) else {}
            folded = self._folded.get(one.column) or [
                row[one.column].casefold().translate(same) for row in self.rows
            ]
            self._folded[one.column], of = folded, one.of.casefold().translate(same)
            begin = f"{of}-" if same and _PERIOD.fullmatch(of) else "\n"
            return [n for n in rows if folded[n] == of or folded[n].startswith(begin)]
        limit, numbers = _to_number(one.of), self.numbers(one.column)
        return [n for n in rows if _compare(numbers[n], one.sign, limit)]

    def _total(self, kind: str, column: int | None, rows: Rows) -> Decimal | None:
        if column is None:
            return Decimal(len(rows))
        if kind == "count":
            return Decimal(len({self.rows[n][column].casefold() for n in rows} - {""}))
        told = [one for n in rows if (one := self.numbers(column)[n]) is not None]
        totals: dict[str, Callable[[list[Decimal]], Decimal]] = {
            "max": max,
            "min": min,
            "sum": lambda some: sum(some, Decimal()),
            "mean": lambda some: sum(some, Decimal()) / len(some),
        }
        return totals[kind](told) if told else None

    def _compute_groups(
        self, rows: Rows, column: int, group: tuple[str, str, int | None]
    ) -> tuple[tuple[str, ...], Rows]:
        best, kind, of = group
        groups: dict[str, list[int]] = {}
        for n in rows:
            groups.setdefault(self.rows[n][column], []).append(n)
        groups.pop("", None)
        found = {name: self._total(kind, of, some) for name, some in groups.items()}
        told = [one for one in found.values() if one is not None]
        limit = (max if best == "max" else min)(told, default=None)
        names = tuple(name for name, one in found.items() if one == limit)
        return names, [n for name in names for n in groups[name]]

    # --- expressions ---

    def write(self, query: Query) -> str:
        """A query as an expression."""
        column = [] if query.column is None else [self.names[query.column]]
        filters = [f"{self.names[one.column]} {one.sign} {one.of}" for one in query.filters]
        if query.group:
            best, kind, of = query.group
            filters.append(f"{best} {kind}" + ("" if of is None else f" {self.names[of]}"))
        return f"{query.kind}({'; '.join((*column, *filters))})"

    def parse(self, expression: str) -> Query | None:
        """The query that an expression is; None where it is none of this table."""
        match = _QUERY.fullmatch(expression)
        parts = match[2].split("; ") if match and match[2] else []
        has_column = bool(parts) and parts[0] in self._places
        if not match or not (has_column or match[1] == "count"):
            return None
        column = self._places[parts.pop(0)] if has_column else None
        filters, group = [], None
        for part in parts:
            sides = _FILTER.split(part, maxsplit=1)
            if len(sides) == 3 and sides[0] in self._places:
                filters.append(Filter(self._places[sides[0]], sides[1], sides[2]))
            elif (told := _GROUP.fullmatch(part)) and (told[3] or "") in {"", *self._places}:
                group = told[1], told[2], self._places.get(told[3] or "")
            else:
                return None
        return Query(match[1], column, tuple(filters), group)


def _compare(number: Decimal | None, sign: str, limit: Decimal | None) -> bool:
    if number is None or limit is None:
        return False
    is_beyond = number > limit if sign[0] == ">" else number < limit
    return is_beyond or (sign[1:] == "=" and number == limit)


def _to_number(cell: str, *, has_comma: bool = False) -> Decimal | None:
    """The number that a cell is, with a currency or a unit or without; None for others."""
    if not (match := _DIGITS.fullmatch(cell)):
        return None
    digits = match[3].replace(".", "").replace(",", ".") if has_comma else match[3]
    plain = re.sub(r"[^\d.]", "", digits).rstrip(".")
    if plain.count(".") > 1:
        return None
    return Decimal(plain).scaleb(int(match[4] or 0)) * (-1 if match[1] or match[2] else 1)


def _write(value: Decimal) -> str:
    """A number in plain digits, at most four decimals of a fraction."""
    text = f"{value:f}" if -value.as_tuple().exponent <= 4 else f"{value:.4f}"  # type: ignore[operator]
    return text.rstrip("0").rstrip(".") if "." in text else text


@lru_cache(maxsize=16)
def find_tables(text: str) -> list[PageTable]:
    """The tables of a text whose columns have names."""
    spans = (match.span() for match in _TABLE.finditer(text))
    found = (
        PageTable(text, start, end)
        for start, end in spans
        if text.count("|", start, text.index("\n", start)) < MAX_COLUMNS
    )
    return [table for table in found if table.has_names]


def compute_statement(statement: str, text: str) -> Calculation | None:
    """What a statement `312 = count(City = Oslo)` is, if a table of a text gives it."""
    match = _STATEMENT.fullmatch(statement)
    for table in find_tables(text) if match else ():
        query = table.parse(match[2]) if match else None
        if match and query and ", ".join(table.compute(query)[0]) == match[1]:
            number = _to_number(match[1])
            return Calculation(expression=match[2], value=None if number is None else float(number))
    return None
