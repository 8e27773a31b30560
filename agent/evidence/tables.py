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
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from itertools import combinations, pairwise
from typing import NamedTuple

from agent.evidence.language import LANGUAGES, Language, language_of, load_language
from agent.evidence.quantities import Day, Number, find_rounding, read_quantities
from agent.evidence.sentences import Span
from agent.evidence.words import content_words
from agent.state import Calculation

MIN_ROWS = 5  # of a table, its head among them
MOST_VALUES = 5  # that are told of a column
MOST_WORDS = 30  # of a question that asks a table
SAMPLED, NUMERIC = 100, 0.9  # cells of a column that are looked at; the share that are numbers
#: What stands in a column of numbers where one is not known.
UNKNOWN = frozenset("na n/a #n/a nan null none - – — . ?".split())
NEAR_SUM = Decimal("0.01")  # the share by which a row of totals may differ, being rounded
YEARS = range(1000, 2200)  # numbers that are all among these are years
SIGNS = {"over": ">", "least": ">=", "under": "<", "most": "<="}
Rows = Sequence[int]

_TABLE = re.compile(rf"(?:^[^\n]* \|(?: [^\n]*)?\n?){{{MIN_ROWS},}}+", re.M)
_FILTER = re.compile(r" (=|>=?|<=?) ")
_GROUP = re.compile(r"(max|min) (count|sum|mean)(?: (.+))?")
_QUERY = re.compile(r"(count|sum|mean|min|max|value)\((.*)\)")
_STATEMENT = re.compile(r"(.+?) = (\w+\(.*\))", re.S)
#: Where a bar stands before a date that a question names: it asks for what is of that time.
_WITHIN = re.compile(
    r"\b(?:in|on|of|during|im|am|en|em|le|el|il|nel|op) (?:the )?\||\|(?:in|im) ", re.I
)
_DAY, _PERIOD = re.compile(r"\d{4}([-/])\d\d\1\d\d(?!\d)"), re.compile(r"\d{4}(?:-\d\d)?")
_WORD = re.compile(r"(?:(?<!\S)[-−<>≤≥](?=\d))?[^\W_](?:[^\s,;:!?()\"]*[^\W_])?")
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


def _write_float(value: float) -> str:
    return f"{Decimal(repr(value)).normalize():f}"


@lru_cache(maxsize=16)
def find_tables(text: str) -> list[PageTable]:
    """The tables of a text whose columns have names."""
    found = (PageTable(text, *match.span()) for match in _TABLE.finditer(text))
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


# --- what a question asks of a table --------------------------------------------------------------


class _Word(NamedTuple):
    start: int
    end: int
    stems: frozenset[str]


