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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import islice, permutations
from string import capwords
from typing import NamedTuple

from agent.evidence.language import LANGUAGES, load_months, month_names
from agent.evidence.quantities import numbers
from agent.evidence.quantities.dates import months
from agent.evidence.quantities.numbers import CHINESE_DIGITS, number_words, scales
from agent.evidence.words import RAISED, UNSPACED, normalize, strip_accents, word_lists

YEARS = range(1000, 2101)
MOST_DIGITS = 12  # of a number that is compared by its value
#: Tables of words before a rounded number; those with longer words (`no more than`) first.
ROUGH = ("least", "most", "nearly", "over", "under", "about")
MOST_NUMBERS = 20_000  # of a text: many times more than a page of prose has; the rest is cut off


class Unit(NamedTuple):
    """What a number counts: a dimension, and how many of its smallest units one is."""

    dimension: str
    size: float


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
        """The numbers in it that may also stand alone: the year and the days."""
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
_MARK = "\x00"  # stands where a quantity was read, so that none is read twice


def _plain(text: str) -> str:
    """A text in one notation: ASCII digits and dashes, no accents, Chinese numerals as digits.

    Powers of ten are written out; another number's raised digits are the mark of a note.
    """
    text = _POWER.sub(_write_out, text) if "10" in text else text
    text = text if text.isascii() else RAISED.sub("", text)
    apart = normalize("NFKD", text.translate(_SIGNS)).translate(_SIGNS)
    return _NUMERALS.sub(_to_digits, _without_marks(apart))


#: `10⁶`, `3.2 × 10⁻⁴`, `10^6`, `10^(-4)`.
_POWER = re.compile(
    r"(?<![\w.,])(?:(\d{1,6}(?:[.,]\d{1,9})?)\s?[×xX·⋅∙*]\s?)?10"
    r"(?:\^\(?([-−+]?\d{1,2})\)?|([⁺⁻]?[⁰¹²³⁴-⁹]{1,2}))(?![\d.,]?\d)"
)


def _write_out(power: re.Match[str]) -> str:
    exponent = int(unicodedata.normalize("NFKC", power[2] or power[3]).replace("−", "-"))
    value = Decimal((power[1] or "1").replace(",", ".")).scaleb(exponent)
    return f"{value:f}"


