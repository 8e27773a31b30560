"""Quantities of claims: whether quotes hold the numbers, dates and scores, or give them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain, combinations, permutations
from typing import NamedTuple

from agent.evidence.lists import find_lists, list_lengths
from agent.evidence.markers import strip_markers
from agent.evidence.quantities.numbers import digit_readings
from agent.evidence.quantities.parsing import Day, Number, Quantity, Reader, Score
from agent.evidence.quantities.patterns import years_unit
from agent.evidence.words import plain_words

LONGEST_CLAIM = 10_000  # characters of a claim, or of a value, whose quantities are read
LONGEST_QUOTES = 50_000  # characters of a quote
LONGEST_PAGE = 300_000  # characters of a page; the rest may have anything
MOST_WANTED = 100  # quantities of a claim that are looked for; more count as missing
MOST_ADDED = 60  # numbers of the quotes that sums and differences are made of
MOST_ITEMS = 50  # of a list that is counted
CONVERTED = 0.05  # share by which an amount may differ from itself in another unit, rounded
MOST_DIVIDED = 12  # numbers of one quote that shares are made of
PRECISION = 1e-14  # of what is the same number: that of arithmetic with floats
NEAR = 0.1  # the most that a number after "about" may differ from its quote's, as a share of it
Texts = Sequence[str]

# --- what is asked ------------------------------------------------------------------------------


def missing_quantities(claim: str, quotes: Texts, *, derived: bool = True) -> tuple[str, ...]:
    """The numbers, dates and scores of a claim that its quotes neither hold nor give, as written.

    A quote gives the count of a list, the sum or difference of two numbers, a span of years and,
    after a word such as "about", a rounded number; nothing of these without `derived`.
    """
    return tuple(quantity.text for quantity in find_missing(claim, quotes, derived=derived))


def find_missing(claim: str, quotes: Texts, *, derived: bool = True) -> tuple[Quantity, ...]:
    """As `missing_quantities`, the quantities themselves."""
    wanted = read_quantities(claim)
    if not wanted:
        return ()
    given = _read_evidence(tuple(quotes), LONGEST_QUOTES)
    looked_for = wanted[:MOST_WANTED]
    supported = [
        x for x in looked_for if _is_in_quotes(x, given) or (derived and _follows(x, given, claim))
    ]

    def is_given(one: Quantity) -> bool:
        return one in supported or any(_is_conversion(one, other) for other in supported)

    return tuple(one for one in wanted if one not in looked_for or not is_given(one))


def is_on_page(quantity: Quantity, text: str) -> bool:
    """Whether a quantity is, or may be, anywhere in the text of a page."""
    given = _read_evidence((text,), LONGEST_PAGE)
    return len(text) > LONGEST_PAGE or given.is_cut or _is_in_quotes(quantity, given)


def read_quantities(claim: str) -> tuple[Quantity, ...]:
    """The quantities that a claim states, each once, in order of their kind."""
    text = strip_markers(claim[:LONGEST_CLAIM])
    first, _, rest = text.lstrip().partition(" ")
    is_listed = first[:-1].isdecimal() and first.endswith((".", ")"))  # `4. Turn it on`
    return tuple(dict.fromkeys(Reader(rest if is_listed else text).quantities))


def find_operand(wanted: Quantity, text: str) -> tuple[str, Quantity] | None:
    """What of a text a number or a date of an expression is: its words, and what is meant.

    The expression may leave out scale and unit: `4.2` of `4.2 million km`. A part of a date or of a
    score is a number without a unit.
    """
    given = _read_evidence((text,), LONGEST_QUOTES)
    if isinstance(wanted, Number):
        for other in given.numbers:
            if _is_same(wanted, other):
                return other.text, other if other.unit else wanted
            if not wanted.unit and set(wanted.values) & set(_mantissas(other)):
                return other.text, other
    if not _is_in_quotes(wanted, given):
        return None
    days = (day.text for day in given.days if isinstance(wanted, Day) and day.year == wanted.year)
    return next(days, wanted.text), wanted


_DIGITS = re.compile(r"\d(?:[\d.,' ]*\d)?")


def _mantissas(number: Number) -> list[float]:
    """What the digits of a number may mean without its scale; nothing for one in words."""
    digits = _DIGITS.search(number.text)
    return digit_readings(digits[0]) if digits else []


def _count_decimals(text: str, value: float) -> int:
    """How many decimals a number has as it is written, where it is read as a value."""
    digits = _DIGITS.search(text)
    if not digits or value == float(re.sub(r"\D", "", digits[0])):
        return 0
    return len(digits[0].replace(",", ".").rpartition(".")[2])


def is_stated(value: Decimal, stated: Number, at: int = 0) -> bool:
    """Whether a number of a text is a value, at its own precision; `at`: in which reading.

    Its last digit is rounded; after "about", "nearly" or "more than" it need only lie there.
    """
    number, digits = stated.values[at], _mantissas(stated)
    if len(digits) == len(stated.values):
        mantissa = digits[at]
    else:  # in words: three million
        mantissa = number / _last_digit(number) if number >= 1000 else number
    step = number / (mantissa or 1) * 10.0 ** -_count_decimals(stated.text, mantissa)
    return _lies(stated.rough, value, Decimal(f"{number:.15g}"), Decimal(f"{abs(step):.15g}"))


def _lies(rough: str, value: Decimal, stated: Decimal, step: Decimal) -> bool:
    off = value - stated
    match rough:
        case "over" | "least":
            return off > 0 or (rough == "least" and not off)
        case "under" | "most":
            return off < 0 or (rough == "most" and not off)
        case "about" | "nearly":
            is_near = _is_rounding(float(stated), float(value), rough) or abs(off) < step
            return is_near and (rough == "about" or off < 0)
    return abs(off) <= step / 2


# --- what quotes hold ---------------------------------------------------------------------------


class _Evidence(NamedTuple):
    """All that quotes hold: as read strictly, and as numbers that may be meant."""

    texts: tuple[str, ...]
    numbers: tuple[Number, ...]
    days: tuple[Day, ...]
    scores: tuple[Score, ...]
    by_text: tuple[tuple[Number, ...], ...]
    loose: frozenset[float]  # parts of dates and scores, number words of many languages
    is_cut: bool  # there is more than was read


@lru_cache(maxsize=256)
def _read_evidence(texts: tuple[str, ...], most: int) -> _Evidence:
    read = [Reader(text[:most], is_evidence=True) for text in texts]
    found = [quantity for reading in read for quantity in reading.quantities]
    days = tuple(q for q in found if isinstance(q, Day))
    scores = tuple(q for q in found if isinstance(q, Score))
    parts = [*(day.parts for day in days), *(score.ends for score in scores)]
    loose = frozenset(chain(*parts, *(one.loose for one in read)))
    numbers = tuple(q for q in found if isinstance(q, Number))
    by_text = tuple(tuple(q for q in one.quantities if isinstance(q, Number)) for one in read)
    is_cut = any(one.is_cut for one in read)
    return _Evidence(texts, numbers, days, scores, by_text, loose, is_cut)


def _is_in_quotes(quantity: Quantity, given: _Evidence) -> bool:
    if isinstance(quantity, Day):
        return any(_is_day(quantity.year, *part, given) for part in quantity.months)
    if isinstance(quantity, Score):
        if given.scores:
            return any(sorted(quantity.ends) == sorted(other.ends) for other in given.scores)
        return _all_values(given).issuperset(quantity.ends)  # where quotes hold no score at all
    is_read = any(_is_same(quantity, other) for other in given.numbers)
    return is_read or not given.loose.isdisjoint(quantity.values)


def _is_same(wanted: Number, other: Number) -> bool:
    """Whether two numbers are one. A unit counts where both have one that is known."""
    if wanted.exact or other.exact:
        return wanted.exact == other.exact
    if not _have_one_dimension(wanted, other):
        return False
    size = _size(other, wanted)
    pairs = ((a, b * size) for a in wanted.values for b in other.values)
    return any(math.isclose(a, b, rel_tol=PRECISION) for a, b in pairs)


def _is_conversion(one: Quantity, other: Quantity) -> bool:
    """Whether two numbers of a claim are one amount in two units: `10 kg (23 lb)`."""
    if not (isinstance(one, Number) and isinstance(other, Number) and one.unit and other.unit):
        return False
    is_alike = one.unit.dimension == other.unit.dimension and one.unit != other.unit
    size = _size(other, one)
    pairs = ((a, b * size) for a in one.values for b in other.values)
    return is_alike and any(math.isclose(a, b, rel_tol=CONVERTED) for a, b in pairs)


def _years_of(given: _Evidence) -> set[int]:
    alone = {int(number.values[0]) for number in given.numbers if number.is_year}
    return alone | {day.year for day in given.days if day.year}


def _is_day(year: int | None, month: int, day: int | None, given: _Evidence) -> bool:
    """Whether quotes hold a date. Its year may be apart from day and month.

    Where quotes name no month that is known, as in another language, day and year suffice.
    """
    dates = [(other.year, *part) for other in given.days for part in other.months]
    values = _all_values(given)
    if not dates:
        return all(part in values for part in (year, day) if part)
    return any(
        month == m and day in (None, d) and (year in (None, y) or (y is None and year in values))
        for y, m, d in dates
    )


def _all_values(given: _Evidence) -> frozenset[float]:
    return given.loose | {value for number in given.numbers for value in number.values}


# --- what follows from quotes -------------------------------------------------------------------


def _follows(quantity: Quantity, given: _Evidence, claim: str) -> bool:
    if not isinstance(quantity, Number) or quantity.exact:
        return False
    if quantity.span:
        century = quantity.span == "century"
        spans = {(y - 1) // 100 + 1 if century else y // 10 * 10 for y in _years_of(given)}
        return quantity.values[0] in spans
    if quantity.is_year:
        return _is_years_away(quantity, given)
    rules = (_is_rounded, _is_sum, _is_share, _is_span_of_years)
    return any(rule(quantity, given) for rule in rules) or _is_count(quantity, given, claim)


def _is_years_away(wanted: Number, given: _Evidence) -> bool:
    """Whether a year is so many years before or after another: "two years later"."""
    spans = [n.values[0] for n in given.numbers if n.unit == years_unit()]
    return any(abs(wanted.values[0] - year) in spans for year in _years_of(given))


def _is_rounded(wanted: Number, given: _Evidence) -> bool:
    """Whether a number after "about" or "more than" is one of the quotes, rounded."""
    if not wanted.rough:
        return False
    years = combinations(sorted(_years_of(given)), 2)
    spans = [Number("", (b - a,), years_unit()) for a, b in years]
    compared = (n for n in (*given.numbers, *spans) if not n.is_year)
    return any(
        _is_rounding(rounded, value * _size(number, wanted), wanted.rough)
        for number in compared
        if _have_one_dimension(wanted, number)
        for rounded in wanted.values
        for value in number.values
    )


def _is_rounding(rounded: float, exact: float, rough: str) -> bool:
    off, step = exact - rounded, _last_digit(rounded)
    if rough in ("over", "least"):
        return 0 <= off < step
    return abs(off) < step and abs(off) <= NEAR * abs(exact)


def _last_digit(value: float) -> float:
    """What the last digit of a number that is no zero counts: 1,000 for 68,000; 0.1 for 4.2."""
    text = f"{abs(value):.12g}"
    if "." in text and "e" not in text:
        return float(10.0 ** -len(text.partition(".")[2]))
    digits = f"{abs(value):.0f}"
    return float(10.0 ** (len(digits) - len(digits.rstrip("0"))))


def _is_sum(wanted: Number, given: _Evidence) -> bool:
    """Whether a number is the sum or the difference of two numbers, or of a score's."""
    added = [n for n in given.numbers if not n.is_year and not n.span][:MOST_ADDED]
    pairs = [pair for pair in combinations(added, 2) if _have_one_dimension(wanted, *pair)]
    values = [(a.values[0] * _size(a, wanted), b.values[0] * _size(b, wanted)) for a, b in pairs]
    values += [(float(a), float(b)) for a, b in (score.ends for score in given.scores)]
    made = (total for a, b in values for total in (a + b, abs(a - b)))
    return any(math.isclose(a, b, rel_tol=PRECISION) for b in made for a in wanted.values)


