"""A run as a tree: what its events say happened, with what its journal says each call took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from agent.answer import Answer, Citation
from agent.answer.events import detail
from agent.state import (
    Alternative,
    Answered,
    Asked,
    Attempt,
    Blocked,
    Doubted,
    Event,
    Failed,
    Finding,
    Halted,
    PageRead,
    Planned,
    Queried,
    Reflected,
    Searched,
    Started,
    Warned,
)
from agent.state.urls import canonical
from agent.trace.calls import Call, cost, costs, dollars, money, seconds, tokens

Mark = Literal["", "part", "good", "bad", "quiet"]
KIND = {"llm": "ask", "search": "search", "page": "read"}


class Node(NamedTuple):
    """A line of the tree, and what belongs under it. All texts may hold anything."""

    what: str
    text: str = ""
    figures: tuple[str, ...] = ()
    mark: Mark = ""
    children: tuple[Node, ...] = ()
    calls: tuple[Call, ...] = ()
    link: str = ""


class Trace(NamedTuple):
    """All that is shown of a run. `unfinished` says why the journal ends early, if it does."""

    answer: Answer
    events: Sequence[Event]
    calls: Sequence[Call]
    max_rounds: int
    unfinished: str = ""


def tree(trace: Trace) -> Node:
    """The run as one node: how it was planned, its rounds, the answer, the costs."""
    answer, book = trace.answer, _Book(trace.calls)
    run = answer.run
    told = (f"strategy {run.strategy}", f"started {run.started_at}") if run else ()
    shown = ((name, list(_nodes(events, book, trace))) for name, events in _parts(trace.events))
    parts = [_part(name, nodes) for name, nodes in shown if nodes]
    parts += _left(book)
    if trace.unfinished:
        parts.append(Node("The journal ends here", trace.unfinished, mark="bad"))
    elif answer.error:
        parts.append(Node("No answer", answer.error.message, mark="bad"))
    parts.append(spent(trace))
    return Node(answer.topic, "", told, "part", tuple(parts))


def spent(trace: Trace) -> Node:
    """What each part cost, and the total."""
    rows = [
        Node(row.name, "", _figures(row.calls, row.failed, row.tokens, row.usd, row.seconds))
        for row in costs(trace.calls)
    ]
    everything = cost("total", trace.calls)
    wall = max((call.ended for call in trace.calls), default=0.0)
    figures = (tokens(everything.tokens), dollars(everything.usd), f"{seconds(wall)} in all")
    return Node("Cost", "", figures, "part", tuple(rows))


def _figures(
    calls: int, failed: int, used: tuple[int, int], usd: float | None, took: float
) -> tuple[str, ...]:
    lost = (f"{failed} failed",) if failed else ()
    return (f"{calls} call{'s' * (calls != 1)}", *lost, *money(used, usd), seconds(took))


def _part(name: str, nodes: list[Node]) -> Node:
    """A part of the run, with what it took: from its first call's beginning to the last's end."""
    made = tuple(call for node in nodes for call in node.calls)
    if not made:
        return Node(name, "", (), "part", tuple(nodes))
    sums = cost(name, made)
    took = max(call.ended for call in made) - min(call.began for call in made)
    figures = (*money(sums.tokens, sums.usd), seconds(took))
    return Node(name, "", figures, "part", tuple(nodes), made)


def _parts(events: Sequence[Event]) -> Iterator[tuple[str, list[Event]]]:
    """The events in parts: before the first queries, each round, and what came after gathering."""
    gathered = [i for i, event in enumerate(events) if _gathers(event)]
    end = gathered[-1] + 1 if gathered else len(events)
    starts = [i for i, event in enumerate(events[:end]) if isinstance(event, Queried)] or [end]
    yield "Plan", list(events[: starts[0]])
    for n, (start, stop) in enumerate(zip(starts, [*starts[1:], end], strict=True), 1):
        yield f"Round {n}", list(events[start:stop])
    yield "Answer", list(events[end:])


def _gathers(event: Event) -> bool:
    if isinstance(event, Failed):
        return event.what != "llm"
    return isinstance(event, Queried | Searched | PageRead | Blocked | Doubted | Reflected)


# --- one node an event ---------------------------------------------------------------------------


class _Book:
    """The calls, to be found by the event that tells of them, each once."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.left = {call.key: call for call in calls}
        self.sources = 0

    def search(self, query: str) -> tuple[Call, ...]:
        return self._take(c for c in self.left.values() if (c.kind, c.subject) == ("search", query))

    def read(self, url: str) -> tuple[Call, ...]:
        key = canonical(url)
        return self._take(c for c in self.left.values() if (c.kind, c.subject) == ("read", key))

    def ask(self, task: str, attempts: tuple[Attempt, ...]) -> tuple[Call, ...]:
        """Two askings of one task are told apart by how they went."""
        went = tuple(attempt.model_dump(mode="json") for attempt in attempts)
        asked = (c for c in self.left.values() if (c.kind, c.subject) == ("ask", task))
        return self._take(call for call in asked if call.attempts == went)

    def _take(self, fitting: Iterable[Call]) -> tuple[Call, ...]:
        call = next(iter(fitting), None)
        return (self.left.pop(call.key),) if call else ()


