"""A small chart of numbers over time, as SVG: no script, and its words stand in it as text."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer import tree
from agent.answer.dated import Series
from agent.answer.html import element

WIDTH, HEIGHT = 640, 200
LEFT, RIGHT, TOP, BOTTOM = 112, 632, 16, 168  # of what is drawn; words stand around it


def draw_chart(series: Series) -> tree.Drawing:
    """A line through the points, with the first and last time and the least and most value."""
    across = _scale([_years(one.at) for one in series.points], LEFT, RIGHT)
    down = _scale([one.value for one in series.points], BOTTOM, TOP)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
    told = "; ".join(f"{one.at}: {one.said}" for one in series.points)
    dots = (
        element(
            "circle", element("title", f"{p.at}: {p.said}"), cx=f"{x:.1f}", cy=f"{y:.1f}", r="4"
        )
        for p, x, y in zip(series.points, across, down, strict=True)
    )
    first, last = series.points[0], series.points[-1]
    least = min(series.points, key=lambda one: one.value)
    most = max(series.points, key=lambda one: one.value)
    svg = element(
        "svg",
        element("title", f"{series.name} over time"),
        element("desc", told),
        *(element("path", d=f"M{LEFT} {y}H{WIDTH}", class_="grid") for y in (TOP, BOTTOM)),
        element("polyline", points=line),
        *dots,
        _label(most.said, 0, TOP + 5),
        _label(least.said, 0, BOTTOM + 5),
        _label(first.at, LEFT, HEIGHT - 8),
        _label(last.at, WIDTH, HEIGHT - 8, text_anchor="end"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{series.name} over time: {told}",
        class_="chart",
    )
    return tree.Drawing(element("figure", element("figcaption", series.name), svg))


def _label(text: str, x: int, y: int, **attributes: str) -> str:
    return element("text", text, x=str(x), y=str(y), **attributes)


def _years(time: str) -> float:
    """A time in years; what is not told of it counts as its beginning."""
    year, month, day = (*map(int, time.split("-")), 1, 1)[:3]
    return year + (month - 1) / 12 + (day - 1) / 372


def _scale(values: Sequence[float], start: int, end: int) -> list[float]:
    least, most = min(values), max(values)
    return [start + (end - start) * (value - least) / (most - least) for value in values]
