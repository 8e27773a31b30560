"""JSON Schemas as models are shown them."""

from __future__ import annotations

from typing import Any


def lean(schema: Any) -> Any:
    """A schema without the titles that pydantic adds: they are tokens and say nothing."""
    if isinstance(schema, list):
        return [lean(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: lean(item)
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str))
    }
