"""How a run looks to a person: events as lines and frames, an answer as Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from agent.state import (
    Answered,
    Asked,
    Blocked,
    Browsed,
    Decided,
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
    Verified,
    Warned,
)
from agent.state.plain import printable

#: What a run tells while it goes. `report` and `answer`, or `error`, come once; `end` is the last.
FrameType = Literal[
    "start",
    "plan",
    "thinking",
    "search",
    "fetch",
    "block",
    "gaps",
    "slot",
    "report",
    "answer",
    "error",
    "end",
]
LONGEST_DETAIL = 2000  # characters of a frame's detail, but for the report and the answer


def event_line(event: Event) -> str:
    """An event as `[EVENT] detail`, on one line."""
    return f"[{event.type.upper()}] {printable(detail(event))}"


def detail(event: Event) -> str:  # noqa: C901 - one case an event is clearer than a table
    """What an event says, in a few words."""
    match event:
        case Started():
            chosen = f" ({event.strategy}: {event.reason})" if event.reason else ""
            return event.topic + chosen
        case Asked():
            return f"{event.task}: {event.model}"
        case Planned():
            queries = " | ".join(f"{sub.query} ({sub.priority})" for sub in event.sub_queries)
            return f"{event.question_type}, {event.search_strategy}: {queries}"
        case Queried():
            return f"round {event.round}: {' | '.join(event.queries)}"
        case Searched(found=found):
            return f"{found.query}: {len(found.hits)} hits from {found.provider}"
        case Decided():
            return f"step {event.step}: {event.action} {event.note}".rstrip()
        case Browsed():
            return f"{len(event.quotes)} helpful passages"
        case Blocked():
            return f"{event.hit.url}: credibility {event.score:g}, not above {event.threshold:g}"
        case Doubted():
            return " | ".join(event.gaps) or "no gaps"
        case PageRead(page=page):
            return f"{page.url} ({len(page.text)} characters, {page.via})"
        case Reflected():
            return ", ".join(map(_finding, event.findings))
        case Answered():
            return event.text
        case Verified():
            counts = Counter(claim.verdict for claim in event.claims)
            told = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
            return f"{told or 'no claims'}; {len(event.dropped)} dropped"
        case Failed():
            return f"{event.what} {event.subject}: {event.message}"
        case Warned():
            return event.message
        case Halted():
            return event.reason


def _finding(finding: Finding) -> str:
    """`winner=Argentina`; where sources disagree, with what is said against it and the weights."""
    told = finding.status if finding.value is None else str(finding.value)
    against = "".join(f" or {a.value} ({a.weight:g})" for a in finding.alternatives)
    weight = f" ({finding.weight:g})" if against else ""
    mark = "?" if finding.status == "conflict" else ""
    return f"{finding.slot}={told}{mark}{weight}{against}"


def event_json(event: Event) -> str:
    """An event as a line of JSON; the text of a page is told by its length."""
    value: dict[str, Any] = event.model_dump(mode="json")
    if isinstance(event, PageRead):
        value["page"]["text"] = None
        value["page"]["characters"] = len(event.page.text)
    return json.dumps(value, ensure_ascii=False)


def frames(event: Event) -> Iterator[tuple[FrameType, str]]:
    """An event as the frames of a stream: a type of a closed set, and a few words."""
    if isinstance(event, Answered):
        return  # the answer object is told when the run has ended
    if isinstance(event, Reflected):
        yield from (("slot", _short(_known(finding))) for finding in event.findings)
        if event.need_more:
            yield "gaps", _short(" | ".join(event.new_queries))
    else:
        yield _frame_type(event), _short(_told(event))


def _known(finding: Finding) -> str:
    """`winner: Argentina`; where sources disagree, `winner: Argentina or France (in conflict)`."""
    values = [finding.value, *(other.value for other in finding.alternatives)]
    told = " or ".join(str(value) for value in values if value is not None) or finding.status
    return f"{finding.slot}: {told}" + (" (in conflict)" if finding.status == "conflict" else "")


def _told(event: Event) -> str:
    """What an event says, where its frame's type says the rest."""
    match event:
        case Started():
            return event.topic
        case Verified():
            return f"sentences checked: {detail(event)}"
        case Failed(stand_in=stand_in):
            used = f" Used instead: {stand_in}." if stand_in else ""
            return f"{event.subject}: {event.message}{used}"
    return detail(event)


def _frame_type(event: Event) -> FrameType:
    match event:
        case Started():
            return "start"
        case Planned() | Queried():
            return "plan"
        case Searched() | Failed(what="search"):
            return "search"
        case Blocked() | Failed(what="page", outcome="blocked" | "forbidden"):
            return "block"
        case Doubted():
            return "gaps"
        case PageRead() | Failed(what="page"):
            return "fetch"
    return "thinking"


def _short(text: str) -> str:
    line = printable(text)
    return line if len(line) <= LONGEST_DETAIL else line[: LONGEST_DETAIL - 1] + "…"