def _without_marks(text: str) -> str:
    """A decomposed text without accents and vowel signs."""
    if text.isascii():
        return text
    bare = "".join(char for char in text if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare)


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
    """The quantities of one text. Each kind is read from what the ones before it left.

    `beside`: what a claim is held against. `the twelve letters` counts where that has four.
    """

    def __init__(self, text: str, *, is_evidence: bool = False, beside: Sequence[str] = ()) -> None:
        self._beside = beside
        self.quantities: list[Quantity] = []
        self.loose: set[float] = set()
        self._is_evidence = is_evidence
        plain = _plain(text)
        last = next(islice(re.finditer(r"\d+", plain), MOST_NUMBERS, None), None)
        self._text, self.is_cut = plain[: last.start() if last else None], bool(last)
        for pattern, read in (
            (_numeric_dates(), self._read_numeric_date),
            (_day_month(), self._read_days),
            (_month_day(), self._read_days),
            (_month_year(), self._read_days),
            (_east_asian_dates(), self._read_east_asian_date),
            (_SEASON, self._read_season),
            (_FRACTION, lambda _: None if is_evidence else []),
            (_SCORE, self._read_score),
            (_SPAN, self._read_span),
            (_number_pattern(), self._read_number),
            (_word_pattern(is_evidence), self._read_words),
        ):
            self._take(pattern, read)

    def _take(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], _Found]) -> None:
        """Read all matches of a pattern; `read` gives None for what it leaves as it is."""

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
        """A day, or the first and the last of several; a month with its year, or alone."""
        groups = match.groupdict()
        month = _month_number(groups["month"] or match["alone"])
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
        if _unit_pattern().match(match.string, match.end()) and match["by"] != ":":
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
        unit = _units().get(money[-1:]) or _units().get(strip_accents(match["unit"] or ""))
        found = _scale_pattern().findall(scale)
        names = (unicodedata.normalize("NFC", strip_accents(name.rstrip("."))) for name in found)
        times = math.prod(_scales()[name] for name in names)
        if money and match["unit"] == "m":  # $5m
            times *= 1e6
        if match["sign"]:
            times = -times
        if self._is_evidence and " " in digits:
            self.loose |= {float(part) for part in digits.split() if part.isdecimal()}
        text = match[0].removeprefix(match["name"] or "").strip()
        values = tuple(value * times for value in numbers.digit_readings(digits))
        if match["prefix"] and not self._is_evidence:
            values += tuple(value * _PREFIXES[match["prefix"].lower()] for value in values)
        plain = re.sub(r"\D", "", digits)
        exact = plain if len(plain) > MOST_DIGITS and not found else ""
        return [Number(text, values, unit, self._rough(match.start()), exact=exact)]

    def _rough(self, at: int) -> str:
        """How a number at an offset is rounded, by the words before it; of a claim alone."""
        return "" if self._is_evidence else find_rounding(self._text, at)[0]

    def _read_words(self, match: re.Match[str]) -> Sequence[Quantity]:
        """The numbers written out in a run of number words."""
        found: list[Quantity] = []
        words = [strip_accents(word) for word in re.split(r"[\s-]+", match[0])]
        is_plain = len(words) == 1 and words[0] in numbers.small_cardinals()
        if is_plain and self._follows_article(match.start()) and not self._counts_here(match):
            return []  # `the two schemes`: which ones, not how many
        if self._is_evidence:
            self.loose |= {value for word in words for value in _loose_values().get(word, ())}
        at = 0
        while at < len(words):
            used, value = numbers.read_number_words(words[at : at + 8])
            if used and (used > 1 or not words[at].endswith("s")):
                text = match[0] if used == len(words) else " ".join(words[at : at + used])
                found.append(self._make_number(match, text, value))
            at += used or 1
        return found

    def _counts_here(self, match: re.Match[str]) -> bool:
        """Whether this is evidence, or what stands beside it counts others of the same name."""
        noun = " ".join(match.string[match.end() :].split()[:1]).rstrip(".,;:!?")
        others = "|".join(numbers.small_cardinals() - {match[0].casefold()})
        rival = re.compile(rf"(?<!\w)(?:{others}) {re.escape(noun)}(?!\w)", re.I)
        return self._is_evidence or any(rival.search(text) for text in self._beside if noun)

    def _follows_article(self, at: int) -> bool:
        before = self._text[max(0, at - 10) : at].casefold().split()
        return bool(before) and before[-1] in word_lists()["quantities"]["definite"].split()

    def _make_number(self, match: re.Match[str], text: str, value: float) -> Number:
        found = _unit_pattern().match(match.string, match.end())
        unit = _units()[strip_accents(found["unit"])] if found else None
        return Number(text, (value,), unit, self._rough(match.start()))


def find_rounding(text: str, at: int) -> tuple[str, int]:
    """Which of `ROUGH` stands before an offset, and where its words begin; "" for none."""
    begin = max(0, at - 30)
    before = strip_accents(text[begin:at]).rstrip(" $€£¥")
    found = ((kind, _rough_pattern(kind).search(before)) for kind in ROUGH)
    return next(((kind, begin + match.start()) for kind, match in found if match), ("", at))


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


# --- patterns and tables, made at first use -----------------------------------------------------


def _table(name: str) -> list[list[str]]:
    """The entries of a table of `words.toml`, which bars divide."""
    return [entry.split() for entry in str(word_lists()["quantities"][name]).split("|")]


