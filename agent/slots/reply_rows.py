"""A model's reply about slots, read as one row a leaf, in any form that models use.

A nested leaf may come as `goals[0].minute`, `goals.0.minute`, `/goals/0/minute`, as
`goals[].minute` again and again in order, or within a `goals` whose value is a list or an object,
as JSON, as JSON in a string, or in words with commas between them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from pydantic import Field, field_validator

from agent.state import Frozen, Slot

MOST_ROWS = 600
MOST_ITEMS = 60  # of one list
DEEPEST = 8
LONGEST_JSON = 50_000  # characters
_LIST = re.compile(r"(?<!\s)\s*(?:[,;、\n]|\band\b|&)\s*")

Path = tuple[str | int | None, ...]  # names and list positions; None: a position left open


class SlotValue(Frozen):
    """What the sources say of a slot."""

    name: str
    value: str | None = Field(default=None, description="null if no source says it")
    source: int | None = Field(default=None, description="id of the source")
    quote: str = Field(default="", description="the words of that source that say it, verbatim")
    of: str = Field(default="", description="which thing, if several have the name; else empty")

    @field_validator("value", mode="before")
    @classmethod
    def _value_as_text(cls, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False)


class LeafRow(NamedTuple):
    """The value of one leaf. `told`: the reply itself numbered the item of the list."""

    slot: Slot
    value: str
    source: int | None
    quote: str
    item: int = 0
    told: bool = False
    of: str = ""


def leaf_rows(rows: Sequence[SlotValue], slots: Sequence[Slot]) -> list[LeafRow]:
    """The rows as one row a leaf; what belongs to no slot, or has no value, is left out."""
    named = {tuple(parse_path(slot.name)): slot for slot in slots}
    lists = _ListPositions(slots)
    found: list[LeafRow] = []
    for row in dict.fromkeys(rows[:MOST_ROWS]):
        parts = tuple(parse_path(row.name))
        told = any(isinstance(key, int) for key in parts)
        leaf = _open_path(parts) in named
        base = 0 if told else lists.begin(parts, row.source)
        for path, value in _spread_leaves(parts, _decode_json(row.value), slots):
            slot = named.get(_open_path(path))
            if slot is None or not value.strip():
                continue
            place = next((key for key in path if isinstance(key, int)), 0)
            if not told:
                place = lists.next(slot, row.source) if leaf else base + place
                lists.take(slot, row.source, place)
            if place < MOST_ITEMS:
                found.append(LeafRow(slot, value, row.source, row.quote, place, told, row.of))
    return found[:MOST_ROWS]


class _ListPositions:
    """The position of the next item in each list that a reply does not number itself."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self._slots = slots
        self._next: Counter[tuple[str, int | None]] = Counter()

    def begin(self, parts: Path, source: int | None) -> int:
        """The position after the last item that a source gave of the list at a path."""
        below = [s.name for s in self._slots if _starts_with(tuple(parse_path(s.name)), parts)]
        return max((self._next[name, source] for name in below), default=0)

    def next(self, slot: Slot, source: int | None) -> int:
        """The position of a leaf that is repeated in order."""
        return self._next[slot.name, source] if "[]" in slot.name else 0

    def take(self, slot: Slot, source: int | None, place: int) -> None:
        """Mark a position as used."""
        self._next[slot.name, source] = max(self._next[slot.name, source], place + 1)


def parse_path(name: str) -> list[str | int | None]:
    """A name as a path: `goals[0].minute` is goals, 0, minute; `[]` is an open position."""
    keys: list[str | int | None] = []
    for place, word in re.findall(r"\[\s*(\d{0,4}|\*)\s*\]|([^.\[\]/$]+)", name[:300]):
        key = (word or place).strip()
        if key.isdecimal() and len(key) < 5:
            keys.append(int(key))
        elif key or not word:
            keys.append(key.casefold() if word else None)
    return keys


def _open_path(path: Path) -> Path:
    return tuple(key if isinstance(key, str) else None for key in path)


def _decode_json(value: str | None) -> Any:
    is_json = value is not None and value.strip()[:1] in ("[", "{") and len(value) <= LONGEST_JSON
    with suppress(ValueError, RecursionError):
        return json.loads(value or "") if is_json else value
    return value


def _spread_leaves(path: Path, value: Any, slots: Sequence[Slot]) -> Iterator[tuple[Path, str]]:
    below = [slot for slot in slots if _starts_with(tuple(parse_path(slot.name)), _open_path(path))]
    if len(path) > DEEPEST or not below or value is None:
        return
    ends = {tuple(parse_path(slot.name))[len(path) : len(path) + 1] for slot in below}
    if () in ends:
        yield path, _join_values(value)
    elif isinstance(value, list):
        for place, child in enumerate(value[:MOST_ITEMS]):
            yield from _spread_leaves((*path, place), child, slots)
    elif (None,) in ends:
        items = [value] if isinstance(value, dict) else _LIST.split(str(value))
        for place, item in enumerate(items[:MOST_ITEMS]):
            yield from _spread_leaves((*path, place), item, slots)
    elif isinstance(value, dict):
        for key, child in list(value.items())[:MOST_ITEMS]:
            yield from _spread_leaves((*path, str(key).casefold()), child, slots)
    elif path and not isinstance(path[-1], str):  # an item in words
        named = (parse_path(slot.name)[-1] for slot in below if slot.form.type == "string")
        yield from (((*path, name), str(value)) for name in islice(named, 1))


def _starts_with(whole: Path, start: Path) -> bool:
    return whole[: len(start)] == start


def _join_values(value: Any) -> str:
    if isinstance(value, list):
        scalars = [one for one in value[:MOST_ITEMS] if isinstance(one, str | int | float)]
        return ", ".join(map(_join_values, scalars))
    return str(value).lower() if isinstance(value, bool) else str(value)
