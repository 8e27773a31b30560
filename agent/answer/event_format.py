"""The formats of events while a run goes on: text lines, JSON lines, and frames of a stream.

Formats of the whole answer are in `formats.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from agent import state
from agent.answer.formats import to_markdown
from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.errors import format_error
from agent.evidence.markers import strip_markers
from agent.state import sanitize_for_display

#: The types of frames. `report` and `answer`, or `error`, come once; `end` comes last.
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
MAX_DETAIL_CHARACTERS = 2000  # characters of a frame's detail, except that of `report` and `answer`


def format_event_line(event: state.Event) -> str:
    """An event as `[EVENT] detail`, and each reply that could not be parsed; a line each."""
    attempts: tuple[state.Attempt, ...] = getattr(event, "attempts", ())
    replies = (f"[REPLY] {one.provider}: {one.reply}" for one in attempts if one.reply)
    lines = (f"[{event.type.upper()}] {describe_event(event)}", *replies)
    return "\n".join(map(sanitize_for_display, lines))


def describe_event(event: state.Event) -> str:  # noqa: C901 - one case an event is clearer than a table
    """The detail of an event, in a few words."""
    match event:
        case state.Started() | state.Understood():
            return event.topic
        case state.Asked():
            return f"{event.task}: {event.model}"
        case state.Planned():
            queries = " | ".join(map(_describe_query, event.sub_queries))
            about = ", ".join(filter(None, (event.question_type, event.search_strategy)))
            return f"{about}: {' / '.join(one.heading for one in event.sections)}: {queries}"
        case state.Queried():
            return f"round {event.round}: {' | '.join(event.queries)}"
        case state.Searched(found=results) | state.Recalled(found=results):
            return f"{results.query}: {len(results.hits)} hits from {results.provider}"
        case state.Decided():
            return f"step {event.step}: {event.action} {event.note}".rstrip()
        case state.Blocked():
            return f"{event.hit.url}: credibility {event.score:g}, not above {event.threshold:g}"
        case state.Doubted():
            return " | ".join(event.gaps) or "no gaps"
        case state.PageRead(page=page):
            return f"{page.url} ({len(page.text)} characters, {page.text_from or page.via})"
        case state.Reflected():
            return ", ".join(map(_describe_finding, event.findings))
        case state.Answered():
            return strip_markers(event.text)
        case state.Verified():
            return f"{_count_verdicts(event.claims)}; {len(event.dropped)} dropped"
        case state.Checked():
            return _count_verdicts(event.claims)
        case state.LookedUp():
            return f"{event.url}: {event.notice or 'not retracted'}"
        case state.Failed():
            return f"{event.what} {event.subject}: {event.message}"
        case state.Warned():
            return event.message
        case state.Halted():
            return event.reason


def _count_verdicts(claims: Iterable[state.Claim | state.CheckedClaim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "no claims"


def _describe_query(sub: state.SubQuery) -> str:
    return f"{sub.query} ({sub.priority}{sub.reasoning and ': '}{sub.reasoning})"


def _describe_finding(finding: state.Finding) -> str:
    """`winner: Argentina`; where sources disagree, `winner: Argentina or France (in conflict)`.

    Of several things of one name, each value is shown with what it is of.
    """
    rivals = ((one.value, one.of) for one in finding.alternatives)
    values = [
        (value, of) for value, of in ((finding.value, finding.of), *rivals) if value is not None
    ]
    if finding.of and finding.status == "filled":
        return f"{finding.slot}: {'; '.join(state.name_thing(*one) for one in values)}"
    text = " or ".join(str(value) for value, _ in values) or finding.status
    return f"{finding.slot}: {text}" + (" (in conflict)" if finding.status == "conflict" else "")


def format_event_json(event: state.Event) -> str:
    """An event as a line of JSON. Of a page's text only the length is in it: `characters`.

    The numbers of sources are left out: the answer has its own.
    """
    value: dict[str, Any] = _drop_numbers(event.model_dump(mode="json"))
    if isinstance(event, state.PageRead):
        value["page"]["text"] = None
        value["page"]["characters"] = len(event.page.text)
    if isinstance(event, state.Composed):
        value["text"] = strip_markers(event.text)
    return json.dumps(value, ensure_ascii=False)


def _drop_numbers(value: Any) -> Any:
    """A JSON value without the fields that hold numbers of sources."""
    if isinstance(value, list):
        return [_drop_numbers(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key not in ("source", "citations")}
    return {key: _drop_numbers(item) for key, item in kept.items()}


def to_frames(event: state.Event) -> Iterator[tuple[FrameType, str]]:
    """The frames of an event, each with its type and a detail in a few words."""
    if isinstance(event, state.Answered):
        return  # the answer object is a frame of its own, at the end of the run
    if isinstance(event, state.Reflected):
        yield from (("slot", _shorten(_describe_finding(finding))) for finding in event.findings)
        if event.need_more:
            yield "gaps", _shorten(" | ".join(event.new_queries))
    else:
        prefix = "sentences checked: " if isinstance(event, state.Verified) else ""
        yield _frame_type(event), _shorten(prefix + describe_event(event))


def _frame_type(event: state.Event) -> FrameType:
    match event:
        case state.Started():
            return "start"
        case state.Planned() | state.Understood() | state.Queried():
            return "plan"
        case state.Searched() | state.Recalled() | state.Failed(what="search"):
            return "search"
        case state.Blocked() | state.Failed(what="page", outcome="blocked" | "forbidden"):
            return "block"
        case state.Doubted():
            return "gaps"
        case state.PageRead() | state.Failed(what="page"):
            return "fetch"
    return "thinking"


def _shorten(text: str) -> str:
    line = sanitize_for_display(text)
    return line if len(line) <= MAX_DETAIL_CHARACTERS else line[: MAX_DETAIL_CHARACTERS - 1] + "…"


def final_frames(answer: Answer) -> Iterator[tuple[FrameType, str]]:
    """The last frames of a run: its answer as Markdown and as JSON, or its error; then the end."""
    if answer.error:
        yield "error", format_error(answer.error.message, answer.error.remedy)
    else:
        yield "report", answer.report.markdown if answer.report else to_markdown(answer)
        yield "answer", to_json(answer, compact=True).strip()
    yield "end", answer.status
