"""Arithmetic that a judge gives for a claim: computed here, over numbers of the claim's quotes.

It holds where each number of it is in a quote, or is a constant that something is multiplied or
divided by; and where its result is a number that the claim states, at the claim's own precision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from agent.evidence import fold
from agent.evidence.language import language_of
from agent.evidence.quantities import (
    Day,
    Measure,
    Node,
    Number,
    Operation,
    Quantity,
    Reader,
    Term,
    Unit,
    Unreadable,
    compute_arithmetic,
    find_missing,
    find_operand,
    is_stated,
    list_terms,
    parse_arithmetic,
    read_quantities,
    unit_factors,
)
from agent.evidence.quoting import touched_sentences
from agent.state import Calculation, Operand

if TYPE_CHECKING:
    from agent.verification.judge_view import QuotePlace

NONE = frozenset(("", "null", "none", "n/a", "-"))
#: What a number is multiplied or divided by, not in a quote.
CONSTANTS = frozenset(map(Decimal, "100 1000 12 24 60 7 365.25".split()))
OF_TEMPERATURES = frozenset(map(Decimal, "9 5 32 1.8".split()))
FACTOR_DIGITS = 3  # the fewest of a factor between two units: a shorter one may be any number
MOST_ITEMS = 50  # that a claim counts
ACROSS = ("min", "max", "sum", "count")


class Computed(NamedTuple):
    """The result of a calculation; `fault` says why it does not hold, "" where it does.

    `missing`: what the claim states besides, and its quotes do not give.
    """

    calculation: Calculation | None
    fault: str = ""
    missing: tuple[Quantity, ...] = ()


class _Found(NamedTuple):
    """A term of an expression, what is meant by it, and its place; a constant has none."""

    term: Term
    meant: Quantity | None
    place: QuotePlace | None = None
    start: int = 0
    end: int = 0

    @property
    def unit(self) -> Unit | None:
        """The unit that counts: constants have none, and shares are plain numbers."""
        unit = self.meant.unit if isinstance(self.meant, Number) else None
        is_plain = unit is None or unit.dimension == "share" or _decimal(self.term) in CONSTANTS
        return None if is_plain else unit


def compute_claim(expression: str, claim: str, places: Sequence[QuotePlace]) -> Computed | None:
    """The result of a judge's arithmetic for a claim; None where there is none, as in a number.

    A number may be anywhere in a sentence of a quote. Small models write reasons here and compute
    without need: a fault counts only where the claim has a number that its quotes do not have.
    """
    if (expression := expression.strip()).casefold() in NONE:
        return None
    whole = [touched_sentences(p.text, p.start, p.end) or [(p.start, p.end)] for p in places]
    spans = zip(places, whole, strict=True)
    places = [p._replace(start=all_[0][0], end=all_[-1][1]) for p, all_ in spans]
    faults: list[str] = []
    for groups in (True, False):  # a comma between digits: of one number, or between two
        node = None
        try:
            node = parse_arithmetic(expression, groups=groups)
            found = list(_find_terms(node, claim, places))
            made = _compute(expression, node, found, claim, places)
            return None if made and made.fault and not _needs_arithmetic(claim, places) else made
        except Unreadable as error:
            faults += [f"{expression}: {error}"] if node else []
    return Computed(None, faults[0]) if faults and _needs_arithmetic(claim, places) else None


def _needs_arithmetic(claim: str, places: Sequence[QuotePlace]) -> bool:
    return bool(find_missing(claim, _given_texts(places), derived=False))


def _given_texts(places: Sequence[QuotePlace]) -> list[str]:
    return [text for place in places for text in (place.quote, place.title)]


def _compute(
    expression: str, node: Node, found: list[_Found], claim: str, places: Sequence[QuotePlace]
) -> Computed | None:
    """Raises Unreadable."""
    converts = any(not one.place for one in found)
    items = len(node.args) if isinstance(node, Operation) and node.name in ACROSS else 0
    readings: tuple[int, ...] = (-1, 0) if language_of(claim).has_decimal_comma else (0, -1)
    readings = readings[:1] if items else readings
    modes = [(bare, last) for bare in (False, True)[: 1 + converts] for last in readings]
    totals = [_total(node, found, bare=bare, last=last) for bare, last in modes]
    all_stated = [
        (list(_list_stated(node, total, found, claim, last)), total)
        for (_, last), total in zip(modes, totals, strict=True)
    ]
    stated, total = next((one for one in all_stated if one[0]), all_stated[0])
    if isinstance(node, Term) and not stated:
        return None
    size = Decimal(str(next((one.unit.size for one in found if one.unit), 1))) ** total.power
    value = float(f"{total.value / size:.12g}")
    made = Calculation(
        expression=expression,
        value=int(value) if value.is_integer() else value,
        operands=tuple(dict.fromkeys(_operand(one) for one in found if one.place)),
    )
    if not stated:
        return Computed(made, f"{expression} is {round(value, 3):,g}, which the claim does not say")
    derived = {*stated, *(one.meant for one in found if not one.place)}
    left = (one for one in find_missing(claim, _given_texts(places)) if one not in derived)
    counted = {float(items), value if stated and made.expression[:5] == "count" else 0.0}
    return Computed(made, "", tuple(x for x in left if not counted & set(getattr(x, "values", ()))))


def _operand(found: _Found) -> Operand:
    source = found.place.source if found.place else 0
    return Operand(text=found.term.text, citation=source, start=found.start, end=found.end)


# --- the places of its numbers --------------------------------------------------------------------


def _find_terms(node: Node, claim: str, places: Sequence[QuotePlace]) -> Iterator[_Found]:
    """Each term with its place; one that is named twice at two places, if it has two.

    Raises Unreadable for a term without a place.
    """
    taken: set[tuple[str, int]] = set()
    for term, within in list_terms(node):
        some = [one for place in places for one in _find_in(term, place)]
        free = [one for one in some if one.place and (one.place.text, one.start) not in taken]
        found = next(iter(free or some), None) or _find_known(term, within, claim)
        if found is None or (within == "count" and not free):
            raise Unreadable(f"{term.text} is in none of its quotes")
        if found.place:
            taken.add((found.place.text, found.start))
        yield found


def _find_in(term: Term, place: QuotePlace) -> Iterator[_Found]:
    """The places of a term in a quote; the whole quote where its signs are others."""
    wanted = _read_term(term)
    words, meant = (wanted and find_operand(wanted, place.quote)) or ("", None)
    if term.kind == "words" and fold(term.text) in fold(place.quote):
        words = term.text
    if words:
        pattern = rf"(?<!\d)(?<!\d[.,]){re.escape(words)}(?!\d)"
        spans = [match.span() for match in re.finditer(pattern, place.quote)]
        for start, end in spans or [(0, place.end - place.start)]:
            yield _Found(term, meant, place, place.start + start, place.start + end)


def _read_term(term: Term) -> Quantity | None:
    """The number or the date that a term is; None for words. Raises Unreadable."""
    if term.kind == "date":
        day = _parse_day(term)
        return Day(term.text, day.year, ((day.month, day.day),))
    return next((one for one in read_quantities(term.text) if isinstance(one, Number)), None)


def _parse_day(term: Term) -> date:
    try:
        return date.fromisoformat(term.text)
    except ValueError:
        raise Unreadable(f"{term.text} is no date") from None


def _find_known(term: Term, within: str, claim: str) -> _Found | None:
    """A constant, a factor between units, or the limit that the claim names in a comparison."""
    value = _decimal(term)
    stated = [one for one in read_quantities(claim) if isinstance(one, Number)]
    if within[:1] in ("<", ">"):
        limits = (one for one in stated if float(value) in one.values)
        return next((_Found(term, limit) for limit in limits), None)
    is_factor = within in ("*", "/") and (value in CONSTANTS or _is_unit_factor(value))
    is_warm = any(one.unit and one.unit.dimension.startswith("temperature") for one in stated)
    is_known = is_factor or (is_warm and value in OF_TEMPERATURES)
    return _Found(term, _read_term(term)) if is_known else None


def _is_unit_factor(value: Decimal) -> bool:
    """Whether a number is how many of one unit another one is, as precisely as it is written."""
    digits = len(value.as_tuple().digits)
    rounded = (Decimal(f"{factor:.{digits}g}") for factor in unit_factors())
    return digits >= FACTOR_DIGITS and value in rounded


def _decimal(term: Term) -> Decimal:
    plain = re.sub(r"[^\d.]", "", term.text).rstrip(".")
    return Decimal(plain) if plain.replace(".", "", 1).isdecimal() else Decimal("NaN")


# --- what it gives --------------------------------------------------------------------------------


def _total(node: Node, found: Sequence[_Found], *, bare: bool = False, last: int = 0) -> Measure:
    """What it gives: in the smallest units where all are of one kind; `bare`: as it is written.

    `last`: -1 takes the other reading of numbers that may be read in two ways: `1.234`.
    """
    by_term = {one.term: one for one in found}
    has_units = len({one.unit.dimension for one in found if one.unit}) == 1

    def read(term: Term) -> Measure:
        one = by_term[term]
        if isinstance(one.meant, Day):
            return Measure(Decimal((day := _parse_day(term)).year), 0, day)
        written = _read_term(term) if bare else one.meant
        if not isinstance(written, Number):
            raise Unreadable(f"{term.text} is no number")
        value = Decimal(f"{written.values[last]:.15g}")
        if bare or not has_units or not one.unit:
            return Measure(value)
        return Measure(value * Decimal(str(one.unit.size)), 1)

    return compute_arithmetic(node, read)


def _list_stated(
    node: Node, total: Measure, found: Sequence[_Found], claim: str, last: int
) -> Iterator[Quantity]:
    unit, value = next((one.unit for one in found if one.unit), None), abs(total.value)
    if isinstance(node, Operation) and node.name == "count":
        if value in _read_counts(claim, len(node.args)):
            yield Number("", (float(value),))
        return
    for number in read_quantities(claim):
        if isinstance(number, Number) and any(
            is_stated(one, number, last) for one in _in_unit_of(number, total, unit, found)
        ):
            yield number


def _in_unit_of(
    number: Number, total: Measure, unit: Unit | None, found: Sequence[_Found]
) -> Iterator[Decimal]:
    """A total in the unit of a number that may be it; a share in hundredths too."""
    value = abs(total.value)
    if unit and total.power:
        is_same = number.unit and number.unit.dimension == unit.dimension
        value /= (
            Decimal(str((number.unit if is_same and number.unit else unit).size)) ** total.power
        )
    yield value
    has_hundred = any(one.term.text == "100" for one in found)
    if number.unit and number.unit.dimension == "share" and not total.power and not has_hundred:
        yield value * 100


def _read_counts(claim: str, items: int = 1) -> set[float]:
    """How many things a claim counts, in words of any language; one, where it names no others."""
    read = Reader(claim, is_evidence=True)
    plain = {n.values[0] for n in read.quantities if isinstance(n, Number) and not n.unit}
    counts = {n for n in {*read.loose, *plain} if 1 <= n <= MOST_ITEMS and n == int(n)}
    return counts - {1.0, items} or counts
