"""How a run looks to a person: events as lines and frames, an answer as Markdown."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from agent.research import (
    Answered,
    Asked,
    Event,
    Failed,
    Halted,
    PageRead,
    Queried,
    Reflected,
    Searched,
    Started,
    Verified,
    Warned,
)

if TYPE_CHECKING:
    from agent.output import Answer, Citation

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
            return ", ".join(f"{f.slot}={f.value or f.status}" for f in event.findings)
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


def frames(event: Event) -> Iterator[tuple[FrameType, str]]:
    """An event as the frames of a stream: a type of a closed set, and a few words."""
    if isinstance(event, Answered):
        return  # the answer object is told when the run has ended
    if isinstance(event, Reflected):
        yield from (("slot", _short(f"{f.slot}: {f.value or f.status}")) for f in event.findings)
        if event.need_more:
            yield "gaps", _short(" | ".join(event.new_queries))
    else:
        yield _frame_type(event), _short(detail(event))


def _frame_type(event: Event) -> FrameType:
    match event:
        case Started():
            return "start"
        case Queried():
            return "plan"
        case Searched() | Failed(what="search"):
            return "search"
        case Failed(what="page", outcome="blocked" | "forbidden"):
            return "block"
        case PageRead() | Failed(what="page"):
            return "fetch"
    return "thinking"


def _short(text: str) -> str:
    line = printable(text)
    return line if len(line) <= LONGEST_DETAIL else line[: LONGEST_DETAIL - 1] + "…"


def markdown(answer: Answer) -> str:
    """An answer as Markdown: the text, the facts, each source with its quotes, the warnings.

    What pages say is escaped: it is shown as it was written and is never markup.
    """
    parts = [f"# {_escaped(answer.topic)}"]
    if answer.error:
        parts.append(f"**{_escaped(answer.error.message)}** {_escaped(answer.error.remedy)}")
    parts += [_text(answer.answer), _facts(answer), _sources(answer.citations)]
    if answer.warnings:
        parts.append("## Notes\n\n" + "\n".join(f"- {_escaped(one)}" for one in answer.warnings))
    return "\n\n".join(filter(None, parts)) + "\n"


def _text(answer: str) -> str:
    """The answer's own text, whose `[1]` stay as they are, but never begin a link."""
    return re.sub(r"\\\[(\d+)\\\]([(:])?", _marker, _escaped(answer))


def _marker(found: re.Match[str]) -> str:
    return f"[{found[1]}]" + (f"\\{found[2]}" if found[2] else "")


def _facts(answer: Answer) -> str:
    lines = [
        f"- {_escaped(name)}: {_escaped(slot.value or slot.status)}"
        + "".join(f" [{n}]" for n in slot.citations)
        for name, slot in answer.slots.items()
    ]
    return "\n".join(["## Facts\n", *lines]) if lines else ""


def _sources(citations: tuple[Citation, ...]) -> str:
    """Each source once, with its quotes below it, each a link that opens the page there."""
    lines: list[str] = []
    for n, first in {citation.id: citation for citation in reversed(citations)}.items():
        quotes = [citation for citation in citations if citation.id == n]
        told = [f"   > {_escaped(c.quote)} ([open](<{_address(c.link)}>))\n" for c in quotes]
        head = f"{n}. [{_escaped(first.title or first.url)}](<{_address(first.url)}>)\n"
        lines = [head, *told, *lines]
    return "\n".join(["## Sources\n", *lines]).rstrip() if lines else ""


def _escaped(text: str) -> str:
    """Text on one line in which no character is Markdown or HTML."""
    line = re.sub(r"([\\`*_{}\[\]<>#!|~&])", r"\\\1", printable(text).strip())
    return re.sub(r"^([-+=]|\d+(?=[.)]))", _at_the_start, line)


def _at_the_start(found: re.Match[str]) -> str:
    """What would begin a list: `-` as `\\-`, `1.` with a mark of no width before the dot."""
    return f"\\{found[1]}" if not found[1].isdigit() else f"{found[1]}\u200b"


def _address(url: str) -> str:
    """An address that cannot leave its `<...>`."""
    return re.sub(r"[<>\s\\]", "", url)
