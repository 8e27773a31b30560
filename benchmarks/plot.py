"""A plot of all ratios of the benchmarks: our figure over that of the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.tables import Row, is_side

COLOUR = "#0072B2"  # safe for colour-blind readers (Okabe and Ito 2008) and in print
MIN_RATIO, MAX_RATIO = 0.005, 200.0  # that are drawn; others say more about the baseline


def draw_ratios(found: dict[str, Row], file: Path) -> None:
    """Draw the ratios on a logarithmic axis, with a line at 1, where both sides are equal."""
    rows = [
        (f"{name}: {what}", value)
        for name, row in found.items()
        for what, value in find_ratios(row)
    ]
    rows = [(what, value) for what, value in rows if MIN_RATIO <= value <= MAX_RATIO][::-1]
    figure = Figure(figsize=(9, 1.2 + 0.28 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(1, color="#999999", linewidth=1)
    axes.plot([value for _, value in rows], range(len(rows)), "o", color=COLOUR)
    axes.set_yticks(range(len(rows)), [what for what, _ in rows])
    for y, (_, value) in enumerate(rows):
        axes.annotate(f"{value:.2f}", (value, y), (6, -3), textcoords="offset points")
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.set_xlabel("ours over the baseline of the same run")
    figure.savefig(file, metadata={"Date": None})


def find_ratios(row: Row, above: str = "") -> Iterator[tuple[str, float]]:
    """Every ratio in the results of a benchmark, without goals, and the ratios of two sides."""
    sides = [key for key, value in row.items() if is_side(value)]
    if len(sides) == 2:
        ours, theirs = (row[key] for key in sides)
        for key in ours:
            both = _number(ours[key]), _number(theirs.get(key))
            if both[0] and both[1] and "ratio" not in key:
                yield _label(above, key), both[0] / both[1]
    for key, value in row.items():
        if isinstance(value, dict):
            yield from find_ratios(value, _label(above, key))
        elif "ratio" in key and "goal" not in key and (number := _number(value)):
            yield _label(above, key), number


def _label(above: str, key: str) -> str:
    return f"{above} {key}".replace("_", " ").strip()


def _number(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else None  # type: ignore[arg-type]