def _nodes(events: Sequence[Event], book: _Book, trace: Trace) -> Iterator[Node]:
    for event in events:
        yield from _node(event, book, trace)


def _node(event: Event, book: _Book, trace: Trace) -> Iterator[Node]:  # noqa: C901 - as `detail`
    match event:
        case Started():
            if event.slots:
                yield Node("slots asked for", ", ".join(slot.name for slot in event.slots))
        case Asked():
            yield _asked(event, book)
        case Planned():
            yield Node("plan", f"{event.question_type}, {event.search_strategy}")
        case Queried():
            yield Node("queries", " | ".join(event.queries))
            if event.round == 1 and event.slots:
                yield Node("slots", ", ".join(slot.name for slot in event.slots))
        case Searched():
            yield _searched(event, book)
        case PageRead():
            yield _page(event, book)
        case Failed():
            yield _failed(event, book)
        case Blocked():
            yield Node("blocked", detail(event), mark="quiet", link=event.hit.url)
        case Doubted():
            gaps = tuple(Node("gap", gap) for gap in event.gaps)
            yield Node("gaps", "" if gaps else "none: nothing more is needed", children=gaps)
        case Reflected():
            slots = tuple(map(_slot, event.findings))
            yield Node("known so far", "" if slots else "no slots were named", children=slots)
            yield _decision(event, trace)
        case Answered():
            yield from _answered(event, trace)
        case Warned() | Halted():
            yield Node("note" if isinstance(event, Warned) else "halted", detail(event), mark="bad")
        case _:
            yield Node(event.type.replace("_", " "), detail(event))


def _asked(event: Asked, book: _Book) -> Node:
    made = book.ask(event.task, event.attempts)
    figures = tuple(figure for call in made for figure in _took(call))
    tries = tuple(map(_try, event.attempts)) if len(event.attempts) > 1 else ()
    return Node(f"asked {event.model}", event.task, figures, children=tries, calls=made)


def _took(call: Call) -> tuple[str, ...]:
    return (*money(call.tokens, call.usd), seconds(call.seconds))


def _try(attempt: Attempt) -> Node:
    figures = (seconds(attempt.seconds),) if attempt.seconds else ()
    failed = attempt.outcome != "ok"
    text = f"{attempt.provider}: {attempt.outcome}" + f" ({attempt.detail})" * bool(attempt.detail)
    return Node("tried", text, figures, "bad" if failed else "")


def _searched(event: Searched, book: _Book) -> Node:
    found = event.found
    made = book.search(found.query)
    hits = f"{len(found.hits)} hit{'s' * (len(found.hits) != 1)}"
    tries = [a for a in found.attempts if a.outcome not in ("ok", "no_key")]
    figures = (found.provider, hits, *(seconds(call.seconds) for call in made))
    mark: Mark = "" if found.hits else "quiet"
    return Node("searched", found.query, figures, mark, tuple(map(_try, tries)), made)


