"""The nodes of events: what each event says happened, with the figures of its outside calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent.answer import Citation
from agent.answer.event_format import describe_event
from agent.answer.report import all_claims
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
    Recalled,
    Reflected,
    Searched,
    Started,
    Verified,
    Warned,
)
from agent.state.urls import canonical_url
from agent.trace.calls import TracedCall
from agent.trace.figures import format_seconds, format_usage
from agent.trace.values import Mark, Node, Trace

FAILURE_LABELS = {
    "llm": "no model answered",
    "search": "could not search",
    "page": "did not read",
}


class CallMatcher:
    """Matches events to calls: each call belongs to the first event that reports it."""

    def __init__(self, calls: Sequence[TracedCall]) -> None:
        self.unmatched = {call.key: call for call in calls}

    def take_search(self, query: str) -> tuple[TracedCall, ...]:
        """The call of a search, if there is one that is not matched yet."""
        return self._take(self._find("search", query))

    def take_read(self, url: str) -> tuple[TracedCall, ...]:
        """The call that read a page, if there is one that is not matched yet."""
        return self._take(self._find("read", canonical_url(url)))

    def take_ask(self, task: str, attempts: tuple[Attempt, ...]) -> tuple[TracedCall, ...]:
        """The call of a task; of several calls of one task the one with the same attempts."""
        rows = tuple(attempt.model_dump(mode="json") for attempt in attempts)
        return self._take(call for call in self._find("ask", task) if call.attempts == rows)

    def _find(self, kind: str, subject: str) -> Iterator[TracedCall]:
        for call in self.unmatched.values():
            if (call.kind, call.subject) == (kind, subject):
                yield call

    def _take(self, candidates: Iterable[TracedCall]) -> tuple[TracedCall, ...]:
        call = next(iter(candidates), None)
        return (self.unmatched.pop(call.key),) if call else ()


class EventNodes:
    """Makes the nodes of a run's events, which it must get in their order."""

    def __init__(self, trace: Trace) -> None:
        self.calls = CallMatcher(trace.calls)
        self._trace = trace
        self._source_count = 0
        self._numbers: dict[tuple[str, str], int] = {}  # of sources: the answer counts them anew
        self._draft = ""

    def make_nodes(self, event: Event) -> Iterator[Node]:  # noqa: C901 - one case for each event
        """The nodes of an event; none if it has nothing to show."""
        match event:
            case Started():
                if event.slots:
                    yield Node("slots asked for", ", ".join(slot.name for slot in event.slots))
            case Asked():
                yield self._asked_node(event)
            case Planned():
                yield Node("plan", f"{event.question_type}, {event.search_strategy}")
            case Queried():
                yield Node("queries", " | ".join(event.queries))
                if event.round == 1 and event.slots:
                    yield Node("slots", ", ".join(slot.name for slot in event.slots))
            case Searched() | Recalled():
                yield self._searched_node(event)
            case PageRead():
                yield self._page_node(event)
            case Failed():
                yield self._failed_node(event)
            case Blocked():
                yield Node("blocked", describe_event(event), mark="quiet", link=event.hit.url)
            case Doubted():
                gaps = tuple(Node("gap", gap) for gap in event.gaps)
                yield Node("gaps", "" if gaps else "none: nothing more is needed", children=gaps)
            case Reflected():
                slots = tuple(map(_slot_node, event.findings))
                yield Node("known so far", "" if slots else "no slots were named", children=slots)
                yield self._decision_node(event)
            case Answered():
                yield from self._answer_nodes(event)
            case Verified():
                yield self._verified_node(event)
            case Warned():
                yield Node("note", describe_event(event), mark="bad")
            case Halted():
                yield Node("halted", describe_event(event), mark="bad")
            case _:
                yield Node(event.type.replace("_", " "), describe_event(event))

    def _asked_node(self, event: Asked) -> Node:
        calls = self.calls.take_ask(event.task, event.attempts)
        figures = tuple(figure for call in calls for figure in _call_figures(call))
        attempts = tuple(map(_attempt_node, event.attempts)) if len(event.attempts) > 1 else ()
        return Node(f"asked {event.model}", event.task, figures, children=attempts, calls=calls)

    def _searched_node(self, event: Searched | Recalled) -> Node:
        results = event.found
        calls = self.calls.take_search(results.query)
        hits = f"{len(results.hits)} hit{'s' * (len(results.hits) != 1)}"
        failures = [a for a in results.attempts if a.outcome not in ("ok", "no_key")]
        figures = (results.provider, hits, *_durations(calls))
        mark: Mark = "" if results.hits else "quiet"
        children = tuple(map(_attempt_node, failures))
        return Node("searched", results.query, figures, mark, children, calls)

    def _page_node(self, event: PageRead) -> Node:
        page = event.page
        is_whole = page.via == "page"
        self._source_count += 1
        self._numbers.setdefault((page.sha256, page.title), self._source_count)
        calls = self.calls.take_read(event.hit.url) if is_whole else ()
        label = "read" if is_whole else "took the snippet of"
        text = f"[{self._source_count}] {page.title}"
        figures = (page.url, f"{len(page.text):,} characters", *_durations(calls))
        return Node(label, text, figures, calls=calls, link=page.url)

    def _failed_node(self, event: Failed) -> Node:
        calls = self._take_failed_call(event)
        attempts = tuple(map(_attempt_node, event.attempts)) if event.what != "page" else ()
        stand_in = (Node("used instead", event.stand_in),) if event.stand_in else ()
        return Node(
            FAILURE_LABELS[event.what],
            event.subject,
            figures=(event.outcome, event.message, *_durations(calls)),
            mark="bad",
            children=(*attempts, *stand_in),
            calls=calls,
            link=event.subject,
        )

    def _take_failed_call(self, event: Failed) -> tuple[TracedCall, ...]:
        if event.what == "llm":
            return self.calls.take_ask(event.subject, event.attempts)
        if event.what == "search":
            return self.calls.take_search(event.subject)
        return self.calls.take_read(event.subject)

    def _decision_node(self, event: Reflected) -> Node:
        """Why the run went on or stopped after a reflection, as the later events show."""
        events = self._trace.events
        later = events[list(events).index(event) + 1 :]
        following = next((e for e in later if isinstance(e, Queried | Halted | Answered)), None)
        open_slots = [f.slot for f in event.findings if f.status != "filled"]
        need = f"still open: {', '.join(open_slots)}" if open_slots else "more is wanted"
        if isinstance(following, Queried):
            return Node("goes on", f"{need}; searches for {' | '.join(following.queries)}")
        if isinstance(following, Halted):
            return Node("stops", following.reason, mark="bad")
        if any(isinstance(e, Halted) for e in events):
            return Node("stops", "gathering had ended early")
        if not event.need_more:
            return Node("stops", "nothing more is needed")
        max_rounds = self._trace.max_rounds
        if event.round >= max_rounds > 0:
            return Node("stops", f"{need}; it was the last round ({max_rounds})")
        return Node("stops", f"{need}; there is nothing new to search for")

    def _answer_nodes(self, event: Answered) -> Iterator[Node]:
        self._draft = event.text
        yield Node("answer", event.text, mark="good" if event.quotes else "quiet")
        if citations := tuple(map(self._citation_node, self._trace.answer.citations)):
            yield Node("citations", "", children=citations)

    def _citation_node(self, citation: Citation) -> Node:
        number = self._numbers.get((citation.page_sha256, citation.title), citation.id)
        text = f"\N{LEFT DOUBLE QUOTATION MARK}{citation.quote}\N{RIGHT DOUBLE QUOTATION MARK}"
        return Node(f"[{number}]", text, (citation.title, citation.url), link=citation.link)

    def _verified_node(self, event: Verified) -> Node:
        """What the check came to; the claims that are not supported, and a text that it changed."""
        claims = [c for c in dict.fromkeys(all_claims(event)) if c.verdict != "supported"]
        nodes = [Node(claim.verdict, claim.text, mark="bad") for claim in claims]
        if event.text != self._draft:
            nodes.append(Node("answer", event.text, mark="good" if event.quotes else "quiet"))
        return Node("verified", describe_event(event), children=tuple(nodes))


