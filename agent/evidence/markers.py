"""Markers of citations, `[1]`: the forms that models write, made into one."""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_RANGED = 20  # sources that `[1-9]` may name
MARKER = re.compile(r"\[(\d{1,9})\]")
#: What models write for `[1]`: `[1, 2]`, `[1-3]`, `[1 and 2]`, `[source 1]`, `[^1]`, `【1】`.
_ANY_MARKER = re.compile(
    r"\s?[\[【［〔]\s*(?:\^|sources?\s)?\s*"
    r"(\d{1,4}(?:\s*(?:[,;，、–-]|and|und|和)\s*\d{1,4}){0,20})\s*[\]】］〕]",
    re.I,
)
_NUMBERS = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")


def cited_numbers(text: str) -> set[int]:
    """The numbers of the markers in a text."""
    return {int(n) for n in MARKER.findall(text)}


def strip_markers(text: str) -> str:
    """A text without its markers, in whatever form they are."""
    return _ANY_MARKER.sub("", text)


def normalize_markers(text: str) -> str:
    """A text with every marker as `[1]`, several as `[1][2]`, without blanks before them.

    Of a range that is too long for a list of sources only its ends are taken.
    """
    return _ANY_MARKER.sub(_split_marker, text)


def _split_marker(marker: re.Match[str]) -> str:
    ends = [(int(first), int(last or first)) for first, last in _NUMBERS.findall(marker[1])]
    between = [n for a, b in ends if a < b < a + MOST_RANGED for n in range(a + 1, b)]
    return join_markers(sorted({*(n for pair in ends for n in pair), *between}))


def join_markers(numbers: Iterable[object]) -> str:
    """The markers of some sources: `[1][2]`."""
    return "".join(f"[{n}]" for n in numbers)