@cache
def _month() -> str:
    """Names of months; those of English and German with a capital: `may` is a verb."""
    capital = [name.capitalize() for name in month_names("en", "de").split("|")]
    capital += [name.upper() for name in capital if len(name) > 3]
    others = [tag for tag in LANGUAGES if tag not in ("en", "de")]
    spellings = [names for tag in others for names in load_months(tag)]
    # of three letters, the beginning of another name may be a word (`set`)
    told = {
        one
        for names in spellings
        for one in names
        if len(one) > 3 or not any(x != one and x.startswith(one) for x in names)
    }
    bare = ([_without_marks(normalize("NFKD", x)) for x in names] for names in (capital, told))
    in_case, in_any = ("|".join(_longest_first(names)) for names in bare)
    return rf"(?:(?:{in_case})|(?i:{in_any}))\.?(?!\w)"


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=lambda name: (-len(name), name))


def _month_number(name: str) -> int:
    return months()[strip_accents(name.rstrip("."))]


_DAY = r"(?:st|nd|rd|th|er|o|a|\.)?"
_YEAR = r"(?P<year>1\d{3}|20\d{2})(?![\d\w])"
_OF = r"(?:of |de |del |di |du |d')?"


@cache
def _numeric_dates() -> re.Pattern[str]:
    return re.compile(
        r"(?<![\d.,/-])(?:(?P<year>\d{4})(?P<by>[-/.])(?P<m>\d{1,2})(?P=by)(?P<d>\d{1,2})"
        r"|(?P<a>\d{1,2})(?P<by2>[-/.])(?P<b>\d{1,2})(?P=by2)(?P<last>\d{4}))(?![\d/-]|\.\d)"
    )


@cache
def _day_month() -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w.,-])(?:(?P<first>\d{{1,2}}){_DAY}\s?(?:-|to|and|bis|und)\s?)?"
        rf"(?P<day>\d{{1,2}}){_DAY}\s{_OF}(?P<month>{_month()})(?:,?\s{_OF}{_YEAR})?"
    )


@cache
def _month_day() -> re.Pattern[str]:
    return re.compile(
        rf"\b(?P<month>{_month()})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|[.,:]\d)"
        rf"(?:\s?(?:-|to|and)\s?(?P<last>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s{_YEAR})?"
    )


@cache
def _month_year() -> re.Pattern[str]:
    prepositions = "in|since|until|till|by|from|during|early|late|mid|im|seit|bis|ab"
    return re.compile(
        rf"\b(?P<month>{_month()}),?\s{_OF}{_YEAR}"
        rf"|(?<!\w)(?:{prepositions})[ -](?P<alone>{_month()})(?=[\s.,;)]|$)"
    )


@cache
def _east_asian_dates() -> re.Pattern[str]:
    return re.compile(
        r"(?<!\d)(?:(?P<y>\d{4})\s?[年년]\s?(?P<m>\d{1,2})\s?[月월](?:\s?(?P<d>\d{1,2})\s?[日号號일])?"
        r"|(?P<m2>\d{1,2})\s?[月월]\s?(?P<d2>\d{1,2})\s?[日号號일])"
    )


_SEASON = re.compile(r"(?<![\d.,/-])(1\d{3}|20\d{2})[-/](\d{2})(?![\d/-]|[.,]\d)")
#: `mb/d`, million barrels per day: what the first letter may multiply by.
_PREFIXES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_FRACTION = re.compile(
    r"(?i:\b(?:an?|one|two|three|four)[ -](?:half|third|quarter|fourth|fifth|tenth)s?\b)"
    r"|(?<![\d/])\d/\d(?![\d/])"
)
_SCORE = re.compile(
    r"(?<![\w.,/-])(?P<a>\d{1,3})(?:\s?(?P<by>[-:])\s?|比)(?P<b>\d{1,3})(?![\w%]|[.,]\d|\s?[-:/]\d)"
)
_SPAN = re.compile(
    r"\b(?P<decade>\d{3}0)(?:'?s\b|er\b|年代)"
    r"|\b(?:(?P<century>\d{1,2})(?:st|nd|rd|th|\.)?|(?P<spelled>[a-z]{4,12}teenth|twentieth))"
    r"(?:[ -](?:century|centuries|Jahrhunderts?)|世[纪紀])"
)