def _is_share(wanted: Number, given: _Evidence) -> bool:
    """Whether a percentage is what is left of 100, or follows from two numbers of one quote.

    That is the share of one in the other, or by how much one is changed to the other.
    """
    if not wanted.unit or wanted.unit.dimension != "share":
        return False
    step = min(1.0, _last_digit(wanted.values[0])) / 2
    made = [100 - n.values[0] for n in given.numbers if n.unit == wanted.unit]
    for numbers in given.by_text:
        divided = [n for n in numbers if not n.is_year and n.unit != wanted.unit][:MOST_DIVIDED]
        for a, b in permutations(divided, 2):
            made += _shares_of(a.values[0], b.values[0] * _size(b, a))
    return any(abs(share - value) <= step for share in made for value in wanted.values)


def _shares_of(part: float, whole: float) -> tuple[float, ...]:
    """The percentages of two numbers; one may lack its scale, as in `4.0 to 5.0 billion`."""
    if not whole or not math.isfinite(whole):
        return ()
    shares = (100 * part / whole * times for times in (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9))
    share = next((one for one in shares if 1 <= one <= 1e4), 0.0)
    return share, abs(share - 100)


def _have_one_dimension(*numbers: Number) -> bool:
    """Whether those of some numbers that have a known unit count things of one kind."""
    return len({number.unit.dimension for number in numbers if number.unit}) <= 1


