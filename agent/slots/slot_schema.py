"""A caller's JSON Schema (2020-12) as slots: one for each leaf.

Understood: objects, lists of scalars and of objects (no list in a list), string, integer, number,
boolean, enum, const, the formats date and date-time, `$ref` within the document, and a type or
null. Whatever else would change what a value may be is refused, naming its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent.errors import UsageError
from agent.slots.user_patterns import compile_pattern
from agent.state import Form, Json, Slot, get_path, sanitize_line

LONGEST = 100_000  # characters of a schema
DEEPEST = 8  # levels of objects and lists
MOST_NODES = 500  # with every `$ref` put in its place
MOST_LEAVES = 100
GREATEST = 1e300  # of a number in a limit: floats end soon after it

REMEDY = "Give a JSON Schema of an object with scalars, objects and lists of either."
_ABOUT = frozenset(
    "$schema $id $defs definitions $comment title default examples deprecated description "
    "readOnly writeOnly type".split()
)
_OF_OBJECT = frozenset({"properties", "required", "additionalProperties"})
_OF_LIST = frozenset("items minItems maxItems uniqueItems".split())
LIMITS = frozenset(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength "
    "pattern".split()
)
_OF_LEAF = LIMITS | {"enum", "const", "format"}
_CHOICES = ("anyOf", "oneOf", "allOf")
_ALIKE = {"object": _OF_OBJECT, "array": _OF_LIST}


def resolve_schema(schema: Any) -> Json:
    """The schema with every `$ref` replaced by its target, and `X or null` by X.

    An object gets the key `nullable`. Raises UsageError, naming the place, for a schema that is
    too large, invalid, or uses more than is supported.
    """
    from jsonschema import Draft202012Validator, SchemaError

    try:
        if not isinstance(schema, dict) or len(json.dumps(schema)) > LONGEST:
            raise _schema_error("#", f"it is not an object of at most {LONGEST:,} characters")
        Draft202012Validator.check_schema(schema, format_checker=None)  # patterns: _check_leaf
    except SchemaError as error:
        place = "/".join(["#", *map(str, error.absolute_path)])
        raise _schema_error(place, sanitize_line(error.message, 200)) from None
    except (RecursionError, ValueError, TypeError):
        raise _schema_error("#", "it cannot be read as JSON") from None
    whole = _Resolver(schema).resolve(schema, "#", 0)
    if whole["type"] != "object":
        raise _schema_error("#", "the whole must be an object: its properties are the slots")
    return whole


def slots_of(schema: Json) -> tuple[Slot, ...]:
    """The leaves of a schema, in its order. Raises UsageError."""
    slots = tuple(_find_leaves(resolve_schema(schema), "", ""))
    if not 0 < len(slots) <= MOST_LEAVES:
        raise _schema_error("#", f"it has {len(slots)} leaves, not 1 to {MOST_LEAVES}")
    return slots


def _find_leaves(node: Json, path: str, above: str) -> Iterator[Slot]:
    description = " ".join(filter(None, (above, sanitize_line(node.get("description"), 200))))
    if node["type"] == "object":
        for name, child in node["properties"].items():
            yield from _find_leaves(child, f"{path}.{name}" if path else name, description)
    elif node["type"] == "array":
        yield from _find_leaves(node["items"], f"{path}[]", description)
    else:
        yield Slot(name=path, description=description, form=_form_of(node))


def _form_of(node: Json) -> Form:
    options = node.get("enum", (node["const"],) if "const" in node else ())
    kind = node.get("format") if node["type"] == "string" else None
    values = {
        "type": kind if kind in ("date", "date-time") else node["type"],
        "options": tuple(option for option in options if option is not None),
        "limits": {key: node[key] for key in sorted(LIMITS & set(node))},
    }
    return Form.model_validate(values)


class _Resolver:
    """Resolves a schema and counts its nodes, so that a recursive one ends."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._nodes = 0

    def resolve(self, node: Any, place: str, depth: int, listed: bool = False) -> Json:
        """A node with its references resolved and its type read. Raises UsageError."""
        self._nodes += 1
        if self._nodes > MOST_NODES or depth > DEEPEST:
            fault = f"too large or too deep (or it refers to itself): {DEEPEST} deep"
            raise _schema_error(place, fault)
        node, null = self._unwrap(node, place)
        kind = _read_type(node, place)
        null = null or isinstance(node.get("type"), list)
        if odd := sorted(set(node) - _ABOUT - _ALIKE.get(kind, _OF_LEAF)):
            raise _schema_error(place, f"{', '.join(odd)} is not supported for {kind}")
        if kind == "object":
            node = {**node, "type": kind, "nullable": null}
            return self._resolve_object(node, place, depth, listed)
        if kind == "array":
            if listed:
                raise _schema_error(place, "a list within a list is not supported")
            items = self.resolve(node.get("items", {}), f"{place}/items", depth + 1, True)
            return {**node, "type": kind, "items": items}
        return _check_leaf({**node, "type": kind}, place)

    def _resolve_object(self, node: Json, place: str, depth: int, listed: bool) -> Json:
        properties = node.get("properties") or {}
        if not properties:
            raise _schema_error(place, "an object needs properties")
        if lost := sorted(set(node.get("required", ())) - set(properties)):
            raise _schema_error(place, f"{lost[0][:60]!r} is required and no property")
        children = {}
        for name, child in properties.items():
            if not 0 < len(name) <= 60 or any(char in ".[]" or char < " " for char in name):
                raise _schema_error(place, f"a name may not be {name[:60]!r}: no dot, no bracket")
            children[name] = self.resolve(child, f"{place}/properties/{name}", depth + 1, listed)
        return {**node, "properties": children}

    def _unwrap(self, node: Any, place: str) -> tuple[Json, bool]:
        """A node without `$ref` and without `or null`, and whether it may be null."""
        null = False
        for _ in range(DEEPEST):
            if not isinstance(node, dict):
                raise _schema_error(place, "a schema that is only true or false is not supported")
            if "$ref" in node:
                node = {**self._find_target(node["$ref"], place), **_without_key(node, "$ref")}
                continue
            key = next((key for key in _CHOICES if key in node), None)
            if key is None:
                return node, null
            real = [one for one in node[key] if get_path(one, "type") != "null"]
            if len(real) != 1 or not isinstance(real[0], dict):
                raise _schema_error(place, f"{key} of several types is not supported")
            null = null or len(real) < len(node[key])
            node = {**real[0], **_without_key(node, key)}
        raise _schema_error(place, "it refers to itself")

    def _find_target(self, ref: str, place: str) -> Json:
        keys = [part.replace("~1", "/").replace("~0", "~") for part in ref.split("/")[1:]]
        found = get_path(self._root, *keys) if ref.startswith("#/") else None
        if not isinstance(found, dict):
            fault = f"$ref {ref[:80]!r} is not to an object within this document"
            raise _schema_error(place, fault)
        return found


