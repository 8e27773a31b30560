"""Dates and years in a text: found as they stand there, or read as ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

from agent.evidence.language import LANGUAGES, load_language, month_names, month_pattern
from agent.evidence.words import strip_accents

# --- months ------------------------------------------------------------------------------------


@cache
def months() -> dict[str, int]:
    """The number of each month by its name in any language known here, without accents."""
    return {
        strip_accents(name): number
        for tag in LANGUAGES
        for number, spellings in enumerate(load_language(tag).months, 1)
        for name in spellings
    }


# --- patterns, made at first use ---------------------------------------------------------------


_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)")
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})([./])(\d{1,2})[./](\d{4})(?!\d)")


@cache
def _date_pattern() -> re.Pattern[str]:
    month = month_pattern()
    return re.compile(
        rf"\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{month},? \d{{4}}"
        rf"|{month} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
        rf"|\d{{4}}-\d{{2}}-\d{{2}}|\d{{4}}年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?|{month},? \d{{4}}"
        rf"|\b\d{{1,2}}\.? {month}(?!\w)|{month} \d{{1,2}}\b"
        r"|\b(?:1\d{3}|20\d{2})s?\b|\b\d{1,2}(?:st|nd|rd|th)(?:[ -]century| of the month)"
        r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b"
        r"(?: at \d{1,2}(?::\d\d)?(?: ?[ap]\.?m\.?)?)?"
        r"|\b\d{1,2}:\d\d\b|\b\d{1,2} ?[ap]\.?m\b\.?"
    )


@cache
def _full_date_patterns() -> tuple[tuple[re.Pattern[str], tuple[int, int, int]], ...]:
    """Patterns of a full date, with the places of year, month and day among their groups."""
    month = rf"({month_names('en', 'de')})\.?"
    return (
        (re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)"), (1, 2, 3)),
        (re.compile(r"(?<!\d)(\d{4})年(\d{1,2})月(\d{1,2})日"), (1, 2, 3)),
        (
            re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?{month},?\s(\d{{4}})\b"),
            (3, 2, 1),
        ),
        (re.compile(rf"\b{month}\s(\d{{1,2}})(?:st|nd|rd|th)?,?\s(\d{{4}})\b"), (3, 1, 2)),
    )


# --- reading -----------------------------------------------------------------------------------


def find_years(text: str) -> list[str]:
    """The years from 1000 to 2099 in a text, in order."""
    return _YEAR.findall(text)


def is_year(text: str) -> bool:
    """Whether a text is a year and nothing else."""
    return bool(_YEAR.fullmatch(text))


def date_spans(text: str) -> list[tuple[int, int]]:
    """Where dates, years, days and times of day stand in a text."""
    return [match.span() for match in _date_pattern().finditer(text)]


def find_dates(text: str) -> list[str]:
    """The dates, years, days and times of day in a text, as they stand there."""
    return [text[start:end].strip(" ,") for start, end in date_spans(text)]


def iso_dates(text: str, *, any_order: bool = False) -> Iterator[str]:
    """The full dates in a text, as ISO 8601.

    Of `3/4/2020` it is not known which number is the month: it gives no date, or with `any_order`
    both. `3.4.2020` is the third of April.
    """
    folded = text.casefold()
    for pattern, (year, month, day) in _full_date_patterns():
        for match in pattern.finditer(folded):
            yield from _to_iso(match[year], match[month], match[day])
    for match in _SLASHED.finditer(folded):
        first, second = match[1], match[3]
        if any_order or match[2] == "." or first == second or int(first) > 12:
            yield from _to_iso(match[4], second, first)
        if match[2] == "/" and (any_order or int(second) > 12):
            yield from _to_iso(match[4], first, second)


def _to_iso(year: str, month: str, day: str) -> Iterator[str]:
    number = int(month) if month.isdigit() else months()[strip_accents(month)]
    try:
        yield date(int(year), number, int(day)).isoformat()
    except ValueError:  # 31 February
        return


def parse_date(text: str) -> date | None:
    """The first full date in a text."""
    return next((date.fromisoformat(day) for day in iso_dates(text)), None)


def complete_dates(text: str, year: str) -> str:
    """A text in lower case, with a year behind each day and month that has none."""
    return _yearless_pattern().sub(rf"\1 {year}", text.casefold())


@cache
def _yearless_pattern() -> re.Pattern[str]:
    month = rf"(?:{month_names('en', 'de')})\.?"
    return re.compile(rf"(\d{{1,2}}\.?\s{month}|{month}\s\d{{1,2}})(?!,?\s\d{{4}}|\d)")
