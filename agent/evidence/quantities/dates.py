"""Dates and years in a text, found as written."""

from __future__ import annotations

import re
from functools import cache

from agent.evidence.language import LANGUAGES, load_months
from agent.evidence.words import strip_accents

# --- months ------------------------------------------------------------------------------------


@cache
def months() -> dict[str, int]:
    """The number of each month by its name in any language known here, without accents."""
    return {
        strip_accents(name): number
        for tag in LANGUAGES
        for number, spellings in enumerate(load_months(tag), 1)
        for name in spellings
    }


# --- patterns, made at first use ---------------------------------------------------------------


_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)")


def find_years(text: str) -> list[str]:
    """The years from 1000 to 2099 in a text, in order."""
    return _YEAR.findall(text)
