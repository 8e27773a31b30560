"""JSON Schemas as models are sent them."""

from __future__ import annotations

from typing import Any


def strip_titles(schema: Any) -> Any:
    """A schema without the titles that pydantic adds: they cost tokens and add no information."""
    if isinstance(schema, list):
        return [strip_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: strip_titles(item)
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str))
    }
