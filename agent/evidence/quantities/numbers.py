"""Numbers in a text: found with their units as written, or read as values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from agent.evidence.words import word_lists

# --- numbers in words --------------------------------------------------------------------------

CHINESE_DIGITS = {c: float(i) for i, c in enumerate("零一二三四五六七八九")}
CHINESE_DIGITS |= {"〇": 0, "两": 2, "十": 10, "百": 100, "千": 1000, "万": 1e4, "亿": 1e8}


@cache
def _load_values(name: str) -> dict[str, float]:
    words = word_lists()["numbers"][name].split()
    return {word: float(value) for word, value in zip(words[::2], words[1::2], strict=True)}


def cardinals() -> dict[str, float]:
    """English number words that count (`two`, `twenty`, `dozen`), and their values."""
    return _load_values("cardinals")


def number_words() -> dict[str, float]:
    """Number words of English and German, ordinals too, and their values."""
    return cardinals() | _load_values("ordinals") | _load_values("german")


def scales() -> dict[str, float]:
    """Words that multiply what is before them (`hundred`, `million`), and by how much."""
    return _load_values("scales")


def read_number_words(words: list[str]) -> tuple[int, float]:
    """How many of some folded words are one number written out, and its value.

    `one` and `a` are numbers only next to others: alone they count nothing.
    """
    total = part = 0.0
    used = counted = 0
    for i, word in enumerate(words):
        scale, value = scales().get(word), _word_value(word, i)
        if scale:
            part = (part or 1) * scale
            total, part = (total + part, 0.0) if scale >= 1000 else (total, part)
        elif value is not None and _continues_number(part, value, i):
            part += value
        elif word != "and" or not part >= 100 or not _word_value((words + [""])[i + 1], i):
            break
        counted += bool(scale) or (value is not None and word not in ("a", "one"))
        used = i + 1
    return (used, total + part) if counted else (0, 0.0)


def _word_value(word: str, at: int) -> float | None:
    return 1.0 if word == "one" or (word == "a" and not at) else number_words().get(word)


def _continues_number(part: float, value: float, at: int) -> bool:
    """Whether a numeral goes on the one before it: `twenty` `one`, `hundred` `five`."""
    if not at or not part:
        return True
    return value < (100 if part % 100 == 0 else 10 if part >= 20 and part % 10 == 0 else 0)


def chinese_value(run: str) -> float:
    """The value of Chinese numerals: 一百二十 is 120, 二〇二二 is 2022."""
    if all(CHINESE_DIGITS[c] < 10 for c in run):
        return float("".join(str(int(CHINESE_DIGITS[c])) for c in run[:15]))
    total = part = digit = 0.0
    for value in (CHINESE_DIGITS[c] for c in run):
        if value < 10:
            digit = value
        elif value < 1e4:
            part, digit = part + (digit or 1) * value, 0.0
        else:
            total, part, digit = (total + part + digit or 1) * value, 0.0, 0.0
    return total + part + digit


# --- numbers in digits -------------------------------------------------------------------------


def digit_readings(text: str) -> list[float]:
    """What digits with separators may mean; infinity where they are too many."""
    *whole, last = text.replace(" ", "").replace("'", "").replace(",", ".").split(".")
    bare = float("".join((*whole, last)))
    if not whole or (len(whole) > 1 and len(last) == 3):
        return [bare]
    decimal = float("".join(whole) + "." + last)
    if len(last) != 3:
        return [decimal]
    return [bare] if "," in text else [decimal, bare]


MOST_NUMBERS = 100_000  # of a text
_GOES_ON = re.compile(r"[.,]?\d|\+\d")


@cache
def _number_pattern() -> re.Pattern[str]:
    return re.compile(
        r"(?<![\w.,+])([-−]?)(\d{1,3}(?:[,\u00a0\u202f ]\d{3})+(?!\d)|\d+)(\.\d+)?"
        rf"(?:\s?({'|'.join(scales())})\b)?"
    )


def read_numbers(text: str) -> Iterator[tuple[int | float, tuple[int, int]]]:
    """The numbers in digits of a text in lower case, and the place of each.

    Numbers that no float can hold, of 309 digits and more, are left out; so are those that follow
    `MOST_NUMBERS` others.
    """
    for match in islice(_number_pattern().finditer(text), MOST_NUMBERS):
        if _GOES_ON.match(text, match.end()):
            continue
        digits = re.sub(r"\D", "", match[2])
        number = float(digits + (match[3] or "")) * scales().get(match[4] or "", 1)
        if math.isfinite(number):
            number = -number if match[1] else number
            yield int(number) if number == int(number) else number, match.span()


def number_values(text: str) -> set[int | float]:
    """The values of the numbers in a text, in digits or in English words."""
    folded = text.casefold()
    words = cardinals().keys() & re.findall(r"[a-z]+", folded)
    return {n for n, _ in read_numbers(folded)} | {int(cardinals()[word]) for word in words}
