"""The place of a quote in a document, in words: `page 12`, `sheet Prices, row 7`, `slide 3`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """The name of what begins at an offset of a text; "" where it is not known.

    With a `number`, lines are counted: the line at `start` has that number, the next one the next.
    """

    start: int
    name: str
    number: int | None = None


def to_places(marks: Iterable[tuple[int, str, int | None]]) -> tuple[Place, ...]:
    """The places that a worker has marked."""
    return tuple(Place(*mark) for mark in marks)


def find_place(text: str, places: Sequence[Place], offset: int) -> str:
    """The place of an offset of a text, in words; "" where it is not known.

    `places` are in the order of their offsets.
    """
    found = bisect_right(places, offset, key=lambda place: place[0])
    if not found:
        return ""
    start, name, number = places[found - 1]
    return name if number is None else f"{name} {number + text.count(chr(10), start, offset)}"
