"""What a model sends of slots, as rows of leaves: whatever form it chose, nothing but what it said.

A nested leaf may come as `goals[0].minute`, `goals.0.minute`, `/goals/0/minute`, as
`goals[].minute` again and again in order, or within a `goals` whose value is a list or an object,
as JSON or as JSON in a string, or the words `Messi 23', 108'`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import Field, field_validator

from agent.state import Frozen, Slot

MOST_ROWS = 600
MOST_ITEMS = 60  # of one list
DEEPEST = 8
LONGEST_JSON = 50_000  # characters

Path = tuple[str | int | None, ...]  # a name, a place in a list, or some place in it


class SlotValue(Frozen):
    """What the sources say of a slot."""

    name: str
    value: str | None = Field(default=None, description="null if no source says it")
    source: int | None = Field(default=None, description="id of the source")
    quote: str = Field(default="", description="the words of that source that say it, verbatim")

    @field_validator("name", "quote", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return value if isinstance(value, str) else ""

    @field_validator("value", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """Scalars as they are written, lists and objects as JSON."""
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False)

    @field_validator("source", mode="before")
    @classmethod
    def _one_source(cls, value: Any) -> Any:
        number = re.search(r"\d{1,6}", str(value))
        return int(number[0]) if number else None


class Row(NamedTuple):
    """A leaf that a row tells of. `told`: the reply itself said which item of the list it is."""

    slot: Slot
    value: str
    source: int | None
    quote: str
    item: int = 0
    told: bool = False


def leaves(rows: Sequence[SlotValue], slots: Sequence[Slot]) -> list[Row]:
    """The leaves that rows tell of; what belongs to no slot, or has no value, is left out."""
    named = {tuple(_parts(slot.name)): slot for slot in slots}
    lists = _Lists(slots)
    found: list[Row] = []
    for row in dict.fromkeys(rows[:MOST_ROWS]):
        parts = tuple(_parts(row.name))
        told = any(isinstance(key, int) for key in parts)
        leaf = _shape(parts) in named
        base = 0 if told else lists.begin(parts, row.source)
        for path, value in _spread(parts, _decoded(row.value), slots):
            slot = named.get(_shape(path))
            if slot is None or not value.strip():
                continue
            place = next((key for key in path if isinstance(key, int)), 0)
            if not told:
                place = lists.next(slot, row.source) if leaf else base + place
                lists.reach(slot, row.source, place)
            if place < MOST_ITEMS:
                found.append(Row(slot, value, row.source, row.quote, place, told))
    return found[:MOST_ROWS]


class _Lists:
    """Where the next item of each list goes that a reply does not number itself."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self._slots = slots
        self._next: Counter[tuple[str, int | None]] = Counter()

    def begin(self, parts: Path, source: int | None) -> int:
        """The place after all items that a source told of the list that a path begins."""
        below = [s.name for s in self._slots if _begins(tuple(_parts(s.name)), parts)]
        return max((self._next[name, source] for name in below), default=0)

    def next(self, slot: Slot, source: int | None) -> int:
        """The place of a leaf that comes again and again, in order."""
        return self._next[slot.name, source] if "[]" in slot.name else 0

    def reach(self, slot: Slot, source: int | None, place: int) -> None:
        """A place is taken."""
        self._next[slot.name, source] = max(self._next[slot.name, source], place + 1)


def _parts(name: str) -> list[str | int | None]:
    """A name as a path: `goals[0].minute` is goals, 0, minute; `[]` is a place left open."""
    cut = re.findall(r"\[\s*(\d{0,4}|\*)\s*\]|([^.\[\]/$]+)", name[:300])
    return [_part(place, word.strip()) for place, word in cut if word.strip() or not word]


def _part(place: str, word: str) -> str | int | None:
    if word:
        return int(word) if word.isdecimal() and len(word) < 5 else word.casefold()
    return int(place) if place.isdecimal() else None


def _shape(path: Path) -> Path:
    return tuple(key if isinstance(key, str) else None for key in path)


def _decoded(value: str | None) -> Any:
    """The value as JSON where it is an object or a list as JSON; else the text itself."""
    if value is None or value.strip()[:1] not in ("[", "{") or len(value) > LONGEST_JSON:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _spread(path: Path, value: Any, slots: Sequence[Slot]) -> Iterator[tuple[Path, str]]:
    """The leaves under a path, with their paths as the slots have them."""
    below = [slot for slot in slots if _begins(tuple(_parts(slot.name)), _shape(path))]
    if len(path) > DEEPEST or not below or value is None:
        return
    ends = {tuple(_parts(slot.name))[len(path) : len(path) + 1] for slot in below}
    if () in ends:
        yield path, _joined(value)
    elif isinstance(value, list):
        for place, child in enumerate(value[:MOST_ITEMS]):
            yield from _spread((*path, place), child, slots)
    elif (None,) in ends:
        items = [value] if isinstance(value, dict) else named_numbers(str(value))
        for place, item in enumerate(items[:MOST_ITEMS]):
            yield from _spread((*path, place), item, slots)
    elif isinstance(value, dict):
        for key, child in list(value.items())[:MOST_ITEMS]:
            yield from _spread((*path, str(key).casefold()), child, slots)
    elif path and not isinstance(path[-1], str):
        yield from _of_words(path, value, below)


def _begins(whole: Path, start: Path) -> bool:
    return whole[: len(start)] == start


def _joined(value: Any) -> str:
    if isinstance(value, list):
        scalars = [one for one in value[:MOST_ITEMS] if isinstance(one, str | int | float)]
        return ", ".join(map(_joined, scalars))
    if isinstance(value, Named):
        return value.name
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- lists in words ----------------------------------------------------------------------------

_MINUTE = r"(?<!\d)\d{1,3}(?:\+\d{1,2})?(?=\s?(?:['′’](?!\w)|(?:st|nd|rd|th)\b|\.?\s?min|分))"
_BETWEEN = re.compile(r"[;,()\n'′’:|]|\band\b|\bpen\b|\bo\.?g\b")
_LIST = re.compile(r"\s*(?:[,;、\n]|\band\b|&)\s*")


def _of_words(path: Path, value: Any, below: Sequence[Slot]) -> Iterator[tuple[Path, str]]:
    """An item that was told in words, `Messi 23'`, as a name and a number."""
    told = value if isinstance(value, Named) else (named_numbers(str(value)) or [Named("")])[0]
    kinds = {slot.form.type: _parts(slot.name)[-1] for slot in reversed(below)}
    for kind, text in (("string", told.name), ("integer", told.number)):
        if kind in kinds and text:
            yield (*path, kinds[kind]), text


class Named(NamedTuple):
    """A name, and the number that is told with it ("" where none is)."""

    name: str
    number: str = ""


def named_numbers(text: str) -> list[Named]:
    """`Messi 23', 108'; Di María 36'` as a name with a number each; `Messi, Di María` as names."""
    text = text[:5000]
    if not re.search(_MINUTE, text):
        return [Named(name) for name in _LIST.split(text) if name.strip()]
    found: list[Named] = []
    last = ""
    for match in re.finditer(rf"([^\d]*?)({_MINUTE})", text):
        names = [name for name in _BETWEEN.split(match[1]) if _is_name(name)]
        last = names[-1].strip(" .-–") if names else last
        if last:
            found.append(Named(last, match[2]))
    return found


def _is_name(text: str) -> bool:
    """Whether a piece between two minutes names somebody: not `(pen.)`, `goal` or `in the`."""
    bare = text.strip(" .-–")
    return bool(bare) and not bare.islower() and any(char.isalpha() for char in bare)