def _size(number: Number, wanted: Number) -> float:
    """How many of the unit of a wanted number that of another one is."""
    return number.unit.size / wanted.unit.size if number.unit and wanted.unit else 1.0


def _is_span_of_years(wanted: Number, given: _Evidence) -> bool:
    """Whether a number is that of the years between two of the quotes, or an age by them."""
    if wanted.unit and wanted.unit.dimension != years_unit().dimension:
        return False
    size = wanted.unit.size / years_unit().size if wanted.unit else 1.0
    pairs = combinations(sorted(_years_of(given)), 2)
    spans = {float(b - a - less) for a, b in pairs for less in (0, 1)}
    return any(value * size in spans for value in wanted.values)


def _is_count(wanted: Number, given: _Evidence, claim: str) -> bool:
    """Whether a number is that of the items of a list in the quotes, or of its own list's items.

    The items of the claim's own list must be in the quotes.
    """
    number = wanted.values[0]
    if not 2 <= number <= MOST_ITEMS or wanted.unit:
        return False
    if any(number in list_lengths(text) for text in given.texts):
        return True
    there = plain_words(" ".join(given.texts))
    listed = (items for items in find_lists(claim[:LONGEST_CLAIM]) if number == len(items))
    return any(all(plain_words(item) & there for item in items) for items in listed)