class TableQuestion:
    """A question read as queries of a table: by the names of its columns and by its cells.

    No word may be left over that says something, but those of the page's title. So a question about
    anything else asks nothing of it.
    """

    def __init__(self, question: str, table: PageTable, title: str = "") -> None:
        self._text, self._table = question, table
        language = language_of(question)
        words = list(_WORD.finditer(question))[: MOST_WORDS + 1]
        self._tag = language.tag
        self._words = [_Word(*w.span(), self._stem(w[0]) or self._stress(w[0])) for w in words]
        self._left = {n for n, word in enumerate(self._words) if word.stems}
        self._taken: list[Span] = []  # of the question, that is understood
        self._names = [self._stem(name) for name in table.names]
        self._title = self._stem(title)
        parts = (re.findall(r"[^\W_]+", name) for name in table.names)
        whole = "|".join(r"[\W_]+".join(one) for one in sorted(parts, key=len, reverse=True) if one)
        found = re.finditer(rf"(?<!\w)(?:{whole})(?!\w)", question, re.I)
        self._whole = [match.span() for match in found]  # where the whole name of a column stands
        self._kinds = dict(self._take_kinds(language))
        self._contrasts = dict(language.contrasts)
        self._between = dict(language.totals)["between"]

    def read(self) -> list[Query]:
        """What is asked; [] where it asks nothing of the table, or where that is not plain."""
        if len(self._words) > MOST_WORDS:
            return []
        limits = list(self._take_limits())
        period = self._take_period()
        equal = self._take_cells()
        if equal is None or self._asks_beyond():
            return []
        equal += period
        named = list(self._take_columns())
        known = self._title.union(*self._names)
        if any(not self._words[n].stems <= known for n in self._left):
            return []
        columns = [n for n in named if n not in {one.column for one in equal}]
        if limits:
            numeric = [n for n in columns if self._table.is_numeric(n)] or self._only_measure()
            if not numeric or (numeric == [0] and not self._table.has_repeated(0)):
                return []
            for span, sign, of in limits:  # each is of the column that is named next to it
                equal.append(Filter(min(numeric, key=partial(self._gap, span)), sign, of))
            columns = [n for n in columns if n not in {one.column for one in equal}]
        return self._choose(columns, tuple(equal))

    def _stem(self, text: str) -> frozenset[str]:
        words = content_words(text.replace("_", " "), self._tag)
        return frozenset(word.rstrip("e") or word for word in words)

    def _stress(self, word: str) -> frozenset[str]:
        """A word that says nothing, as `or`, but in capitals: `OR` may be a cell."""
        is_stressed = len(word) > 1 and word.isupper() and not self._text.isupper()
        return frozenset([word.casefold()] if is_stressed else ())

    def _asks_beyond(self) -> bool:
        """Whether a question asks for what is not so, or for how many there may be.

        So not where a cell, a limit or the name of a column has these words.
        """
        first = min(self._kinds.values(), default=0)
        spans = [match.span() for match in self._contrasts["negation"].finditer(self._text)]
        spans += [m.span() for m in self._contrasts["hedge"].finditer(self._text, first)]
        named = frozenset[str]().union(*self._names)
        return any(
            named.isdisjoint(self._stem(self._text[start:end]))
            and not any(a <= start and end <= b for a, b in self._taken)
            for start, end in spans
        )

    def _choose(self, columns: list[int], filters: tuple[Filter, ...]) -> list[Query]:
        table, kinds = self._table, self._kinds
        measures = [n for n in columns if table.is_measure(n)]
        best = next((kind for kind in ("max", "min") if kind in kinds), "")
        total = next((kind for kind in ("mean", "sum") if kind in kinds), "")
        if best:
            return self._find_best(best, total, columns, filters)
        if total and measures:
            return [Query(total, measures[0], filters)]
        if "count" in kinds:
            return self._count(columns, filters)
        found = [Query("value", n, filters) for n in columns[:2]] if filters else []
        # only what names the rows may be several: else nothing tells the values apart
        return [one for one in found if one.column == 0 or self._is_one(one)]

    def _is_one(self, query: Query) -> bool:
        """Whether there is one value, and a number is that of one row: of more it may be a sum."""
        values, rows = self._table.compute(query)
        is_number = query.column is not None and self._table.is_measure(query.column)
        return len(values) == 1 and not (is_number and len(rows) > 1)

    def _count(self, columns: list[int], filters: tuple[Filter, ...]) -> list[Query]:
        """How many: a sum of what counts itself, else different cells, else rows of one thing."""
        table = self._table
        if "different" in self._kinds:
            return [Query("count", columns[0], filters)] if len(columns) == 1 else []
        if counts := [n for n in columns if table.is_measure(n) and table.has_repeated(n)]:
            return [Query("sum", counts[0], filters)]
        if others := [n for n in columns if not table.is_measure(n)]:
            return [Query("count", others[0], filters)]
        if columns or table.has_repeated(0):  # numbers that may be what is asked for, or names
            return []
        return [Query("count", None, filters)]

    def _find_best(
        self, best: str, total: str, columns: list[int], filters: tuple[Filter, ...]
    ) -> list[Query]:
        """What has most of a column, the one that the question names behind its `most`.

        What has it is the other column: its value in one row or in all, not where the two differ.
        """
        behind = [n for n in columns if self._named[n][0] > self._kinds[best]]
        of = next(iter(behind or columns[1:]), None)
        asked = next((n for n in columns if n != of), None)
        if asked in behind:
            return []
        if of is None:  # of what the title names, which has a row each
            is_told = bool(self._left) and not self._table.has_repeated(0)
            return self._group(asked, filters, (best, "count", None)) if is_told else []
        if not self._table.is_measure(of):
            return [] if total else self._group(asked, filters, (best, "count", of))
        if asked is None:
            before = any(self._words[n].start < self._kinds[best] for n in self._left)
            return [] if total or before else [Query(best, of, filters)]  # else it is no number
        summed = self._group(asked, filters, (best, total or "sum", of))
        if total:
            return summed
        single = Query("value", asked, (*filters, Filter(of, "=", best)))
        compute = self._table.compute
        is_plain = all(compute(one)[0] == compute(single)[0] for one in summed)
        return [single] if is_plain else []

    def _group(
        self, column: int | None, filters: tuple[Filter, ...], group: tuple[str, str, int | None]
    ) -> list[Query]:
        """The value of a column by its rows; [] where each value has one row."""
        if column is None or not self._table.has_repeated(column):
            return []
        return [Query("value", column, filters, group)]

    def _only_measure(self) -> list[int]:
        found = [n for n in range(len(self._names)) if self._table.is_measure(n)]
        return found if len(found) == 1 else []

    def _take(self, start: int, end: int) -> None:
        self._taken.append((start, end))
        self._left -= {n for n, w in enumerate(self._words) if start <= w.start and w.end <= end}

    def _take_kinds(self, language: Language) -> Iterator[tuple[str, int]]:
        """What is computed, and where the words stand that say so.

        What is part of the name of a column computes nothing, but `total cost` if nothing else is
        asked of it.
        """
        kinds = [one for one in (*language.totals, *language.extremes) if one[0] != "between"]
        found = [(kind, match) for kind, words in kinds for match in words.finditer(self._text)]
        own = [one for one in found if not self._is_in_name(*one[1].span())]
        for kind, match in own:
            self._take(*match.span())
            yield kind, match.start()
        for kind, match in () if any(kind != "rows" for kind, _ in own) else found:
            if kind in ("sum", "mean") and match.span() not in self._whole:
                yield kind, match.start()

    def _is_in_name(self, start: int, end: int) -> bool:
        """Whether words are part of the name of a column that the question says whole."""
        return any(a < end and start < b for a, b in self._whole)

    def _gap(self, span: Span, column: int) -> int:
        """How many characters stand between some words and the name of a column."""
        start, end = self._named.get(column, span)
        return max(start - span[1], span[0] - end)

    def _take_limits(self) -> Iterator[tuple[Span, str, str]]:
        """What a question says of numbers: where, with which sign, of which number."""
        read = [one for one in read_quantities(self._text) if isinstance(one, Number)]
        for one in (one for one in read if one.rough in SIGNS):
            at = self._text.find(one.text)
            if self._is_in_cell(at):
                continue
            span = find_rounding(self._text, at)[1], at + len(one.text)
            self._take(*span)
            yield span, SIGNS[one.rough], _write_float(one.values[0])
        for least, most in pairwise(one for one in read if not one.rough):
            before, _, rest = self._text.partition(least.text)
            middle, _, rest = rest.partition(most.text)
            if match := self._between.search(f"{before}0{middle}0{rest}"):
                self._take(match.start(), len(self._text) - len(rest))
                span = match.start(), len(self._text) - len(rest)
                yield span, ">=", _write_float(least.values[0])
                yield span, "<=", _write_float(most.values[0])

    def _is_in_cell(self, at: int) -> bool:
        """Whether a number is part of a word that is a cell: `<25`, a group of ages."""
        words = [self._text[w.start : w.end] for w in self._words if w.start < at < w.end]
        return any(word in row for word in words for row in self._table.rows)

    def _take_cells(self) -> list[Filter] | None:
        """The cells that a question names, longest first; None where one may be of two columns."""
        spans = [
            (self._words[a].start, self._words[b].end)
            for a, b in combinations(range(len(self._words)), 2)
        ]
        spans += [(self._words[n].start, self._words[n].end) for n in self._left]
        grams = {self._text[a:b].casefold(): (a, b) for a, b in spans}
        found: dict[str, dict[int, str]] = {}
        for row in self._table.rows:
            for n, cell in enumerate(row):
                if (folded := cell.casefold()) in grams:
                    found.setdefault(folded, {}).setdefault(n, cell)
        filters: list[Filter] = []
        names = [name.casefold() for name in self._table.names]
        for folded in sorted(found, key=lambda one: (one in names, -len(one))):
            start, end = grams[folded]
            if any(a <= start and end <= b and end - start < b - a for a, b in self._whole):
                continue
            own = {n for n, w in enumerate(self._words) if start <= w.start and w.end <= end}
            if not {n for n in own if self._words[n].stems} <= self._left:
                continue
            columns = found[folded]
            told = [n for n in columns if self._names[n] and self._names[n] <= self._stems_left()]
            if len(columns) > 1 and len(told) != 1:
                return None
            column = told[0] if len(told) == 1 else next(iter(columns))
            if any(one.column == column for one in filters):
                if folded in names:
                    continue
                return None
            self._take(start, end)
            filters.append(Filter(column, "=", columns[column]))
        return filters

    def _take_period(self) -> list[Filter]:
        """The year, month or day that a question names, of the one column that has days."""
        columns = [n for n in range(len(self._names)) if self._table.has_days(n)]
        read = [one for one in read_quantities(self._text) if self._is_left(one.text)]
        days = [one for one in read if isinstance(one, Day) and len(one.months) == 1]
        years = [int(one.values[0]) for one in read if isinstance(one, Number) and one.is_year]
        years += [one.year for one in days if one.year]
        is_cell = not days and any(str(year) in row for year in years for row in self._table.rows)
        if len(columns) != 1 or len(years) != 1 or len(days) > 1 or is_cell:
            return []
        start = min(self._text.find(one.text) for one in read)
        if start < 0 or not _WITHIN.search(f"{self._text[:start]}|{self._text[start:]}"):
            return []
        parts = [*years, *(part for one in days for part in one.months[0] if part)]
        period = Filter(columns[0], "=", "-".join(f"{part:02}" for part in parts))
        if not self._table.compute(Query("count", None, (period,)))[1]:
            return []
        for one in read:
            at = self._text.find(one.text)
            self._take(at, at + len(one.text))
        return [period]

    def _is_left(self, text: str) -> bool:
        at = self._text.find(text)
        return any(at <= self._words[n].start < at + len(text) for n in self._left)

    def _stems_left(self) -> frozenset[str]:
        return frozenset().union(*(self._words[n].stems for n in self._left))

    def _take_columns(self) -> Iterator[int]:
        """The columns that a question names, in its order.

        One is named by its whole name, else by a word of it that no other column has.
        """
        parts = Counter(stem for name in self._names for stem in name)
        order = sorted(range(len(self._names)), key=lambda n: -len(self._names[n]))
        found: dict[int, Span] = {}
        for is_whole in (True, False):
            for column in (n for n in order if n not in found):
                name, left = self._names[column], self._stems_left()
                own = {stem for stem in name & left if is_whole or parts[stem] == 1}
                if own and (not is_whole or name <= left):
                    taken = {n for n in self._left if self._words[n].stems & own}
                    self._left -= taken
                    found[column] = self._words[min(taken)].start, self._words[max(taken)].end
        self._named = found
        yield from sorted(found, key=found.__getitem__)
