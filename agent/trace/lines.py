"""What a run did: a line for each event with the figures of its outside call, in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent import state
from agent.answer import tree
from agent.answer.event_format import describe_event
from agent.answer.html import Markup, element
from agent.answer.report import all_claims
from agent.answer.shown import list_badges, list_error, list_sections, list_warnings
from agent.state.urls import canonical_url
from agent.trace.calls import Trace, TracedCall, format_cost, format_seconds, group_by_service

FAILURES = {"llm": "no model answered", "search": "could not search", "page": "did not read"}
KINDS = {"llm": "ask", "search": "search", "page": "read"}  # of calls, by what failed
#: The events that gather evidence, a failed search or page aside.
GATHERING = (
    *(state.Queried, state.Searched, state.Recalled, state.PageRead),
    *(state.Blocked, state.Doubted, state.Reflected),
)


def list_parts(trace: Trace) -> list[tree.PagePart]:
    """The plan, the rounds, the answer and the cost of a run, each with its lines."""
    lines, parts = EventLines(trace), []
    for name, events in _split_events(trace.events):
        before = list(lines.left)
        items = [item for event in events for item in lines.list_lines(event)]
        taken = [call for call in before if call not in lines.left]
        parts.append(_make_part(name, items, taken))
    left = [make_line(one.kind, one.subject, one.outcome, calls=(one,)) for one in lines.left]
    parts.append(_make_part("Recorded, but not reached", left, lines.left))
    if trace.unfinished_reason:
        end = make_line("The journal ends here", trace.unfinished_reason, role="bad")
        parts.append(_make_part("Unfinished", [end], ()))
    elif error := trace.answer.error:
        parts.append(_make_part("No answer", [make_line("error", error.message, role="bad")], ()))
    services = [_service_line(name, calls) for name, calls in group_by_service(trace.calls)]
    parts.append(_make_part("Cost", services, trace.calls))
    return [part._replace(id=f"part-{n}") for n, part in enumerate(parts)]


def _make_part(name: str, items: Sequence[tree.Item], calls: Sequence[TracedCall]) -> tree.PagePart:
    """A part with its cost, and its duration from its first call to its last."""
    blocks: list[tree.Block] = [tree.Bullets(items, "lines")] if items else []
    if calls:
        seconds = max(call.end for call in calls) - min(call.start for call in calls)
        figures = " · ".join((*format_cost(calls), format_seconds(seconds)))
        blocks.insert(0, tree.Prose((figures,), "quiet"))
    return tree.PagePart(name, [tree.Group(blocks)] if blocks else [], "")


def make_line(
    label: str,
    text: str = "",
    *figures: str,
    role: str = "",
    url: str = "",
    calls: Sequence[TracedCall] = (),
    items: Sequence[tree.Item] = (),
) -> tree.Item:
    """A line: what happened, to what, and its figures with those of its calls."""
    times = [
        figure for call in calls for figure in (*format_cost([call]), format_seconds(call.seconds))
    ]
    told = " · ".join(filter(None, (*figures, *times)))
    separator = "" if not text else " " if label.startswith("[") else ": "
    parts = (
        tree.Text(f"{label}{separator}", "what"),
        tree.Text(text, url=url),
        tree.Text(f"  ({told})" if told else "", "figure"),
    )
    return tree.Item(parts, items, role, calls[0].id if calls else "")


def _service_line(name: str, calls: Sequence[TracedCall]) -> tree.Item:
    failed = sum(call.outcome != "ok" for call in calls)
    counts = (_count(len(calls), "call"), f"{failed} failed" if failed else "")
    seconds = format_seconds(sum(call.seconds for call in calls))
    return make_line(name, "", *counts, *format_cost(calls), seconds)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _split_events(
    events: Sequence[state.Event],
) -> Iterator[tuple[str, Sequence[state.Event]]]:
    """Split the events into named parts: the plan, before the first queries; a round from each
    queries to the next; the answer, after the last event that gathers evidence."""
    gathering = [i for i, event in enumerate(events) if _is_gathering(event)]
    end = gathering[-1] + 1 if gathering else len(events)
    starts = [i for i in range(end) if isinstance(events[i], state.Queried)] or [end]
    yield "Plan", events[: starts[0]]
    for n, (start, stop) in enumerate(zip(starts, [*starts[1:], end], strict=True), 1):
        yield f"Round {n}", events[start:stop]
    yield "Answer", events[end:]


def _is_gathering(event: state.Event) -> bool:
    return isinstance(event, GATHERING) or (isinstance(event, state.Failed) and event.what != "llm")


class EventLines:
    """Makes the lines of a run's events, which it must get in their order.

    Each call belongs to the first event that reports it; `left` are those that none did.
    """

    def __init__(self, trace: Trace) -> None:
        self.left = list(trace.calls)
        self._trace = trace
        self._source_count = 0
        self._draft = ""

    def list_lines(self, event: state.Event) -> Iterator[tree.Item]:  # noqa: C901 - a case an event
        """The lines of an event; none if it has nothing to show."""
        match event:
            case state.Started():
                if event.slots:
                    yield make_line("slots asked for", _join_names(event.slots))
            case state.Asked():
                tried = event.attempts if len(event.attempts) > 1 else ()
                calls = self._take("ask", event.task, event.attempts)
                yield make_line(
                    f"asked {event.model}", event.task, calls=calls, items=_attempts(tried)
                )
            case state.Queried():
                yield make_line("queries", " | ".join(event.queries))
                if event.round == 1 and event.slots:
                    yield make_line("slots", _join_names(event.slots))
            case state.Searched(found=found) | state.Recalled(found=found):
                failed = (one for one in found.attempts if one.outcome not in ("ok", "no_key"))
                figures = (found.provider, _count(len(found.hits), "hit"))
                calls = self._take("search", found.query)
                items = _attempts(failed)
                yield make_line("searched", found.query, *figures, calls=calls, items=items)
            case state.PageRead():
                yield self._page_line(event)
            case state.Failed():
                yield self._failed_line(event)
            case state.Reflected():
                slots = [*map(_slot_line, event.findings)]
                yield make_line("known so far", "" if slots else "no slots named", items=slots)
                yield make_line(*self._tell_decision(event))
            case state.Answered():
                self._draft = event.text
                yield make_line("answer", event.text, role="good" if event.quotes else "quiet")
                for quote in event.quotes:
                    yield make_line(f"[{quote.source}]", f"“{quote.text}”")
            case state.Verified():
                yield self._verified_line(event)
            case state.Blocked():
                yield make_line("blocked", describe_event(event), url=event.hit.url)
            case state.Warned() | state.Halted():
                yield make_line(event.type, describe_event(event), role="bad")
            case _:
                name = {"planned": "plan", "doubted": "gap"}.get(event.type, event.type)
                yield make_line(name.replace("_", " "), describe_event(event))

    def _take(
        self, kind: str, subject: str, attempts: Sequence[state.Attempt] | None = None
    ) -> list[TracedCall]:
        """The call of an event; of several that ask one task the one with these attempts."""
        rows = None if attempts is None else tuple(one.model_dump(mode="json") for one in attempts)
        for n, call in enumerate(self.left):
            if (call.kind, call.subject) == (kind, subject) and rows in (None, call.attempts):
                return [self.left.pop(n)]
        return []

    def _page_line(self, event: state.PageRead) -> tree.Item:
        page = event.page
        self._source_count += 1
        is_whole = page.via == "page"
        return make_line(
            "read" if is_whole else "took the snippet of",
            f"[{self._source_count}] {page.title}",
            *(page.url, f"{len(page.text):,} characters"),
            url=page.url,
            calls=self._take("read", canonical_url(event.hit.url)) if is_whole else (),
        )

    def _failed_line(self, event: state.Failed) -> tree.Item:
        is_page = event.what == "page"
        subject = canonical_url(event.subject) if is_page else event.subject
        attempts = event.attempts if event.what == "llm" else None
        stand_in = [make_line("used instead", event.stand_in)] if event.stand_in else []
        return make_line(
            FAILURES[event.what],
            event.subject,
            *(event.outcome, event.message),
            role="bad",
            url=event.subject if is_page else "",
            calls=self._take(KINDS[event.what], subject, attempts),
            items=[*_attempts(() if is_page else event.attempts), *stand_in],
        )

    def _tell_decision(self, event: state.Reflected) -> tuple[str, str]:
        """Why the run went on or stopped after a reflection, as the later events show."""
        later = self._trace.events[list(self._trace.events).index(event) + 1 :]
        ends = state.Queried | state.Halted | state.Answered
        following = next((one for one in later if isinstance(one, ends)), None)
        open_slots = [finding.slot for finding in event.findings if finding.status != "filled"]
        need = f"still open: {', '.join(open_slots)}" if open_slots else "more is wanted"
        if isinstance(following, state.Queried):
            return "goes on", f"{need}; searches for {' | '.join(following.queries)}"
        if isinstance(following, state.Halted):
            return "stops", following.reason
        if not event.need_more:
            return "stops", "nothing more is needed"
        rounds = self._trace.max_rounds
        is_last = event.round >= rounds > 0
        why = (
            f"it was the last round ({rounds})" if is_last else "there is nothing new to search for"
        )
        return "stops", f"{need}; {why}"

    def _verified_line(self, event: state.Verified) -> tree.Item:
        """What the check came to; the claims that are not supported, and a text that it changed."""
        claims = [
            claim for claim in dict.fromkeys(all_claims(event)) if claim.verdict != "supported"
        ]
        items = [make_line(claim.verdict, claim.text, role="bad") for claim in claims]
        if event.text != self._draft:
            items.append(make_line("answer", event.text))
        return make_line("verified", describe_event(event), items=items)


def _join_names(slots: Sequence[state.Slot]) -> str:
    return ", ".join(slot.name for slot in slots)


def _attempts(attempts: Iterable[state.Attempt]) -> list[tree.Item]:
    return list(map(_attempt_line, attempts))


def _attempt_line(attempt: state.Attempt) -> tree.Item:
    text = f"{attempt.provider}: {attempt.outcome}" + f" ({attempt.detail})" * bool(attempt.detail)
    return make_line("tried", text, format_seconds(attempt.seconds) if attempt.seconds else "")


def _slot_line(finding: state.Finding) -> tree.Item:
    """What is known of a slot: its value and the others, with their sources and weights."""
    if finding.status == "missing":
        return make_line(finding.slot, "missing", role="quiet")
    sources = sorted({quote.source for quote in finding.quotes})
    others = finding.alternatives
    figures = [f"or {_tell_value(o.value, o.of, o.citations)}, weight {o.weight:g}" for o in others]
    weight = [f"weight {finding.weight:g}"] if others else []
    value = _tell_value(finding.value, finding.of, sources)
    if finding.status == "conflict":
        return make_line(finding.slot, f"in conflict: {value}", *weight, *figures, role="bad")
    return make_line(finding.slot, value, *weight, *figures, role="good")


def _tell_value(value: object, of: str, sources: Sequence[int]) -> str:
    return f"{state.name_thing(value, of)} {''.join(f'[{n}]' for n in sources)}"


# --- what is shown: lines for a terminal, and one page with the answer and a timeline ------------


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
