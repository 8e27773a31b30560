"""The timeline of a run in SVG: a bar for each outside call, in lanes by kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.answer.html import EMPTY, Markup, element, join_markup
from agent.trace.calls import TracedCall
from agent.trace.figures import format_seconds

LANES = {"ask": "Models", "search": "Searches", "read": "Pages"}
MAX_INTERVALS = 5  # between the ticks of the time axis
MIN_BAR = 0.004  # of the axis: a shorter bar would be invisible


class _Axis(NamedTuple):
    """The time axis: from 0 to `end`, in seconds, with a tick every `step`."""

    end: float
    step: float

    def percent(self, seconds: float) -> str:
        return f"{100 * seconds / self.end:.2f}%"

    def ticks(self) -> list[float]:
        return [i * self.step for i in range(math.floor(self.end / self.step) + 1)]


def render_timeline(calls: Sequence[TracedCall]) -> Markup:
    """Render the timeline as a section; empty if there are no calls."""
    if not calls:
        return EMPTY
    end = max(call.end for call in calls) or 1.0
    axis = _Axis(end, _choose_step(end))
    lanes = [
        row
        for kind, name in LANES.items()
        for row in _render_lane(name, [call for call in calls if call.kind == kind], axis)
    ]
    rows = element("div", _render_axis(axis), *lanes)
    return element("section", element("h2", "Timeline"), rows, id="timeline")


def call_id(call: TracedCall) -> str:
    """The id of the element of the tree that shows a call."""
    return f"call-{call.kind}-{call.key[:16]}"


def _choose_step(end: float) -> float:
    """The smallest step of 1, 2 or 5 times a power of ten with at most MAX_INTERVALS."""
    min_step = end / MAX_INTERVALS
    power = 10.0 ** math.floor(math.log10(min_step))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= min_step)


def _render_axis(axis: _Axis) -> Markup:
    labels = [
        element(
            "text",
            f"{tick:g} s",
            x=axis.percent(tick),
            y="11",
            text_anchor=_text_anchor(tick, axis.end),
        )
        for tick in axis.ticks()
    ]
    svg = element("svg", *labels, class_="axis")
    return element("div", element("span"), svg, element("span"), class_="call")


def _text_anchor(tick: float, end: float) -> str:
    """The SVG `text-anchor` that keeps the first and the last label inside the drawing."""
    return "start" if not tick else "end" if tick > 0.95 * end else "middle"


def _render_lane(name: str, calls: Sequence[TracedCall], axis: _Axis) -> Iterator[Markup]:
    if calls:
        yield element("h3", name)
    for call in sorted(calls, key=lambda call: call.start):
        yield _render_call(call, axis)


def _render_call(call: TracedCall, axis: _Axis) -> Markup:
    name = call.subject.partition("://")[2] or call.subject
    duration = format_seconds(call.seconds)
    if call.outcome != "ok":
        duration += f" {call.outcome.replace('_', ' ')}"
    return element(
        "div",
        element("a", name, href=f"#{call_id(call)}", class_="label", title=call.subject),
        element("svg", _render_grid(axis), _render_bar(call, axis)),
        element("span", duration, class_="took"),
        class_="call",
    )


def _render_grid(axis: _Axis) -> Markup:
    return join_markup(
        element("line", x1=axis.percent(tick), x2=axis.percent(tick), y1="0", y2="100%")
        for tick in axis.ticks()
    )


def _render_bar(call: TracedCall, axis: _Axis) -> Markup:
    width = max(call.seconds, MIN_BAR * axis.end)
    return element(
        "rect",
        x=axis.percent(min(call.start, axis.end - width)),  # a bar at the end is not cut off
        y="20%",
        width=axis.percent(width),
        height="60%",
        rx="2",
        class_=call.kind if call.outcome == "ok" else "failed",
    )
