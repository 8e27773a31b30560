"""Quantities as they are read: the numbers, dates and scores of a text, with their values.

What is read is the value, not the notation: `1.000`, `1,000` and `one thousand` are one number,
`4.2 million` is `4,200,000`, `3 April 2020` is `2020-04-03`. What cannot be read for sure (a number
in the words of a language that is not known here, a fraction, a number in a name such as `F-16`)
is no quantity.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from itertools import islice
from string import capwords
from typing import NamedTuple

from agent.evidence.quantities import numbers, patterns
from agent.evidence.quantities.numbers import CHINESE_DIGITS, number_words
from agent.evidence.quantities.patterns import Unit
from agent.evidence.words import RAISED, normalize, strip_accents

YEARS = range(1000, 2101)
MOST_DIGITS = 12  # of a number that is compared by its value
#: Tables of words before a rounded number; those with longer words (`no more than`) first.
ROUGH = ("least", "most", "nearly", "over", "under", "about")
MOST_NUMBERS = 20_000  # of a text: many times more than a page of prose has; the rest is cut off


class Number(NamedTuple):
    """A number of a text: the values that its notation may have, and the unit, if it is known."""

    text: str
    values: tuple[float, ...]
    unit: Unit | None = None
    rough: str = ""  # one of `ROUGH`, after such a word
    span: str = ""  # `century` or `decade`: then any of its years gives it
    exact: str = ""  # the digits, if they are more than a float tells apart: then they are compared

    @property
    def is_year(self) -> bool:
        """Whether it looks like a year."""
        value = self.values[0]
        is_in_range = YEARS.start <= value < YEARS.stop  # `in` would search the range for a float
        return not self.unit and not self.span and is_in_range and self.text.isdigit()


class Day(NamedTuple):
    """A date of a text, or a part of one. `months` has two where either number may be it."""

    text: str
    year: int | None
    months: tuple[tuple[int, int | None], ...]  # each with its day

    @property
    def parts(self) -> tuple[int, ...]:
        """The numbers in it that may also be alone: the year and the days."""
        days = tuple(day for _, day in self.months if day)
        return (*days, self.year) if self.year else days


class Score(NamedTuple):
    """A result of a match, or the two ends of a range; which comes first does not count."""

    text: str
    ends: tuple[int, int]


Quantity = Number | Day | Score
_Found = Sequence[Quantity] | None


_DIGITS = {
    ord(char): str(unicodedata.decimal(char))
    for block in (0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6)
    + (0xD66, 0xE50, 0xED0, 0xF20, 0x1040, 0x17E0, 0x1810)
    for char in map(chr, range(block, block + 10))
}
_SIGNS = _DIGITS | {
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
    **dict.fromkeys(map(ord, "’‘ʼ`´"), "'"),
    ord("٬"): ",",
    ord("٫"): ".",
    ord("٪"): "%",
}
_MARK = "\x00"  # replaces a quantity that was read, so that none is read twice


def _plain(text: str) -> str:
    """A text in one notation: ASCII digits and dashes, no accents, Chinese numerals as digits.

    Powers of ten are written out; another number's raised digits are the mark of a note.
    """
    text = _POWER.sub(_write_out, text) if "10" in text else text
    text = text if text.isascii() else RAISED.sub("", text)
    apart = normalize("NFKD", text.translate(_SIGNS)).translate(_SIGNS)
    return _NUMERALS.sub(_to_digits, patterns.without_marks(apart))


#: `10⁶`, `3.2 × 10⁻⁴`, `10^6`, `10^(-4)`.
_POWER = re.compile(
    r"(?<![\w.,])(?:(\d{1,6}(?:[.,]\d{1,9})?)\s?[×xX·⋅∙*]\s?)?10"
    r"(?:\^\(?([-−+]?\d{1,2})\)?|([⁺⁻]?[⁰¹²³⁴-⁹]{1,2}))(?![\d.,]?\d)"
)


def _write_out(power: re.Match[str]) -> str:
    exponent = int(unicodedata.normalize("NFKC", power[2] or power[3]).replace("−", "-"))
    value = Decimal((power[1] or "1").replace(",", ".")).scaleb(exponent)
    return f"{value:f}"


#: Chinese numerals that are meant as a number: several, or one before a counter.
_NUMERALS = re.compile(
    rf"[{''.join(CHINESE_DIGITS)}]{{2,20}}|[{''.join(CHINESE_DIGITS)}]"
    r"(?=[年月日号號名个個人次岁歳届回場场球枚座位米元%点分本冊件社か])"
)


def _to_digits(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - 1) : found.start()]
    if before.isdigit():  # the scale of digits: 420万
        return found[0]
    value = numbers.chinese_value(found[0])
    return f"{value:.0f}" if value < 1e15 else found[0]


class Reader:
    """The quantities of one text. Each kind is read from what the ones before it left."""

    def __init__(self, text: str, *, is_evidence: bool = False) -> None:
        self.quantities: list[Quantity] = []
        self.loose: set[float] = set()
        self._is_evidence = is_evidence
        plain = _plain(text)
        last = next(islice(re.finditer(r"\d+", plain), MOST_NUMBERS, None), None)
        self._text, self.is_cut = plain[: last.start() if last else None], bool(last)
        for pattern, read in (
            (patterns.numeric_dates(), self._read_numeric_date),
            (patterns.day_month(), self._read_days),
            (patterns.month_day(), self._read_days),
            (patterns.month_year(), self._read_days),
            (patterns.east_asian_dates(), self._read_east_asian_date),
            (patterns.SEASON, self._read_season),
            (patterns.FRACTION, lambda _: None if is_evidence else []),
            (patterns.SCORE, self._read_score),
            (patterns.SPAN, self._read_span),
            (patterns.number_pattern(), self._read_number),
            (patterns.word_pattern(is_evidence), self._read_words),
        ):
            self._take(pattern, read)

    def _take(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], _Found]) -> None:
        def replace(match: re.Match[str]) -> str:
            found = read(match)
            self.quantities += found or ()
            return match[0] if found is None else _MARK * len(match[0])

        self._text = pattern.sub(replace, self._text)

    # --- dates ---

    def _read_numeric_date(self, match: re.Match[str]) -> _Found:
        if match["year"]:
            year, pairs = match["year"], [(match["m"], match["d"])]
        else:
            pairs = [(match["b"], match["a"]), (match["a"], match["b"])]
            year, pairs = match["last"], pairs[: 1 if match["by2"] == "." else 2]
        fitting = tuple((int(m), int(d)) for m, d in pairs if 0 < int(m) < 13 and 0 < int(d) < 32)
        return [Day(match[0], int(year), fitting)] if fitting else None

    def _read_days(self, match: re.Match[str]) -> _Found:
        groups = match.groupdict()
        month = patterns.month_number(groups["month"] or match["alone"])
        days = [int(day) for day in map(groups.get, ("first", "day", "last")) if day]
        if not all(0 < day < 32 for day in days):
            return None
        return [Day(match[0], _int(groups["year"]), ((month, day),)) for day in days or (None,)]

    def _read_east_asian_date(self, match: re.Match[str]) -> _Found:
        month, day = int(match["m"] or match["m2"]), _int(match["d"] or match["d2"])
        return [Day(match[0], _int(match["y"]), ((month, day),))] if 0 < month < 13 else None

    def _read_season(self, match: re.Match[str]) -> _Found:
        first, last = match[1], match[1][:2] + match[2]
        return [Number(year, (float(year),)) for year in (first, last)] if last > first else None

    # --- scores, spans and numbers ---

    def _read_score(self, match: re.Match[str]) -> _Found:
        if patterns.unit_pattern().match(match.string, match.end()) and match["by"] != ":":
            return None  # a range: 10-15 years
        return [Score(match[0], (int(match["a"]), int(match["b"])))]

    def _read_span(self, match: re.Match[str]) -> _Found:
        if match["decade"]:
            return [Number(match[0], (float(match["decade"]),), span="decade")]
        spelled = strip_accents(match["spelled"] or "")
        value = float(match["century"] or number_words().get(spelled.replace(" ", "-"), 0))
        return [Number(match[0], (value,), span="century")] if value else None

    def _read_number(self, match: re.Match[str]) -> _Found:
        digits, scale, money = match["digits"], match["scale"] or "", match["money"] or ""
        is_year = len(digits) == 4 and digits.isdecimal() and int(digits) in YEARS
        if match["name"] and not self._is_evidence and not is_year:
            return []
        unit = patterns.named_units().get(money[-1:]) or patterns.named_units().get(
            strip_accents(match["unit"] or "")
        )
        found = patterns.scale_pattern().findall(scale)
        names = (unicodedata.normalize("NFC", strip_accents(name.rstrip("."))) for name in found)
        times = math.prod(patterns.scale_values()[name] for name in names)
        if money and match["unit"] == "m":  # $5m
            times *= 1e6
        if match["sign"]:
            times = -times
        if self._is_evidence and " " in digits:
            self.loose |= {float(part) for part in digits.split() if part.isdecimal()}
        text = match[0].removeprefix(match["name"] or "").strip()
        values = tuple(value * times for value in numbers.digit_readings(digits))
        if match["prefix"] and not self._is_evidence:
            values += tuple(value * patterns.PREFIXES[match["prefix"].lower()] for value in values)
        plain = re.sub(r"\D", "", digits)
        exact = plain if len(plain) > MOST_DIGITS and not found else ""
        return [Number(text, values, unit, self._rough(match.start()), exact=exact)]

    def _rough(self, at: int) -> str:
        """Which of `ROUGH` the words before an offset of a claim are; "" for none."""
        before = strip_accents(self._text[max(0, at - 30) : at]).rstrip(" $€£¥")
        found = (kind for kind in ROUGH if patterns.rough_pattern(kind).search(before))
        return "" if self._is_evidence else next(found, "")

    def _read_words(self, match: re.Match[str]) -> Sequence[Quantity]:
        found: list[Quantity] = []
        words = [strip_accents(word) for word in re.split(r"[\s-]+", match[0])]
        if self._is_evidence:
            self.loose |= {
                value for word in words for value in patterns.loose_values().get(word, ())
            }
        at = 0
        while at < len(words):
            used, value = numbers.read_number_words(words[at : at + 8])
            if used and (used > 1 or not words[at].endswith("s")):
                text = match[0] if used == len(words) else " ".join(words[at : at + used])
                found.append(self._make_number(match, text, value))
            at += used or 1
        return found

    def _make_number(self, match: re.Match[str], text: str, value: float) -> Number:
        found = patterns.unit_pattern().match(match.string, match.end())
        unit = patterns.named_units()[strip_accents(found["unit"])] if found else None
        return Number(text, (value,), unit, self._rough(match.start()))


def _int(digits: str | None) -> int | None:
    return int(digits) if digits else None


# --- dates and scores alone ---------------------------------------------------------------------


def iso_dates(text: str, *, any_order: bool = False, year: int | None = None) -> Iterator[str]:
    """The full dates in a text, as ISO 8601; those without a year are of the given one.

    Of `3/4/2020` it is not known which number is the month: it gives no date, or with `any_order`
    both. `3.4.2020` is the third of April.
    """
    for day in Reader(capwords(text)).quantities:  # `3 april 2020` too
        if isinstance(day, Day) and (any_order or len(set(day.months)) == 1):
            for month, number in day.months:
                with suppress(ValueError):  # 31 February; no year; a month alone
                    yield date(day.year or year or 0, month, number or 0).isoformat()


def parse_date(text: str) -> date | None:
    """The first full date in a text."""
    return next(map(date.fromisoformat, iso_dates(text)), None)


def read_scores(text: str) -> set[tuple[int, int]]:
    """The scores in a text as pairs: `4–2` is (4, 2)."""
    return {one.ends for one in Reader(text).quantities if isinstance(one, Score)}
