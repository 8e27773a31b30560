"""How a run looks to a person: events as lines."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from agent.research import (
    Answered,
    Asked,
    Event,
    Failed,
    Finding,
    Halted,
    PageRead,
    Queried,
    Reflected,
    Searched,
    Started,
    Verified,
    Warned,
)


def line(event: Event) -> str:
    """An event as `[EVENT] detail`, on one line."""
    return f"[{event.type.upper()}] {printable(detail(event))}"


def detail(event: Event) -> str:  # noqa: C901 - one case an event is clearer than a table
    """What an event says, in a few words."""
    match event:
        case Started():
            return event.topic
        case Asked():
            return f"{event.task}: {event.model}"
        case Queried():
            return f"round {event.round}: {' | '.join(event.queries)}"
        case Searched(found=found):
            return f"{found.query}: {len(found.hits)} hits from {found.provider}"
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


def as_json(event: Event) -> str:
    """An event as a line of JSON; the text of a page is told by its length."""
    value: dict[str, Any] = event.model_dump(mode="json")
    if isinstance(event, PageRead):
        value["page"]["text"] = None
        value["page"]["characters"] = len(event.page.text)
    return json.dumps(value, ensure_ascii=False)


def printable(text: str) -> str:
    """A text that cannot command a terminal: on one line, without control characters."""
    return "".join(char if char.isprintable() else " " for char in text)
