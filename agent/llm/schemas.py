"""JSON Schemas as models are sent them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel

Json = dict[str, Any]

#: Keywords that services which bind a reply to its schema refuse; we check them ourselves.
UNBOUND_KEYWORDS = set(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern "
    "minItems maxItems uniqueItems".split()
)


def sent_schema(model: type[BaseModel]) -> Json:
    """The schema of an answer as it is sent: no defaults or titles, and every field is required."""
    return cast(Json, _change_all(model.model_json_schema(), _require_fields))


def strict_schema(schema: Json) -> Json:
    """A schema whose objects have no other properties, without keywords that cannot bind."""
    return cast(Json, _change_all(schema, _bind))


def _change_all(schema: Any, change: Callable[[Json], Json]) -> Any:
    if isinstance(schema, list):
        return [_change_all(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: _change_all(item, change) for key, item in schema.items()}
    if isinstance(fields := schema.get("properties"), dict):
        parts["properties"] = {key: _change_all(item, change) for key, item in fields.items()}
    return change(parts)


def _require_fields(schema: Json) -> Json:
    kept = {key: item for key, item in schema.items() if key != "default"}
    if isinstance(kept.get("title"), str):
        del kept["title"]
    is_object = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
    return {**kept, "required": list(schema["properties"])} if is_object else kept


def _bind(schema: Json) -> Json:
    kept = {key: item for key, item in schema.items() if key not in UNBOUND_KEYWORDS}
    is_object = isinstance(schema.get("properties"), dict)
    return {**kept, "additionalProperties": False} if is_object else kept
