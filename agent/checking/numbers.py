"""Numbers, dates and numerals: one spelling for each value, however it is written."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from agent.checking.words import Word, fold, lists

TIMES = {"k": 1e3, "m": 1e6, "b": 1e9, "mn": 1e6, "bn": 1e9}
CHINESE = {c: float(i) for i, c in enumerate("零一二三四五六七八九")}
CHINESE |= {"〇": 0, "两": 2, "十": 10, "百": 100, "千": 1000, "万": 1e4, "亿": 1e8}


@cache
def numerals(name: str) -> dict[str, float]:
    """Number words (`words`, `scales`) and their values."""
    words = lists()["numbers"][name].split()
    return {word: float(value) for word, value in zip(words[::2], words[1::2], strict=True)}


@cache
def months() -> dict[str, int]:
    """Names of months, folded, and their numbers."""
    lines = lists()["numbers"]["months"].split("|")
    return {fold(word): n for n, line in enumerate(lines, 1) for word in line.split()}


def key(value: float) -> str:
    """The one spelling of a number."""
    return f"#{value:.12g}"


def number(text: str, times: float = 1, unit: str = "", rough: bool = False) -> Word:
    """A number as written; `1.000` may be a thousand or one, and 1994 is one of the 1990s."""
    plain = unicodedata.normalize("NFKC", text).replace("٬", ",").replace("٫", ".")
    values = [value * times for value in _readings(plain)]
    keys = tuple(key(value) + unit for value in values)
    also = tuple(key(value) for value in values) if unit else ()
    if not unit and len(plain) == 4 and 1000 <= values[0] <= 2100:
        also = (key(values[0] // 10 * 10) + "s",)
    return Word(text, "number", keys, also, values[0], rough)


def _readings(text: str) -> list[float]:
    """What digits with full stops and commas may mean."""
    bare = float(re.sub("[.,]", "", text))
    *whole, last = re.split("[.,]", text)
    if not whole or (len(whole) > 1 and len(last) == 3):
        return [bare]
    decimal = float("".join(whole) + "." + last)
    if len(last) != 3:
        return [decimal]
    return [bare] if "," in text else [decimal, bare]


def date(text: str) -> list[Word]:
    """A date of digits as year, month and day; where either may be the month, as both."""
    parts = re.split("[./-]", text)
    year = next(part for part in parts if len(part) == 4)
    first, second = (int(part) for part in parts if part is not year)
    iso = parts[0] is year
    pairs = [(first, second)] if iso else [(first, second), (second, first)]
    fitting = [(month, day) for month, day in pairs if 0 < month < 13] or pairs[:1]
    month = Word(text, "number", tuple(f"@{month}" for month, _ in fitting))
    days = tuple(key(day) for _, day in fitting)
    return [number(year), month, Word(text, "number", days, value=float(fitting[0][1]))]


def chinese(run: str) -> float:
    """The value of Chinese numerals: 一百二十 is 120, 二〇二二 is 2022."""
    if all(CHINESE[c] < 10 for c in run):
        return float("".join(str(int(CHINESE[c])) for c in run[:15]))
    total = part = digit = 0.0
    for value in (CHINESE[c] for c in run):
        if value < 10:
            digit = value
        elif value < 1e4:
            part, digit = part + (digit or 1) * value, 0.0
        else:
            total, part, digit = (total + part + digit or 1) * value, 0.0, 0.0
    return total + part + digit


def written(words: list[str]) -> tuple[int, float]:
    """How many of some folded words are one number written out, and its value.

    `one` and `a` are numbers only beside others: alone they count nothing.
    """
    total = part = 0.0
    used = counted = 0
    for i, word in enumerate(words):
        scale, value = numerals("scales").get(word), _value(word, i)
        if scale:
            part = (part or 1) * scale
            total, part = (total + part, 0.0) if scale >= 1000 else (total, part)
        elif value is not None and _adds(part, value, i):
            part += value
        elif word != "and" or not part >= 100 or not _value((words + [""])[i + 1], i):
            break
        counted += bool(scale) or (value is not None and word not in ("a", "one"))
        used = i + 1
    return (used, total + part) if counted else (0, 0.0)


def _value(word: str, at: int) -> float | None:
    return 1.0 if word == "one" or (word == "a" and not at) else numerals("words").get(word)


def _adds(part: float, value: float, at: int) -> bool:
    """Whether a numeral goes on the one before it: `twenty` `one`, `hundred` `five`."""
    if not at or not part:
        return True
    return value < (100 if part % 100 == 0 else 10 if part >= 20 and part % 10 == 0 else 0)
