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


#: Keywords that services which bind a reply to its schema refuse; we check them ourselves.
UNBOUND_KEYWORDS = set(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern "
    "minItems maxItems uniqueItems".split()
)


def strict_schema(schema: Any) -> Any:
    """A schema whose objects have no other properties, without keywords that cannot bind."""
    if isinstance(schema, list):
        return [strict_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {k: strict_schema(v) for k, v in schema.items() if k not in UNBOUND_KEYWORDS}
    if isinstance(schema.get("properties"), dict):  # whose keys are names, not keywords
        parts["properties"] = {k: strict_schema(v) for k, v in schema["properties"].items()}
        parts["additionalProperties"] = False
    return parts
