"""JSON as Python has it: the type of an object, and access to values inside untrusted JSON."""

from __future__ import annotations

from typing import Any

#: A JSON object.
Json = dict[str, Any]


def get_path(value: object, *keys: str | int) -> Any:
    """The value at a path of keys and indexes; None where the path does not exist."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def get_objects(value: object, *keys: str | int) -> list[Json]:
    """The objects in the list at a path, other items left out; `[]` where there is no list."""
    items = get_path(value, *keys)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
