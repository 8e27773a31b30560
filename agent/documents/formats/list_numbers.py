"""Numbers of lists as letters and Roman numerals."""

from __future__ import annotations

MAX_LETTERED = 1000  # from which on a letter or a Roman numeral is written as a number
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
#: The ways of HTML to write a number; others are written in digits.
WAYS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


def write_number(number: int, way: str) -> str:
    """A number as letters or Roman numerals where they are asked for, else in digits."""
    told = str(number)
    if way.endswith("Letter") and 0 < number < MAX_LETTERED:
        told = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif way.endswith("Roman") and 0 < number < MAX_LETTERED:
        told = ""
        for value, letters in _ROMAN:
            told += letters * (number // value)
            number %= value
    return told.upper() if way.startswith("upper") else told
