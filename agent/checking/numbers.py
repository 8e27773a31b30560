"""Numbers and dates as words of the checker: one key for each value, however it is written."""

from __future__ import annotations

import math

from agent.checking.words import Word
from agent.evidence.dates import numeric_date
from agent.evidence.numbers import digit_readings
from agent.evidence.words import normalize

TIMES = {"k": 1e3, "m": 1e6, "b": 1e9, "mn": 1e6, "bn": 1e9}


def number_key(value: float) -> str:
    """The one spelling of a number."""
    return f"#{value:.12g}"


def number_word(text: str, times: float = 1, unit: str = "", rough: bool = False) -> Word:
    """A number as written; `1.000` may be a thousand or one, and 1994 is one of the 1990s."""
    plain = normalize("NFKC", text).replace("٬", ",").replace("٫", ".")
    values = [value * times for value in digit_readings(plain)]
    if not math.isfinite(values[0]):
        return Word(text, "number", (f"#{plain}{unit}",), rough=rough)  # known by its digits alone
    keys = tuple(number_key(value) + unit for value in values)
    also = tuple(number_key(value) for value in values) if unit else ()
    if not unit and len(plain) == 4 and 1000 <= values[0] <= 2100:
        also = (number_key(values[0] // 10 * 10) + "s",)
    return Word(text, "number", keys, also, values[0], rough)


def date_words(text: str) -> list[Word]:
    """A date of digits as year, month and day; where either may be the month, as both."""
    year, fitting = numeric_date(text)
    month = Word(text, "number", tuple(f"@{month}" for month, _ in fitting))
    days = tuple(number_key(day) for _, day in fitting)
    return [number_word(year), month, Word(text, "number", days, value=float(fitting[0][1]))]
