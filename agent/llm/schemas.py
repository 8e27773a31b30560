"""JSON Schemas as models are sent them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def sent_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of an answer as it is sent: every field of every object is required."""
    schema: dict[str, Any] = require_fields(strip_titles(model.model_json_schema()))
    return schema


def require_fields(schema: Any) -> Any:
    """A schema that has no defaults, and requires all properties: models skip what they may."""
    if isinstance(schema, list):
        return [require_fields(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: require_fields(item) for key, item in schema.items() if key != "default"}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        parts["properties"] = {k: require_fields(v) for k, v in schema["properties"].items()}
        parts["required"] = list(schema["properties"])
    return parts


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
