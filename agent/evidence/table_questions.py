"""What a question asks of a table, read by the names of its columns and by its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from itertools import combinations, pairwise
from typing import NamedTuple

from agent.evidence.language import Language, language_of
from agent.evidence.quantities import Day, Number, find_rounding, read_quantities
from agent.evidence.sentences import Span
from agent.evidence.tables import Filter, PageTable, Query
from agent.evidence.words import content_words

MOST_WORDS = 30  # of a question that asks a table
SIGNS = {"over": ">", "least": ">=", "under": "<", "most": "<="}

#: Where a bar stands before a date that a question names: it asks for what is of that time.
_WITHIN = re.compile(
    r"\b(?:in|on|of|during|im|am|en|em|le|el|il|nel|op) (?:the )?\||\|(?:in|im) ", re.I
)
_WORD = re.compile(r"(?:(?<!\S)[-−<>≤≥](?=\d))?[^\W_](?:[^\s,;:!?()\"]*[^\W_])?")


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
        """The stems of a name of columns."""
        return frozenset(content_words(text.replace("_", " "), self._tag))

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


def _write_float(value: float) -> str:
    return f"{Decimal(repr(value)).normalize():f}"