def _call_figures(call: TracedCall) -> tuple[str, ...]:
    return (*format_usage(call.tokens, call.usd), format_seconds(call.seconds))


def _durations(calls: Iterable[TracedCall]) -> tuple[str, ...]:
    return tuple(format_seconds(call.seconds) for call in calls)


def _attempt_node(attempt: Attempt) -> Node:
    figures = (format_seconds(attempt.seconds),) if attempt.seconds else ()
    text = f"{attempt.provider}: {attempt.outcome}" + f" ({attempt.detail})" * bool(attempt.detail)
    return Node("tried", text, figures, "" if attempt.outcome == "ok" else "bad")


def _slot_node(finding: Finding) -> Node:
    if finding.status == "missing":
        return Node(finding.slot, "missing", mark="quiet")
    of = f" ({finding.of})" if finding.of else ""
    text = f"{finding.value}{of} {_format_markers(sorted({q.source for q in finding.quotes}))}"
    alternatives = tuple(f"or {_format_alternative(other)}" for other in finding.alternatives)
    figures = (f"weight {finding.weight:g}", *alternatives) if alternatives else ()
    if finding.status == "conflict":
        return Node(finding.slot, f"in conflict: {text}", figures, "bad")
    return Node(finding.slot, text, figures, "good")


def _format_alternative(other: Alternative) -> str:
    """Another value of a slot, with its sources and its weight."""
    of = f" ({other.of})" if other.of else ""
    return f"{other.value}{of} {_format_markers(other.citations)}, weight {other.weight:g}"


def _format_markers(numbers: Iterable[int]) -> str:
    return "".join(f"[{n}]" for n in numbers)
