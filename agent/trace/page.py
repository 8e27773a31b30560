"""A run as one page that stands alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from agent.answer.html import NOTHING, Markup, joined, link, spoken, tag, whole
from agent.answer.page import BASE, badges, parts, trouble
from agent.trace.calls import Call, seconds
from agent.trace.tree import Node, Trace, spent, tree

LANES = {"ask": "Models", "search": "Searches", "read": "Pages"}
TICKS = 5  # parts of the time axis, about


def page(trace: Trace) -> str:
    """The whole page, as HTML."""
    root = tree(trace)
    body = joined([_head(trace), _answer(trace), _timeline(trace), _tree(root)])
    return whole(root.what, tag("main", body), BASE, "agent.trace/page.css")


# --- the question and the answer -----------------------------------------------------------------


def _head(trace: Trace) -> Markup:
    answer, run = trace.answer, trace.answer.run
    told = (f"strategy {run.strategy}", run.started_at, *run.models, *run.providers) if run else ()
    cost = spent(trace).figures
    figures = joined(tag("li", figure) for figure in (*told, *cost))
    return tag(
        "header",
        tag("h1", answer.topic, **spoken(answer.topic)),
        badges(answer, "unfinished" if trace.unfinished else answer.status),
        tag("ul", figures, class_="facts"),
        _trouble(trace),
    )


def _trouble(trace: Trace) -> Markup:
    """Why there is no whole answer."""
    if trace.unfinished:
        return tag("p", "The journal ends early. ", trace.unfinished, class_="trouble")
    return trouble(trace.answer)


def _answer(trace: Trace) -> Markup:
    return joined(parts(trace.answer)) if trace.answer.answer else NOTHING


# --- the timeline --------------------------------------------------------------------------------


def _timeline(trace: Trace) -> Markup:
    """A row for each outside call, in lanes by kind: a bar from its beginning to its end."""
    if not trace.calls:
        return NOTHING
    end = max(call.ended for call in trace.calls) or 1.0
    step = _step(end)
    lanes = [
        lane
        for kind, name in LANES.items()
        for lane in _lane(name, [call for call in trace.calls if call.kind == kind], end, step)
    ]
    return tag(
        "section", tag("h2", "Timeline"), tag("div", _axis(end, step), *lanes), id="timeline"
    )


def _step(end: float) -> float:
    """The distance of the ticks: 1, 2 or 5 times a power of ten."""
    least = end / TICKS
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= least)


def _ticks(end: float, step: float) -> list[float]:
    return [i * step for i in range(math.floor(end / step) + 1)]


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%"


def _axis(end: float, step: float) -> Markup:
    marks = [
        tag("text", f"{tick:g} s", x=_percent(tick, end), y="11", text_anchor=_anchor(tick, end))
        for tick in _ticks(end, step)
    ]
    return tag("div", tag("span"), tag("svg", *marks, class_="axis"), tag("span"), class_="call")


def _anchor(tick: float, end: float) -> str:
    """Numbers at the borders stay inside."""
    return "start" if not tick else "end" if tick > 0.95 * end else "middle"


def _lane(name: str, calls: Sequence[Call], end: float, step: float) -> Iterator[Markup]:
    if calls:
        yield tag("h3", name)
    for call in sorted(calls, key=lambda call: call.began):
        yield _row(call, end, step)


def _row(call: Call, end: float, step: float) -> Markup:
    good = call.outcome == "ok"
    lines = [
        tag("line", x1=_percent(tick, end), x2=_percent(tick, end), y1="0", y2="100%")
        for tick in _ticks(end, step)
    ]
    # a bar of no length could not be seen; one that begins at the end would be cut off
    width = max(call.seconds, 0.004 * end)
    bar = tag(
        "rect",
        x=_percent(min(call.began, end - width), end),
        y="20%",
        width=_percent(width, end),
        height="60%",
        rx="2",
        class_=call.kind if good else "failed",
    )
    told = (
        seconds(call.seconds)
        if good
        else f"{seconds(call.seconds)} {call.outcome.replace('_', ' ')}"
    )
    name = call.subject.partition("://")[2] or call.subject
    label = tag("a", name, href=f"#{_id(call)}", class_="label", title=call.subject)
    return tag(
        "div", label, tag("svg", *lines, bar), tag("span", told, class_="took"), class_="call"
    )


def _id(call: Call) -> str:
    """Where the tree tells of a call."""
    return f"call-{call.kind}-{call.key[:16]}"


# --- the tree ------------------------------------------------------------------------------------


def _tree(root: Node) -> Markup:
    parts = [_part(part) if part.mark == "part" else _line(part) for part in root.children]
    return tag("section", tag("h2", "What happened"), *parts, id="tree")


def _part(node: Node) -> Markup:
    if not node.children:
        return NOTHING
    summary = tag("summary", tag("b", node.what), *_told(node.figures))
    return tag("details", summary, _list(node.children), class_="part", open="")


def _list(nodes: Sequence[Node]) -> Markup:
    return tag("ul", *(tag("li", _line(node), **_marks(node)) for node in nodes))


def _marks(node: Node) -> dict[str, str]:
    marks = {"class_": node.mark} if node.mark else {}
    return marks | ({"id": _id(node.calls[0])} if node.calls else {})


def _line(node: Node) -> Markup:
    what = tag("span", node.what, class_="what")
    text = (
        link(node.link, node.text, dir="auto") if node.link else tag("span", node.text, dir="auto")
    )
    under = (_list(node.children),) if node.children else ()
    return joined([what, " ", text, *_told(node.figures), *under])


def _told(figures: Iterable[str]) -> Iterator[str]:
    for figure in filter(None, figures):
        yield " "
        yield tag("span", figure, class_="figure")
