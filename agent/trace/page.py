"""A trace as what is shown: lines for a terminal, and one page with the answer and a timeline."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer import tree
from agent.answer.html import Markup, element
from agent.answer.shown import list_badges, list_error, list_sections, list_warnings
from agent.trace.calls import Trace, TracedCall, format_seconds
from agent.trace.lines import list_parts

MIN_BAR = 0.004  # of the axis: a shorter bar would be invisible


def show_lines(trace: Trace) -> tree.Shown:
    """The trace as parts of lines."""
    return tree.Shown(trace.answer.topic, _list_facts(trace), list_parts(trace))


def show_page(trace: Trace) -> tree.Shown:
    """The answer, the timeline of calls, and what happened."""
    badge = tree.Text("unfinished", "badge unfinished")
    reason = ("The journal ends early. ", trace.unfinished_reason)
    unfinished = (tree.Prose((badge,)), tree.Prose(reason, "trouble"))
    finished = (*list_badges(trace.answer), *list_error(trace.answer))
    head = (*(unfinished if trace.unfinished_reason else finished), *_list_facts(trace))
    answer = list_sections(trace.answer) if trace.answer.answer else ()
    warnings = list_warnings(trace.answer.warnings)
    timeline = [tree.Drawing(_draw(trace.calls))] if trace.calls else []
    parts = (
        *answer,
        tree.PagePart("Warnings", warnings, "warnings"),
        tree.PagePart("Timeline", timeline, "timeline"),
        *list_parts(trace),
    )
    return tree.Shown(trace.answer.topic, head, parts)


def _list_facts(trace: Trace) -> Sequence[tree.Block]:
    run = trace.answer.run
    if run is None:
        return ()
    facts = (f"strategy {run.strategy}", f"started {run.started_at}", *run.models, *run.providers)
    return (tree.Prose((" · ".join(facts),), "quiet"),)


def _draw(calls: Sequence[TracedCall]) -> Markup:
    """A row for each call: its name, a bar from its start to its end, how long it took."""
    end = max(call.end for call in calls) or 1.0
    rows = [_draw_row(call, end) for call in sorted(calls, key=lambda call: call.start)]
    return element("div", *rows, element("p", f"0 to {format_seconds(end)}", class_="quiet"))


def _draw_row(call: TracedCall, end: float) -> Markup:
    width = max(call.seconds / end, MIN_BAR)
    bar = element(
        "rect",
        x=f"{100 * min(call.start / end, 1 - width):.2f}%",  # a bar at the end is not cut off
        y="20%",
        width=f"{100 * width:.2f}%",
        height="60%",
        rx="2",
        class_=call.kind if call.outcome == "ok" else "failed",
    )
    name = call.subject.partition("://")[2] or call.subject
    outcome = "" if call.outcome == "ok" else f" {call.outcome.replace('_', ' ')}"
    took = element("span", format_seconds(call.seconds) + outcome, class_="took")
    link = element("a", name, href=f"#{call.id}", class_="label", title=call.subject)
    return element("div", link, element("svg", bar), took, class_="call")
