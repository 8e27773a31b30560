"""What a benchmark printed, as Markdown tables."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def tables(row: Row, title: str = "") -> str:
    """Single figures first; then sides that were compared, next to each other; then the rest."""
    single = {key: value for key, value in row.items() if not isinstance(value, dict)}
    sides = {key: value for key, value in row.items() if is_side(value)}
    rest = {key: value for key, value in row.items() if key not in {**single, **sides}}
    parts = [_table({"figure": single}), _table(sides)]
    if title and any(parts):
        parts.insert(0, f"{_words(title)}:\n")
    return "\n".join([*filter(None, parts), *(tables(rest[key], key) for key in rest)])


def is_side(value: Any) -> bool:
    """Whether a value is one side of a comparison: figures, and nothing within them."""
    return isinstance(value, dict) and not any(isinstance(one, dict) for one in value.values())


def _table(sides: dict[str, Row]) -> str:
    """A row for each key of any side, a column for each side; of two sides, their ratio too."""
    names = list(dict.fromkeys(key for side in sides.values() for key in side))
    heads = ["", *map(_words, sides), *(["ratio"] if len(sides) == 2 else [])]
    lines = [heads, ["---"] * len(heads), *(_line(name, list(sides.values())) for name in names)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) if names else ""


def _line(name: str, sides: list[Row]) -> list[str]:
    values = [side.get(name, "") for side in sides]
    return [_words(name), *map(_cell, values), *([_ratio(*values)] if len(values) == 2 else [])]


def _ratio(ours: Any, theirs: Any) -> str:
    both = isinstance(ours, int | float) and isinstance(theirs, int | float) and theirs
    return f"{ours / theirs:.2f}" if both else ""


def _words(key: str) -> str:
    return key.replace("_", " ")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_cell, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