def _page(event: PageRead, book: _Book) -> Node:
    page = event.page
    book.sources += 1
    made = book.read(event.hit.url) if page.via == "page" else ()
    took = tuple(seconds(call.seconds) for call in made)
    what = "read" if page.via == "page" else "took the snippet of"
    text = f"[{book.sources}] {page.title}"
    figures = (page.url, f"{len(page.text):,} characters", *took)
    return Node(what, text, figures, calls=made, link=page.url)


def _failed(event: Failed, book: _Book) -> Node:
    find = {"ask": lambda: book.ask(event.subject, event.attempts)}
    find["search"] = lambda: book.search(event.subject)
    find["read"] = lambda: book.read(event.subject)
    made = find[KIND[event.what]]()
    took = tuple(seconds(call.seconds) for call in made)
    what = {"llm": "no model answered", "search": "could not search", "page": "did not read"}
    stood_in = (Node("used instead", event.stand_in),) if event.stand_in else ()
    tries = tuple(map(_try, event.attempts)) if event.what != "page" else ()
    reason = (event.outcome, event.message, *took)
    under = (*tries, *stood_in)
    return Node(what[event.what], event.subject, reason, "bad", under, made, event.subject)


def _slot(finding: Finding) -> Node:
    cited = "".join(f"[{n}]" for n in sorted({quote.source for quote in finding.quotes}))
    if finding.status == "missing":
        return Node(finding.slot, "missing", mark="quiet")
    told = tuple(f"or {_weighing(other)}" for other in finding.alternatives)
    against = (f"weight {finding.weight:g}", *told) if told else ()
    if finding.status == "conflict":
        return Node(finding.slot, f"in conflict: {finding.value} {cited}", against, "bad")
    return Node(finding.slot, f"{finding.value} {cited}", against, "good")


def _weighing(other: Alternative) -> str:
    """A value that is said against another: by whom, and how much that weighs."""
    cited = "".join(f"[{n}]" for n in other.citations)
    return f"{other.value} {cited}, weight {other.weight:g}"


def _decision(event: Reflected, trace: Trace) -> Node:
    """Why the run went on or stopped, from what came after."""
    after = trace.events[list(trace.events).index(event) + 1 :]
    following = next((e for e in after if isinstance(e, Queried | Halted | Answered)), None)
    open_slots = [f.slot for f in event.findings if f.status != "filled"]
    lacking = f"still open: {', '.join(open_slots)}" if open_slots else "more is wanted"
    if isinstance(following, Queried):
        return Node("goes on", f"{lacking}; searches for {' | '.join(following.queries)}")
    if isinstance(following, Halted):
        return Node("stops", following.reason, mark="bad")
    if any(isinstance(e, Halted) for e in trace.events):
        return Node("stops", "gathering had ended early")
    if not event.need_more:
        return Node("stops", "nothing more is needed")
    if event.round >= trace.max_rounds > 0:
        return Node("stops", f"{lacking}; it was the last round ({trace.max_rounds})")
    return Node("stops", f"{lacking}; there is nothing new to search for")


def _answered(event: Answered, trace: Trace) -> Iterator[Node]:
    yield Node("answer", event.text, mark="good" if event.quotes else "quiet")
    for claim in event.claims:
        if claim.verdict in ("partial", "unsupported"):
            yield Node(claim.verdict, claim.text, mark="bad")
    cited = tuple(map(_citation, trace.answer.citations))
    if cited:
        yield Node("citations", "", children=cited)


def _citation(citation: Citation) -> Node:
    text = f"\N{LEFT DOUBLE QUOTATION MARK}{citation.quote}\N{RIGHT DOUBLE QUOTATION MARK}"
    return Node(f"[{citation.id}]", text, (citation.title, citation.url), link=citation.link)


def _left(book: _Book) -> list[Node]:
    """Calls that no event tells of: made ahead, and the run ended before they were needed."""
    rows = [
        Node(call.kind, call.subject, (call.outcome, seconds(call.seconds)), calls=(call,))
        for call in book.left.values()
    ]
    return [_part("Recorded, but not reached", rows)] if rows else []
