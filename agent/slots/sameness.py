"""Whether two values say the same thing in other words or another form."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from agent.evidence import fold, words
from agent.slots.forms import dates, numbers
from agent.state import Scalar

_SCORE = re.compile(r"(?<![\d-])(\d{1,3})\s?[-:]\s?(\d{1,3})(?![-:/]?\d)")
_LIST = re.compile(r"\s*(?:[,;、]|\band\b|\bund\b|\bet\b|&|和)\s*")
#: Words that make another thing of a name: South Korea is not Korea, nor Pelé Jr. his father.
_OTHER = frozenset(
    "north south east west northern southern eastern western new old equatorial republic "
    "democratic women woman men junior jr sr ii iii iv youth under reserves not no former".split()
)
_NAME = re.compile(r"\b(?=[^\W\d_a-zà-ÿ])[^\W\d_]{3,}")


def same(one: Scalar, other: Scalar) -> bool:
    """Whether two values are the same as typed, or as texts.

    Texts are, if they differ only in case, accents, blanks or dashes; are one date, one number
    with its unit, or lists of the same things in any order; if the scores of one are among those
    of the other; or if one is the other with more words around it ("Argentina" and "Argentina
    national football team"), unless those make another thing of it ("South Korea").
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if not isinstance(one, str) or not isinstance(other, str):
        return one == other
    return _same(*sorted((one, other), key=lambda text: (len(text), text)))


@lru_cache(maxsize=4096)
def _same(short: str, long: str) -> bool:
    a, b = _plain(short), _plain(long)
    if a == b:
        return True
    if (first := scores(short)) and (second := scores(long)):
        return first <= second or second <= first
    if (day := set(dates(short))) and (days := set(dates(long))):
        return day == days
    if numbers(short) != numbers(long) and (numbers(short) or numbers(long)):
        return False
    return _listed(a, b) or _around(a, b) or _measured(a) == _measured(b)


def swapped(one: str, said: str, other: str, told: str) -> bool:
    """Whether two scores are one, seen from either side.

    They are if the lines that hold them name the same sides, and another one of them first.
    """
    first, second = scores(one), scores(other)
    if not first or {(b, a) for a, b in first} != second:
        return False
    ours, theirs = _named(said, first), _named(told, second)
    common = set(ours) & set(theirs)
    firsts = [next((name for name in names if name in common), "") for names in (ours, theirs)]
    return len(common) > 1 and firsts[0] != firsts[1]


def _named(text: str, wanted: set[tuple[int, int]]) -> list[str]:
    """The words with a capital in the line of a text that holds a score."""
    line = next((line for line in text.split("\n") if scores(line) & wanted), "")
    return [_plain(name) for name in _NAME.findall(line)]


def scores(text: str) -> set[tuple[int, int]]:
    """The results in a text: `4–2` as (4, 2). Dates are none."""
    found = _SCORE.findall(re.sub(r"\d{4}-\d\d-\d\d", " ", fold(text)[0]))
    return {(int(a), int(b)) for a, b in found}


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """A text without case, accents, kinds of dash and blanks, and what stands around it."""
    split = unicodedata.normalize("NFKD", fold(text)[0])
    bare = "".join(char for char in split if not unicodedata.combining(char))
    return re.sub(r"^(?:the|a|an) ", "", re.sub(r"\s+", " ", bare).strip(" .,'\""))


def _listed(a: str, b: str) -> bool:
    first, second = ([part for part in _LIST.split(text) if part] for text in (a, b))
    if len(first) != len(second) or len(first) < 2:
        return False
    return all(any(x == y or _around(x, y) or _around(y, x) for y in second) for x in first)


def _around(short: str, long: str) -> bool:
    """Whether the short one begins or ends the long one, and the rest changes nothing."""
    if long.count(",") == 1:  # a place and what it lies in; a list of two says more than its first
        long = long.replace(",", "")
    few, many = short.split(), long.split()
    if not few or len(few) >= len(many) or (len(short) < 3 and short.isascii()):
        return False
    at = {0: many[len(few) :], len(many) - len(few): many[: -len(few)]}
    return any(
        many[start : start + len(few)] == few
        and not _OTHER & {re.sub(r"\W", "", word) for word in rest}
        and not _LIST.search(" ".join(rest))
        for start, rest in at.items()
    )


def _measured(text: str) -> tuple[frozenset[int | float], frozenset[str]] | str:
    """A number with the words around it, so that `88,966 people` is `88966 people`."""
    found = numbers(text)
    rest = frozenset(word for word in words(text) if not re.search(r"\d", word))
    return (frozenset(found), rest) if found else text
