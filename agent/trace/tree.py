"""The tree of a run: the plan, its rounds, the answer and the cost, each with its events' nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.answer.phrases import format_usd
from agent.state import (
    Blocked,
    Doubted,
    Event,
    Failed,
    PageRead,
    Queried,
    Recalled,
    Reflected,
    Searched,
)
from agent.trace.calls import CallCost, sum_cost, sum_costs_by_service
from agent.trace.event_nodes import CallMatcher, EventNodes
from agent.trace.figures import format_seconds, format_tokens, format_usage
from agent.trace.values import Node, Trace

#: The events that gather evidence, a failed search or page aside.
GATHERING = (Queried, Searched, Recalled, PageRead, Blocked, Doubted, Reflected)


def build_tree(trace: Trace) -> Node:
    """Build the tree of a run; its root has the topic."""
    answer, event_nodes = trace.answer, EventNodes(trace)
    parts = []
    for name, events in _split_events(trace.events):
        if nodes := [node for event in events for node in event_nodes.make_nodes(event)]:
            parts.append(_make_part(name, nodes))
    parts += _make_unmatched_part(event_nodes.calls)
    if trace.unfinished_reason:
        parts.append(Node("The journal ends here", trace.unfinished_reason, mark="bad"))
    elif answer.error:
        parts.append(Node("No answer", answer.error.message, mark="bad"))
    parts.append(make_cost_node(trace))
    run = answer.run
    figures = (f"strategy {run.strategy}", f"started {run.started_at}") if run else ()
    return Node(answer.topic, "", figures, "part", tuple(parts))


def make_cost_node(trace: Trace) -> Node:
    """The total cost of a run, and under it the cost of each model and provider."""
    rows = [Node(cost.name, "", _cost_figures(cost)) for cost in sum_costs_by_service(trace.calls)]
    total = sum_cost("total", trace.calls)
    seconds = max((call.end for call in trace.calls), default=0.0)
    figures = (
        format_tokens(total.tokens),
        format_usd(total.usd),
        f"{format_seconds(seconds)} in all",
    )
    return Node("Cost", "", figures, "part", tuple(rows))


def _cost_figures(cost: CallCost) -> tuple[str, ...]:
    failed = (f"{cost.failed} failed",) if cost.failed else ()
    return (
        f"{cost.calls} call{'s' * (cost.calls != 1)}",
        *failed,
        *format_usage(cost.tokens, cost.usd),
        format_seconds(cost.seconds),
    )


def _make_part(name: str, nodes: list[Node]) -> Node:
    """A part of the run with its cost, and its duration from its first call to its last."""
    calls = tuple(call for node in nodes for call in node.calls)
    if not calls:
        return Node(name, "", (), "part", tuple(nodes))
    cost = sum_cost(name, calls)
    seconds = max(call.end for call in calls) - min(call.start for call in calls)
    figures = (*format_usage(cost.tokens, cost.usd), format_seconds(seconds))
    return Node(name, "", figures, "part", tuple(nodes), calls)


def _split_events(events: Sequence[Event]) -> Iterator[tuple[str, Sequence[Event]]]:
    """Split the events into named parts: the plan, before the first queries; a round from each
    queries to the next; the answer, after the last event that gathers evidence."""
    gathering = [i for i, event in enumerate(events) if _is_gathering(event)]
    end = gathering[-1] + 1 if gathering else len(events)
    starts = [i for i, event in enumerate(events[:end]) if isinstance(event, Queried)] or [end]
    yield "Plan", events[: starts[0]]
    for n, (start, stop) in enumerate(zip(starts, [*starts[1:], end], strict=True), 1):
        yield f"Round {n}", events[start:stop]
    yield "Answer", events[end:]


def _is_gathering(event: Event) -> bool:
    if isinstance(event, Failed):
        return event.what != "llm"
    return isinstance(event, GATHERING)


def _make_unmatched_part(calls: CallMatcher) -> list[Node]:
    """The calls that no event reports: made ahead of need in a run that ended before."""
    rows = [
        Node(call.kind, call.subject, (call.outcome, format_seconds(call.seconds)), calls=(call,))
        for call in calls.unmatched.values()
    ]
    return [_make_part("Recorded, but not reached", rows)] if rows else []
