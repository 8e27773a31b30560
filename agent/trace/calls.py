"""The outside calls of a run as its journal records them: time, duration, service, cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from agent.answer.phrases import format_usd
from agent.answer.schema import Answer
from agent.outside.budget import sum_usd
from agent.state import Event
from agent.state.json_data import Json, get_objects, get_path

SUBJECT_KEYS = {"ask": "task", "search": "query", "read": "url"}  # in the request, by kind of call


class TracedCall(NamedTuple):
    """A finished outside call. Times are in seconds since the run began."""

    key: str
    kind: str  # ask, search, read
    subject: str  # the task, the query, the URL
    service: str  # the model or provider that answered, or else was tried last
    outcome: str  # ok, or how it failed
    start: float
    seconds: float
    tokens: tuple[int, int] = (0, 0)  # input and output
    usd: float | None = 0.0  # None: the price is not known
    attempts: tuple[Json, ...] = ()

    @property
    def end(self) -> float:
        return self.start + self.seconds

    @property
    def id(self) -> str:
        """The id of its line on the page, to which the timeline links."""
        return f"call-{self.kind}-{self.key[:16]}"


class Trace(NamedTuple):
    """All that is shown of a run, as replayed from its journal."""

    answer: Answer
    events: Sequence[Event]
    calls: Sequence[TracedCall]
    max_rounds: int  # 0: not known
    unfinished_reason: str = ""  # why the journal ends early; empty: the run has finished


def parse_calls(lines: Iterable[Json]) -> list[TracedCall]:
    """Parse the lines of a journal into calls, in the order in which they ended.

    Journals of older versions do not record when a call began: it is taken to begin when the call
    before it ended.
    """
    calls: list[TracedCall] = []
    for line in lines:
        calls.append(_parse_call(line, default_start=calls[-1].end if calls else 0.0))
    return calls


def _parse_call(line: Json, default_start: float) -> TracedCall:
    kind = str(line.get("call"))
    result = line.get("response") or line.get("error")
    attempts = tuple(get_objects(result, "attempts"))
    last_tried = attempts[-1].get("provider", "") if attempts else ""
    service = get_path(result, "model" if kind == "ask" else "provider")
    tokens = [_parse_number(get_path(result, f"{way}_tokens")) for way in ("input", "output")]
    usd = get_path(result, "usd")
    is_unpriced = isinstance(result, dict) and "usd" in result and usd is None
    return TracedCall(
        key=str(line.get("key")),
        kind=kind,
        subject=str(get_path(line, "request", SUBJECT_KEYS.get(kind, ""))),
        service=str(service or last_tried),
        outcome=str(get_path(line, "error", "outcome") or "ok"),
        start=_parse_number(line["began"]) if "began" in line else default_start,
        seconds=_parse_number(line.get("seconds")),
        tokens=(int(tokens[0]), int(tokens[1])),
        usd=None if is_unpriced else _parse_number(usd),
        attempts=attempts,
    )


def _parse_number(value: object) -> float:
    """A number that can be drawn; 0 for what is not a number, not finite, negative or huge."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else 0.0


def format_cost(calls: Sequence[TracedCall]) -> tuple[str, ...]:
    """The tokens and dollars of some calls; nothing if none were used."""
    tokens = [sum(call.tokens[way] for call in calls) for way in (0, 1)]
    usd = sum_usd([call.usd for call in calls])
    is_used = any(tokens) or usd is None or usd > 0
    return (f"{tokens[0]:,} + {tokens[1]:,} tokens", format_usd(usd)) if is_used else ()


def format_seconds(seconds: float) -> str:
    """A duration in seconds, or in milliseconds below a tenth of a second."""
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"


def group_by_service(calls: Sequence[TracedCall]) -> Iterator[tuple[str, list[TracedCall]]]:
    """The calls of each model, of each search provider, and of all pages, in this order."""
    for kind in SUBJECT_KEYS:
        groups: dict[str, list[TracedCall]] = {}
        for call in calls:
            if call.kind == kind:
                name = "pages" if kind == "read" else call.service or kind
                groups.setdefault(name, []).append(call)
        yield from groups.items()
