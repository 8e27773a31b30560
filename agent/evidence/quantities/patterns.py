"""The patterns by which quantities are read, and their tables, made at first use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import permutations
from typing import NamedTuple

from agent.evidence.language import LANGUAGES, load_months, month_names
from agent.evidence.quantities.dates import months
from agent.evidence.quantities.numbers import number_words, scales
from agent.evidence.words import UNSPACED, normalize, strip_accents, word_lists


class Unit(NamedTuple):
    """What a number counts: a dimension, and how many of its smallest units one is."""

    dimension: str
    size: float


def without_marks(text: str) -> str:
    """A decomposed text without accents and vowel signs."""
    if text.isascii():
        return text
    bare = "".join(char for char in text if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare)


def _table(name: str) -> list[list[str]]:
    return [entry.split() for entry in str(word_lists()["quantities"][name]).split("|")]


@cache
def _month() -> str:
    """Names of months; those of English and German with a capital: `may` is a verb."""
    capital = [name.capitalize() for name in month_names("en", "de").split("|")]
    capital += [name.upper() for name in capital if len(name) > 3]
    others = [tag for tag in LANGUAGES if tag not in ("en", "de")]
    spellings = [names for tag in others for names in load_months(tag)]
    # of three letters, the beginning of another name may be a word (`set`)
    plain = {
        one
        for names in spellings
        for one in names
        if len(one) > 3 or not any(x != one and x.startswith(one) for x in names)
    }
    bare = ([without_marks(normalize("NFKD", x)) for x in names] for names in (capital, plain))
    in_case, in_any = ("|".join(_longest_first(names)) for names in bare)
    return rf"(?:(?:{in_case})|(?i:{in_any}))\.?(?!\w)"


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=lambda name: (-len(name), name))


def month_number(name: str) -> int:
    """The number of a month by its name in a text."""
    return months()[strip_accents(name.rstrip("."))]


_DAY = r"(?:st|nd|rd|th|er|o|a|\.)?"
_YEAR = r"(?P<year>1\d{3}|20\d{2})(?![\d\w])"
_OF = r"(?:of |de |del |di |du |d')?"


@cache
def numeric_dates() -> re.Pattern[str]:
    """`2020-04-03`, `3.4.2020`."""
    return re.compile(
        r"(?<![\d.,/-])(?:(?P<year>\d{4})(?P<by>[-/.])(?P<m>\d{1,2})(?P=by)(?P<d>\d{1,2})"
        r"|(?P<a>\d{1,2})(?P<by2>[-/.])(?P<b>\d{1,2})(?P=by2)(?P<last>\d{4}))(?![\d/-]|\.\d)"
    )


@cache
def day_month() -> re.Pattern[str]:
    """`3 April 2020`, `3-5 April`."""
    return re.compile(
        rf"(?<![\w.,-])(?:(?P<first>\d{{1,2}}){_DAY}\s?(?:-|to|and|bis|und)\s?)?"
        rf"(?P<day>\d{{1,2}}){_DAY}\s{_OF}(?P<month>{_month()})(?:,?\s{_OF}{_YEAR})?"
    )


@cache
def month_day() -> re.Pattern[str]:
    """`April 3, 2020`."""
    return re.compile(
        rf"\b(?P<month>{_month()})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|[.,:]\d)"
        rf"(?:\s?(?:-|to|and)\s?(?P<last>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s{_YEAR})?"
    )


@cache
def month_year() -> re.Pattern[str]:
    """`April 2020`, `in April`."""
    prepositions = "in|since|until|till|by|from|during|early|late|mid|im|seit|bis|ab"
    return re.compile(
        rf"\b(?P<month>{_month()}),?\s{_OF}{_YEAR}"
        rf"|(?<!\w)(?:{prepositions})[ -](?P<alone>{_month()})(?=[\s.,;)]|$)"
    )


@cache
def east_asian_dates() -> re.Pattern[str]:
    """Dates in Chinese, Japanese and Korean."""
    return re.compile(
        r"(?<!\d)(?:(?P<y>\d{4})\s?[年년]\s?(?P<m>\d{1,2})\s?[月월](?:\s?(?P<d>\d{1,2})\s?[日号號일])?"
        r"|(?P<m2>\d{1,2})\s?[月월]\s?(?P<d2>\d{1,2})\s?[日号號일])"
    )


SEASON = re.compile(r"(?<![\d.,/-])(1\d{3}|20\d{2})[-/](\d{2})(?![\d/-]|[.,]\d)")
#: `mb/d`, million barrels per day: what the first letter may multiply by.
PREFIXES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
FRACTION = re.compile(
    r"(?i:\b(?:an?|one|two|three|four)[ -](?:half|third|quarter|fourth|fifth|tenth)s?\b)"
    r"|(?<![\d/])\d/\d(?![\d/])"
)
SCORE = re.compile(
    r"(?<![\w.,/-])(?P<a>\d{1,3})(?:\s?(?P<by>[-:])\s?|比)(?P<b>\d{1,3})(?![\w%]|[.,]\d|\s?[-:/]\d)"
)
SPAN = re.compile(
    r"\b(?P<decade>\d{3}0)(?:'?s\b|er\b|年代)"
    r"|\b(?:(?P<century>\d{1,2})(?:st|nd|rd|th|\.)?|(?P<spelled>[a-z]{4,12}teenth|twentieth))"
    r"(?:[ -](?:century|centuries|Jahrhunderts?)|世[纪紀])"
)


@cache
def number_pattern() -> re.Pattern[str]:
    """A number in digits with its sign of money, scale and unit."""
    digits = r"\d{1,3}(?:[ ']\d{3})+(?:[.,]\d{1,20})?(?!\d)|\d{1,1000}(?:[.,]\d{1,100}){0,12}"
    scale = rf"(?:(?!\sB\.\s?C)[\s-]?{scale_pattern().pattern}){{1,2}}"  # `539 B.C.` is a year
    return re.compile(
        rf"(?:(?P<money>US\$|[$€£¥₹])\s?)?(?P<name>[^\W\d_{UNSPACED}]-?)?"
        r"(?:(?<![\w)\]-])(?P<sign>-|(?i:minus )))?"
        rf"(?<![\d.,])(?P<digits>{digits})(?:st|nd|rd|th)?(?P<scale>{scale})?"
        rf"(?:{unit_pattern().pattern})?(?:(?=\s(?P<prefix>[kmbgtKMBGT])[a-z]{{1,3}}/[a-z]))?"
        r"(?![A-Za-z\d])"
    )


@cache
def scale_values() -> dict[str, float]:
    """What words and letters behind a number multiply it by."""
    more = {name: float(value) for value, *names in _table("scales") for name in names}
    letters = {"k": 1e3, "m": 1e6, "bn": 1e9, "b": 1e9, "mn": 1e6, "tn": 1e12}
    return {**scales(), **more, **letters}


@cache
def scale_pattern() -> re.Pattern[str]:
    """Words and letters that multiply a number."""
    return re.compile(rf"(?:{_names_in_text(scale_values().keys() - {'m'})}|M(?![^\W_]))\.?")


def _names_in_text(names: Iterable[str]) -> str:
    """Names as a text writes them, in any case; Chinese and Japanese without a blank behind."""
    longest = _longest_first(names)
    spaced = "|".join(re.escape(name) for name in longest if not _is_unspaced(name))
    signs = "|".join(re.escape(name) for name in longest if _is_unspaced(name))
    return rf"(?i:(?:{spaced})(?![^\W_])|{signs})"


def _is_unspaced(name: str) -> bool:
    return name[0] > "\u2e80"


@cache
def named_units() -> dict[str, Unit]:
    """Units by every name that they have."""
    return {
        name: Unit(dimension, float(size))
        for dimension, size, *names in _table("units")
        for name in map(strip_accents, names)
    }


@cache
def unit_factors() -> frozenset[float]:
    """How many of one unit another one of its dimension is, for any two."""
    pairs = permutations(set(named_units().values()), 2)
    return frozenset(a.size / b.size for a, b in pairs if a.dimension == b.dimension)


def years_unit() -> Unit:
    """A year as a unit."""
    return named_units()["years"]


@cache
def unit_pattern() -> re.Pattern[str]:
    """The name of a unit behind a number."""
    kinds = "working|business|calendar|light|metric|US|U\\.S\\.|American"
    return re.compile(rf"[\s-]?(?:(?:{kinds})\s)?(?P<unit>{_names_in_text(named_units())})")


@cache
def rough_pattern(kind: str) -> re.Pattern[str]:
    """Words of one kind of `ROUGH` before a number."""
    words = [" ".join(words) for words in _table(kind)]
    spaced = "|".join(word for word in words if not _is_unspaced(word))
    signs = "|".join(word for word in words if _is_unspaced(word))
    more = {"about": "|[~≈]", "over": "|>", "under": "|<"}.get(kind, "")
    return re.compile(rf"(?:(?<![^\W_])(?:{spaced})(?: (?:a|an|the|de|di))?|{signs}{more})$")


@cache
def loose_values() -> dict[str, tuple[float, ...]]:
    """The numbers that words of many languages mean."""
    found: dict[str, tuple[float, ...]] = {}
    for value, name in ((value, name) for value, *names in _table("loose") for name in names):
        found[name] = (*found.get(name, ()), float(value))
    return found


@cache
def word_pattern(is_evidence: bool) -> re.Pattern[str]:
    """Runs of number words: of English and German, in evidence of more languages."""
    words = {*number_words(), *scales()} - {"acht", "elf"}  # an eight, an eleven: English words
    words |= set(loose_values()) | {"acht", "elf"} if is_evidence else set()
    word = rf"(?:{'|'.join(_longest_first(words))})"
    run = rf"(?:(?:an?|one)[ ])?{word}(?:[ -](?:and )?{word})*"
    return re.compile(rf"(?<![^\W_]){run}(?![^\W_])", re.I)
