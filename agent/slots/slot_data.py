"""The `data` of an answer: the slots as one plain object that fits the caller's schema.

A leaf that was not found is null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent.slots.slot_schema import resolve_schema
from agent.slots.user_patterns import validator_class
from agent.state import Finding, Scalar

JsonValue = Any
Values = Mapping[str, Scalar | None]
MOST_FAULTS = 20  # after so many repairs the whole object becomes null


def keep_valid(
    schema: JsonValue, findings: Mapping[str, Finding]
) -> tuple[dict[str, Finding], dict[str, Any], list[str]]:
    """The findings that fit the schema, their plain object, and a warning for each one dropped.

    The limits of a single leaf were checked when it was filled. A list that breaks its own limits
    (`minItems`, `uniqueItems`) counts as not found as a whole.
    """
    kept = dict(findings)
    warnings: list[str] = []
    for _ in range(MOST_FAULTS):
        data = _build_data(schema, kept)
        fault = next(schema_faults(schema, data), None)
        if fault is None:
            return kept, data, warnings
        path, message = fault
        root = path if path in kept else path.partition("[")[0]
        kept = _drop_finding(kept, root)
        warnings.append(f"{root or 'data'}: {message}: taken as not found.")
    nothing = {name: Finding(slot=name, status="missing") for name in kept if "[" not in name}
    return nothing, _build_data(schema, nothing), warnings


def _build_data(schema: JsonValue, findings: Mapping[str, Finding]) -> Any:
    values = {name: finding.value for name, finding in findings.items()}
    return _build_object(resolve_schema(schema), "", values)


def _drop_finding(findings: Mapping[str, Finding], root: str) -> dict[str, Finding]:
    left: dict[str, Finding] = {}
    for name, finding in findings.items():
        below = not root or name == root or name.startswith((f"{root}[", f"{root}."))
        plain = name.partition("[")[0] if below and name != root else name
        left.setdefault(plain, Finding(slot=plain, status="missing") if below else finding)
    return left


def schema_faults(schema: JsonValue, data: JsonValue) -> Iterator[tuple[str, str]]:
    """The path and the reason of each violation of the schema; null is allowed everywhere."""
    from jsonschema import Draft202012Validator

    formats = Draft202012Validator.FORMAT_CHECKER
    validator = validator_class()(resolve_schema(schema), format_checker=formats)
    for error in validator.iter_errors(data):
        if error.instance is not None:
            yield _format_path(error.absolute_path), error.message[:200]


def _format_path(keys: Any) -> str:
    path = ""
    for key in keys:
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key)
    return path


def _build_object(node: JsonValue, path: str, values: Values) -> Any:
    """The value at a node of the schema, built from the leaves below it.

    A nullable object without any value is null.
    """
    if node["type"] == "object":
        inner = node["properties"].items()
        made = {k: _build_object(n, f"{path}.{k}" if path else k, values) for k, n in inner}
        empty = all(value is None for _, value in data_leaves(made))
        return None if path and node["nullable"] and empty else made
    if node["type"] != "array":
        return values.get(path)
    below = (name.removeprefix(f"{path}[") for name in values if name.startswith(f"{path}["))
    count = max((int(rest.partition("]")[0]) + 1 for rest in below), default=0)
    return [_build_object(node["items"], f"{path}[{i}]", values) for i in range(count)] or None


def data_leaves(data: JsonValue, path: str = "") -> Iterator[tuple[str, Scalar | None]]:
    """Every leaf of plain data with its path. A list that is null counts as one leaf."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from data_leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from data_leaves(value, f"{path}[{at}]")
    else:
        yield path, data


def _spread_data(data: JsonValue, values: Values) -> Iterator[tuple[str, Scalar | None]]:
    """The leaves of plain data; an object that is null gives each of its leaves as null."""
    for path, value in data_leaves(data):
        below = [name for name in values if name.startswith(f"{path}.")]
        known = value is not None or path in values or not below
        yield from ((name, value) for name in ([path] if known else below))


def data_differences(
    data: JsonValue, values: Values, schema: JsonValue | None
) -> Iterator[tuple[str, str]]:
    """The path and the reason of each place where data differs from the slots or the schema."""
    plain = dict(_spread_data(data, values))
    for path in dict.fromkeys((*plain, *values)):
        known = path in plain and path in values
        ours, theirs = plain.get(path), values.get(path)
        if not known or type(ours) is not type(theirs) or ours != theirs:
            yield path, "it is not what the slots say"
    yield from schema_faults(schema, data) if schema is not None else ()
