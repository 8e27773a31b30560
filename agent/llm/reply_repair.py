"""A reply whose shape is a little off, brought into the shape of its schema.

Smaller models send null for an empty list, one text for a list of one, an object for a list of
named rows, or wrap all in one more object. What stays unclear is refused by the validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from agent.state import InvalidJson, Json, parse_json

_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_NUMBER = re.compile(r"(?<![\d.])\d{1,6}(?![\d.]*\d)")


class Shape:
    """The shape that a schema asks for; `mended` has the paths at which a value had another one."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self.mended: list[str] = []

    def fit(self, value: Any) -> Any:
        """A value in this shape, as far as it is clear what is meant."""
        return self._fit(value, self._schema, "")

    def _fit(self, value: Any, schema: Json, path: str) -> Any:
        node, may_be_null = self._resolve(schema)
        if value is None and may_be_null:
            return None
        kind, before = node.get("type"), len(self.mended)
        if kind == "object" and "properties" in node:
            fitting = self._fit_object(_decode(value), node, path)
        elif kind == "array":
            fitting = self._fit_list(_decode(value), node.get("items", {}), path)
        elif kind == "string" and not (may_be_null and isinstance(value, list | dict)):
            fitting = _as_text(value, node.get("enum", ()))
        elif kind == "integer":
            fitting = _as_number(value, None if may_be_null else 0)
        else:
            return value
        if len(self.mended) == before and fitting != _without_others(value, node):
            self.mended.append(path or "the reply")
        return fitting

    def _resolve(self, schema: Json) -> tuple[Json, bool]:
        options: list[Json] = schema.get("anyOf", [schema])
        some = [one for one in options if one.get("type") != "null"] or [{}]
        name = some[0].get("$ref", "").rpartition("/")[2]
        return self._schema.get("$defs", {}).get(name, some[0]), len(some) < len(options)

    # --- objects ---------------------------------------------------------------------------------

    def _fit_object(self, value: Any, node: Json, path: str) -> Any:
        fields: Json = node["properties"]
        if isinstance(value, list):
            value = self._hold_list(value, fields)
        if isinstance(value, str | int) and not isinstance(value, bool):
            value = self._hold_scalar(value, fields)
        if not isinstance(value, dict):
            return value
        values = _by_field(self._unwrap(value, node), fields)
        return {
            name: fitting
            for name, raw in values.items()
            for fitting in [self._fit(raw, fields[name], f"{path}.{name}".lstrip("."))]
            if not self._is_default(raw, fitting, fields[name])
        }

    def _is_default(self, raw: Any, fitting: Any, schema: Json) -> bool:
        node, may_be_null = self._resolve(schema)
        is_text = isinstance(fitting, str) or may_be_null or node.get("type") != "string"
        is_unknown = not is_text or ("enum" in node and fitting not in node["enum"])
        is_null = raw is None and not may_be_null
        return "default" in schema and (is_unknown or is_null)

    def _unwrap(self, value: Json, node: Json) -> Json:
        """An object, or the one within it that has the fields where it has not itself."""
        if self._speaks(value, node):
            return value
        inner = [one for one in map(_decode, value.values()) if self._speaks(one, node)]
        return inner[0] if len(inner) == 1 else value

    def _speaks(self, value: Any, node: Json) -> bool:
        """Whether a value is an object with a field of a schema, and with all that it requires."""
        if not isinstance(value, dict):
            return False
        fields = node["properties"]
        values = _by_field(value, fields)
        texts = {n for n in values if self._resolve(fields[n])[0].get("type") == "string"}
        sound = {n for n in values if n not in texts or not isinstance(values[n], dict)}
        return bool(sound) and sound.issuperset(node.get("required", ()))

    def _hold_list(self, value: list[Any], fields: Json) -> Any:
        """A list as an object: its only item, or else the one field that is a list of objects."""
        if len(value) == 1 and (not isinstance(value[0], dict) or _by_field(value[0], fields)):
            return value[0]
        lists = [
            name
            for name, schema in fields.items()
            if (node := self._resolve(schema)[0]).get("type") == "array"
            and "properties" in self._resolve(node.get("items", {}))[0]
        ]
        return {lists[0]: value} if len(lists) == 1 and value else value

    def _hold_scalar(self, value: str | int, fields: Json) -> Any:
        is_number = isinstance(value, int) or not any(map(str.isalpha, value))
        wanted = "integer" if is_number else "string"
        named = (n for n, one in fields.items() if self._resolve(one)[0].get("type") == wanted)
        name = next(named, "")
        return {name: value} if name and value != "" else value

    # --- lists -----------------------------------------------------------------------------------

    def _fit_list(self, value: Any, items: Json, path: str) -> Any:
        node = self._resolve(items)[0]
        is_object = "properties" in node
        if isinstance(value, dict):
            value = self._rows(value, node) if is_object else list(value.values())
        elif isinstance(value, str) and not is_object:
            value = [_BULLET.sub("", line) for line in value.splitlines()]
        elif value is None or (is_object and not isinstance(value, list)):
            value = [value]
        if not isinstance(value, list):
            return value
        flat = (one for some in value for one in (some if isinstance(some, list) else [some]))
        return [self._fit(one, items, f"{path}[]") for one in flat if one not in (None, "", {})]

    def _rows(self, value: Json, node: Json) -> list[Any]:
        """An object for a list of objects: its only row, a list in it, or rows by their names."""
        if self._speaks(value, node):
            return [value]
        lists = [one for one in value.values() if isinstance(one, list)]
        if len(value) == 1 and lists and not isinstance(lists[0][:1], dict):
            return lists[0]
        return list(self._named_rows(value, node))

    def _named_rows(self, value: Json, node: Json) -> Iterator[Any]:
        fields = list(node["properties"])
        for name, rows in value.items():
            for row in rows if isinstance(rows, list) else [rows]:
                own = row if isinstance(row, dict) else {fields[1]: row}
                yield {fields[0]: name, **own}


def _decode(value: Any) -> Any:
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        with suppress(InvalidJson):
            return parse_json(value.strip())
    return value


def _by_field(value: Json, fields: Json) -> Json:
    names = {_bare(name): name for name in fields}
    exact = {name: item for name, item in value.items() if name in fields}
    return {names[_bare(n)]: item for n, item in value.items() if _bare(n) in names} | exact


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def _as_text(value: Any, words: Any = ()) -> Any:
    """A text, a number, texts in a row or the only text of an object as a text; "" for null.

    Of a list of words the one that is meant, whatever its case and its blanks.
    """
    if isinstance(value, dict):
        texts = [one for one in value.values() if isinstance(one, str)]
        value = texts[0] if texts else value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = " ".join(value)
    if value is None or isinstance(value, int | float):
        value = "" if value is None else str(value).lower()
    if isinstance(value, str) and value not in words:
        return next((word for word in words if _bare(word) == _bare(value)), value)
    return value


def _as_number(value: Any, otherwise: int | None) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = _NUMBER.search(f"{value:g}" if isinstance(value, float) else str(value))
    return int(found[0]) if found else otherwise


def _without_others(value: Any, node: Json) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: item for name, item in value.items() if name in node.get("properties", ())}
