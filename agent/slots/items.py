"""The items of a list slot, merged from several sources, each with its own items and order."""

from __future__ import annotations

from collections.abc import Sequence

from agent.slots.equivalence import same_value
from agent.state import Statement

Item = list[Statement]
Reading = dict[int, Item]  # the items of one source by their position in its list


def merge_items(statements: Sequence[Statement], names: Sequence[str]) -> list[Item]:
    """Merge the items of all sources; each result holds every statement about one item.

    Items of two sources are the same if all leaves agree, else the first leaf (a player), else a
    number (a minute), else the positions, where both lists have one length or are numbered by the
    reply. An item of one source alone is kept.
    """
    merged: list[Item] = []
    for reading in _items_by_source(statements):
        _merge_reading(merged, reading, names)
    return merged


def _items_by_source(statements: Sequence[Statement]) -> list[Reading]:
    by_source: dict[int, Reading] = {}
    for one in statements:
        by_source.setdefault(one.quote.source, {}).setdefault(one.item, []).append(one)
    readings = [dict(sorted(items.items())) for _, items in sorted(by_source.items())]
    return sorted(readings, key=lambda items: -len(items))


def _merge_reading(merged: list[Item], reading: Reading, names: Sequence[str]) -> None:
    free = list(range(len(merged)))
    left = dict(reading)
    alike = len(merged) == len(reading)
    first = names[0]
    for test in (_all_agree, lambda a, b, _: _leaf_agrees(a, b, first), _number_agrees):
        for place, item in list(left.items()):
            at = next((i for i in free if test(merged[i], item, names)), None)
            if at is not None:
                merged[at].extend(left.pop(place))
                free.remove(at)
    for place, item in sorted(left.items()):
        at_place = (i for i in free if merged[i][0].item == place)
        same = (i for i in at_place if alike or all(one.told for one in merged[i] + item))
        if (at := next(same, None)) is None:
            merged.append(list(item))
        else:
            merged[at].extend(item)
            free.remove(at)


def _leaf_agrees(item: Item, other: Item, name: str) -> bool | None:
    """Whether two items have the same value of a leaf; None if one of them has none."""
    ours = [one.value for one in item if one.slot == name]
    theirs = [one.value for one in other if one.slot == name]
    if not ours or not theirs:
        return None
    return any(same_value(a, b) for a in ours for b in theirs)


def _all_agree(item: Item, other: Item, names: Sequence[str]) -> bool:
    agreeing = [_leaf_agrees(item, other, name) for name in names]
    return agreeing[0] is True and False not in agreeing


def _number_agrees(item: Item, other: Item, names: Sequence[str]) -> bool:
    """Whether a numeric leaf agrees: a minute identifies an item, a team does not."""
    words = {one.slot for one in [*item, *other] if isinstance(one.value, str | bool)}
    return any(_leaf_agrees(item, other, name) for name in names[1:] if name not in words)
