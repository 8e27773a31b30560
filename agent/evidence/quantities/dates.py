"""Dates and years in a text, found as they stand there."""

from __future__ import annotations

import re
from functools import cache

from agent.evidence.language import LANGUAGES, load_language, month_pattern
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


# --- reading -----------------------------------------------------------------------------------


def find_years(text: str) -> list[str]:
    """The years from 1000 to 2099 in a text, in order."""
    return _YEAR.findall(text)


def date_spans(text: str) -> list[tuple[int, int]]:
    """Where dates, years, days and times of day stand in a text."""
    return [match.span() for match in _date_pattern().finditer(text)]


def find_dates(text: str) -> list[str]:
    """The dates, years, days and times of day in a text, as they stand there."""
    return [text[start:end].strip(" ,") for start, end in date_spans(text)]
