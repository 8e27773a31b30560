"""The results of a benchmark as Markdown tables."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def render_tables(row: Row, title: str = "") -> str:
    """Render single figures first, then the compared sides in one table, then nested results."""
    single = {key: value for key, value in row.items() if not isinstance(value, dict)}
    sides = {key: value for key, value in row.items() if is_side(value)}
    rest = {key: value for key, value in row.items() if key not in {**single, **sides}}
    parts = [_table({"figure": single}), _table(sides)]
    if title and any(parts):
        parts.insert(0, f"{_heading(title)}:\n")
    return "\n".join([*filter(None, parts), *(render_tables(rest[key], key) for key in rest)])


def is_side(value: Any) -> bool:
    """Whether a value is one side of a comparison: an object without objects in it."""
    return isinstance(value, dict) and not any(isinstance(one, dict) for one in value.values())


def _table(sides: dict[str, Row]) -> str:
    """A table with a row for each key and a column for each side, and the ratio of two sides."""
    names = list(dict.fromkeys(key for side in sides.values() for key in side))
    heads = ["", *map(_heading, sides), *(["ratio"] if len(sides) == 2 else [])]
    lines = [
        heads,
        ["---"] * len(heads),
        *(_table_row(name, list(sides.values())) for name in names),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) if names else ""


def _table_row(name: str, sides: list[Row]) -> list[str]:
    values = [side.get(name, "") for side in sides]
    return [_heading(name), *map(_cell, values), *([_ratio(*values)] if len(values) == 2 else [])]


def _ratio(ours: Any, theirs: Any) -> str:
    both = isinstance(ours, int | float) and isinstance(theirs, int | float) and theirs
    return f"{ours / theirs:.2f}" if both else ""


def _heading(key: str) -> str:
    return key.replace("_", " ")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_cell, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
