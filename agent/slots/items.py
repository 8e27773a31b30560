"""The items of a list, from several sources that each tell their own, in their own order."""

from __future__ import annotations

from collections.abc import Sequence

from agent.slots.sameness import same
from agent.state import Said

Item = list[Said]
Told = dict[int, Item]  # what one source tells, by its place in that source's list


def items(said: Sequence[Said], names: Sequence[str]) -> list[Item]:
    """The items that are told of, each with what every source says of it.

    An item is known again by all of its leaves, else by the first (a player), else by a number (a
    minute), else by its place, where both lists are of one length or numbered by the reply. What
    only one source tells is an item too: a source may tell less than all.
    """
    merged: list[Item] = []
    for reading in _readings(said):
        _merge(merged, reading, names)
    return merged


def _readings(said: Sequence[Said]) -> list[Told]:
    """What each source tells, the longest list first."""
    by_source: dict[int, Told] = {}
    for one in said:
        by_source.setdefault(one.quote.source, {}).setdefault(one.item, []).append(one)
    readings = [dict(sorted(told.items())) for _, told in sorted(by_source.items())]
    return sorted(readings, key=lambda told: -len(told))


def _merge(merged: list[Item], reading: Told, names: Sequence[str]) -> None:
    free = list(range(len(merged)))
    left = dict(reading)
    alike = len(merged) == len(reading)
    for test in (_whole, _first, _any):
        for place, item in list(left.items()):
            at = next((i for i in free if test(merged[i], item, names)), None)
            if at is not None:
                merged[at].extend(left.pop(place))
                free.remove(at)
    for place, item in sorted(left.items()):
        at = next((i for i in free if _placed(merged[i], item, place, alike)), None)
        if at is None:
            merged.append(list(item))
        else:
            merged[at].extend(item)
            free.remove(at)


def _placed(item: Item, other: Item, place: int, alike: bool) -> bool:
    numbered = all(one.told for one in (*item, *other))
    return (alike or numbered) and item[0].item == place


def _agree(item: Item, other: Item, name: str) -> bool | None:
    """Whether two items say the same of a leaf; None where not both say anything."""
    ours = [one.value for one in item if one.slot == name]
    theirs = [one.value for one in other if one.slot == name]
    if not ours or not theirs:
        return None
    return any(same(a, b) for a in ours for b in theirs)


def _whole(item: Item, other: Item, names: Sequence[str]) -> bool:
    shared = [told for name in names if (told := _agree(item, other, name)) is not None]
    return bool(shared) and all(shared) and _agree(item, other, names[0]) is True


def _first(item: Item, other: Item, names: Sequence[str]) -> bool:
    return _agree(item, other, names[0]) is True


def _any(item: Item, other: Item, names: Sequence[str]) -> bool:
    """By a number: a minute tells an item, a team does not."""
    counted = [
        n for n in names[1:] if all(_counts(one) for one in (*item, *other) if one.slot == n)
    ]
    return any(_agree(item, other, name) for name in counted)


def _counts(one: Said) -> bool:
    return isinstance(one.value, int | float) and not isinstance(one.value, bool)