def _check_leaf(node: Json, place: str) -> Json:
    try:
        compile_pattern(node.get("pattern", ""))
    except UsageError as error:
        raise _schema_error(place, error.message, error.remedy) from None
    numbers = [node[key] for key in LIMITS & set(node) if not isinstance(node[key], str)]
    if not all(-GREATEST <= number <= GREATEST for number in numbers):
        raise _schema_error(place, f"a limit is no number up to {GREATEST:g}")
    if any(isinstance(option, dict | list) for option in node.get("enum", [node.get("const")])):
        raise _schema_error(place, "enum and const of scalars only")
    return node


_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _read_type(node: Json, place: str) -> str:
    named = node.get("type")
    if named is None:
        options = node.get("enum", [node["const"]] if "const" in node else [])
        kinds = {_TYPES.get(type(option), "") for option in options if option is not None}
        named = kinds.pop() if len(kinds) == 1 else None
        named = "object" if "properties" in node else "array" if "items" in node else named
    if isinstance(named, list):
        real = [kind for kind in named if kind != "null"]
        named = real[0] if len(real) == 1 else None
    if named in (None, "", "null"):
        raise _schema_error(place, "give it one type (apart from null)")
    return str(named)


def _without_key(node: Json, key: str) -> Json:
    return {name: value for name, value in node.items() if name != key}


def _schema_error(place: str, why: str, remedy: str = REMEDY) -> UsageError:
    return UsageError(f"--slots-schema, at {place[:200]}: {why}.", remedy)
