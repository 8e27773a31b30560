"""Whether two values say the same thing in other words or another form."""

from __future__ import annotations

import re
from functools import lru_cache

from agent.evidence import content_words, fold, strip_accents
from agent.evidence.proper_names import capitalised_words
from agent.evidence.quantities import iso_dates, number_values, read_scores
from agent.state import Scalar

_LIST = re.compile(r"(?<!\s)\s*(?:[,;、]|\band\b|\bund\b|\bet\b|&|和)\s*")
#: Words that make another thing of a name: South Korea is not Korea, nor Pelé Jr. his father.
OTHER_THING = frozenset(
    "north south east west northern southern eastern western new old equatorial republic "
    "democratic women woman men junior jr sr ii iii iv youth under reserves not no former".split()
)


def same_value(one: Scalar, other: Scalar) -> bool:
    """Whether two values are equal, or two texts mean the same. Texts do in any of these cases:

    - they differ only in case, accents, blanks or dashes;
    - they are one date, one number with its unit, or lists of the same things in any order;
    - the scores in one are among those in the other;
    - one is the other with more words around it ("Argentina" and "Argentina national football
      team"), unless these words name another thing ("South Korea").
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if not isinstance(one, str) or not isinstance(other, str):
        return one == other
    return _same_text(*sorted((one, other), key=lambda text: (len(text), text)))


@lru_cache(maxsize=4096)
def _same_text(short: str, long: str) -> bool:
    a, b = normalize_value(short), normalize_value(long)
    if a == b:
        return True
    if (first := read_scores(short)) and (second := read_scores(long)):
        return first <= second or second <= first
    if (day := set(iso_dates(short))) and (days := set(iso_dates(long))):
        return day == days
    if number_values(short) != number_values(long):
        return False
    return _same_list(a, b) or _is_extended(a, b) or _measure_of(a) == _measure_of(b)


def is_swapped_score(one: str, one_text: str, other: str, other_text: str) -> bool:
    """Whether two scores are the same result, seen from either side.

    So it is if the lines that hold them name the same two sides in opposite order.
    """
    first, second = read_scores(one), read_scores(other)
    if not first or {(b, a) for a, b in first} != second:
        return False
    ours, theirs = _names_beside(one_text, first), _names_beside(other_text, second)
    common = set(ours) & set(theirs)
    firsts = [next((name for name in names if name in common), "") for names in (ours, theirs)]
    return len(common) > 1 and firsts[0] != firsts[1]


def _names_beside(text: str, wanted: set[tuple[int, int]]) -> list[str]:
    """The words with a capital in the line of a text that holds a score."""
    line = next((line for line in text.split("\n") if read_scores(line) & wanted), "")
    return [normalize_value(name) for name in capitalised_words(line)]


@lru_cache(maxsize=4096)
def normalize_value(text: str) -> str:
    """A text without case, accents, kinds of dash and blanks, and signs around it."""
    bare = " ".join(strip_accents(fold(text)).split()).strip(" .,'\"")
    return re.sub(r"^(?:the|a|an) ", "", bare)


def _same_list(a: str, b: str) -> bool:
    first, second = ([part for part in _LIST.split(text) if part] for text in (a, b))
    if len(first) != len(second) or len(first) < 2:
        return False
    return all(
        any(x == y or _is_extended(x, y) or _is_extended(y, x) for y in second) for x in first
    )


def _is_extended(short: str, long: str) -> bool:
    """Whether the short one begins or ends the long one, and the rest changes nothing."""
    if long.count(",") == 1:  # a place and what it lies in; a list of two says more than its first
        long = long.replace(",", "")
    few, many = short.split(), long.split()
    if not few or len(few) >= len(many) or (len(short) < 3 and short.isascii()):
        return False
    at = {0: many[len(few) :], len(many) - len(few): many[: -len(few)]}
    return any(
        many[start : start + len(few)] == few
        and not OTHER_THING & {re.sub(r"\W", "", word) for word in rest}
        and not _LIST.search(" ".join(rest))
        for start, rest in at.items()
    )


def _measure_of(text: str) -> tuple[frozenset[int | float], frozenset[str]] | str:
    """A number with the words around it, so that `88,966 people` is `88966 people`."""
    found = number_values(text)
    rest = frozenset(word for word in content_words(text) if not any(map(str.isdigit, word)))
    return (frozenset(found), rest) if found else text
