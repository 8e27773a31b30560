"""The slots as one plain object in the caller's schema, null where nothing was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agent.slots.schema import resolved
from agent.state import Finding, Scalar

Json = Any
Values = Mapping[str, Scalar | None]
MOST_FAULTS = 20  # what cannot be mended leaf by leaf becomes null as a whole


def settled(
    schema: Json, findings: Mapping[str, Finding]
) -> tuple[dict[str, Finding], dict[str, Any], list[str]]:
    """Findings whose plain object keeps the schema, that object, and a warning for each left out.

    Limits of a leaf were kept when it was filled; what remains are those of lists. A list that
    does not keep them is not found.
    """
    kept = dict(findings)
    warnings: list[str] = []
    whole = resolved(schema)
    for _ in range(MOST_FAULTS):
        data = _object(whole, "", _values(kept))
        fault = next(faults(schema, data), None)
        if fault is None:
            return kept, data, warnings
        path, message = fault
        root = path if path in kept else path.partition("[")[0]
        kept = _without(kept, root)
        warnings.append(f"{root or 'data'}: {message}: taken as not found.")
    nothing = {name: Finding(slot=name, status="missing") for name in kept if "[" not in name}
    return nothing, _object(whole, "", _values(nothing)), warnings


def _values(findings: Mapping[str, Finding]) -> dict[str, Scalar | None]:
    return {name: finding.value for name, finding in findings.items()}


def _without(findings: Mapping[str, Finding], root: str) -> dict[str, Finding]:
    """The findings with one leaf, or one list with all its items, missing."""
    left: dict[str, Finding] = {}
    for name, finding in findings.items():
        below = not root or name == root or name.startswith((f"{root}[", f"{root}."))
        plain = name.partition("[")[0] if below and name != root else name
        left.setdefault(plain, Finding(slot=plain, status="missing") if below else finding)
    return left


def faults(schema: Json, data: Json) -> Iterator[tuple[str, str]]:
    """Where and why data does not keep a schema in which everything may be null as well."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(
        resolved(schema), format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    for error in validator.iter_errors(data):
        if error.instance is not None:
            yield _path(error.absolute_path), error.message[:200]


def _path(keys: Any) -> str:
    path = ""
    for key in keys:
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key)
    return path


def _object(node: Json, path: str, values: Values) -> Any:
    """What the leaves below a node make; an object that may be null is, where nothing was found."""
    if node["type"] == "object":
        below = node["properties"].items()
        made = {k: _object(n, f"{path}.{k}" if path else k, values) for k, n in below}
        empty = all(value is None for _, value in leaves(made))
        return None if path and node["nullable"] and empty else made
    if node["type"] != "array":
        return values.get(path)
    start = re.compile(rf"{re.escape(path)}\[(\d+)\]")
    count = max((int(m[1]) + 1 for name in values if (m := start.match(name))), default=0)
    return [_object(node["items"], f"{path}[{i}]", values) for i in range(count)] or None


def leaves(data: Json, path: str = "") -> Iterator[tuple[str, Scalar | None]]:
    """Every leaf of plain data by its path; a list that is null is one leaf."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from leaves(value, f"{path}[{at}]")
    else:
        yield path, data


def _spread(data: Json, values: Values) -> Iterator[tuple[str, Scalar | None]]:
    """The leaves of plain data; an object that is null is all leaves that it would have."""
    for path, value in leaves(data):
        below = [name for name in values if name.startswith(f"{path}.")]
        known = value is not None or path in values or not below
        yield from ((name, value) for name in ([path] if known else below))


def unlike(data: Json, values: Values, schema: Json | None) -> Iterator[tuple[str, str]]:
    """Where data is not what the slots say, or does not keep the schema, and in what way."""
    plain = dict(_spread(data, values))
    for path in dict.fromkeys((*plain, *values)):
        known = path in plain and path in values
        ours, theirs = plain.get(path), values.get(path)
        if not known or type(ours) is not type(theirs) or ours != theirs:
            yield path, "it is not what the slots say"
    yield from faults(schema, data) if schema is not None else ()