@cache
def _number_pattern() -> re.Pattern[str]:
    digits = r"\d{1,3}(?:[ ']\d{3})+(?:[.,]\d{1,20})?(?!\d)|\d{1,1000}(?:[.,]\d{1,100}){0,12}"
    scale = rf"(?:(?!\sB\.\s?C)[\s-]?{_scale_pattern().pattern}){{1,2}}"  # `539 B.C.` is a year
    return re.compile(
        rf"(?:(?P<money>US\$|[$€£¥₹])\s?)?(?P<name>[^\W\d_{UNSPACED}]-?)?"
        r"(?:(?<![\w)\]-])(?P<sign>-|(?i:minus )))?"
        rf"(?<![\d.,])(?P<digits>{digits})(?:st|nd|rd|th)?(?P<scale>{scale})?"
        rf"(?:{_unit_pattern().pattern})?(?:(?=\s(?P<prefix>[kmbgtKMBGT])[a-z]{{1,3}}/[a-z]))?"
        r"(?![A-Za-z\d])"
    )


@cache
def _scales() -> dict[str, float]:
    more = {name: float(value) for value, *names in _table("scales") for name in names}
    letters = {"k": 1e3, "m": 1e6, "bn": 1e9, "b": 1e9, "mn": 1e6, "tn": 1e12}
    return {**scales(), **more, **letters}


@cache
def _scale_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?:{_names_in_text(_scales().keys() - {'m'})}|M(?![^\W_]))\.?")


def _names_in_text(names: Iterable[str]) -> str:
    """Names as they stand in a text, in any case; Chinese and Japanese without a blank behind."""
    longest = _longest_first(names)
    spaced = "|".join(re.escape(name) for name in longest if not _is_unspaced(name))
    signs = "|".join(re.escape(name) for name in longest if _is_unspaced(name))
    return rf"(?i:(?:{spaced})(?![^\W_])|{signs})"


def _is_unspaced(name: str) -> bool:
    return name[0] > "\u2e80"


@cache
def _units() -> dict[str, Unit]:
    """Units by every name that they have."""
    return {
        name: Unit(dimension, float(size))
        for dimension, size, *names in _table("units")
        for name in map(strip_accents, names)
    }


@cache
def unit_factors() -> frozenset[float]:
    """How many of one unit another one of its dimension is, for any two."""
    pairs = permutations(set(_units().values()), 2)
    return frozenset(a.size / b.size for a, b in pairs if a.dimension == b.dimension)


def years_unit() -> Unit:
    """A year as a unit."""
    return _units()["years"]


@cache
def _unit_pattern() -> re.Pattern[str]:
    kinds = "working|business|calendar|light|metric|US|U\\.S\\.|American"
    return re.compile(rf"[\s-]?(?:(?:{kinds})\s)?(?P<unit>{_names_in_text(_units())})")


@cache
def _rough_pattern(kind: str) -> re.Pattern[str]:
    words = [" ".join(words) for words in _table(kind)]
    spaced = "|".join(word for word in words if not _is_unspaced(word))
    signs = "|".join(word for word in words if _is_unspaced(word))
    more = {"about": "|[~≈]", "over": "|>", "under": "|<"}.get(kind, "")
    return re.compile(rf"(?:(?<![^\W_])(?:{spaced})(?: (?:a|an|the|de|di))?|{signs}{more})$")


@cache
def _loose_values() -> dict[str, tuple[float, ...]]:
    """The numbers that words of many languages may stand for."""
    found: dict[str, tuple[float, ...]] = {}
    for value, name in ((value, name) for value, *names in _table("loose") for name in names):
        found[name] = (*found.get(name, ()), float(value))
    return found


@cache
def _word_pattern(is_evidence: bool) -> re.Pattern[str]:
    """Runs of number words: of English and German, in evidence of more languages."""
    known = {*number_words(), *scales()} - {"acht", "elf"}  # an eight, an eleven: English words
    known |= set(_loose_values()) | {"acht", "elf"} if is_evidence else set()
    word = rf"(?:{'|'.join(_longest_first(known))})"
    run = rf"(?:(?:an?|one)[ ])?{word}(?:[ -](?:and )?{word})*"
    return re.compile(rf"(?<![^\W_]){run}(?![^\W_])", re.I)
