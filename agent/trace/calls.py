"""The outside calls of a run as its journal records them: time, duration, service, cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

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
    input_tokens, output_tokens = (
        int(_parse_number(get_path(result, key))) for key in ("input_tokens", "output_tokens")
    )
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
        tokens=(input_tokens, output_tokens),
        usd=None if is_unpriced else _parse_number(usd),
        attempts=attempts,
    )


def _parse_number(value: object) -> float:
    """A number that can be drawn; 0 for what is not a number, not finite, negative or huge."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else 0.0


class CallCost(NamedTuple):
    """The total cost of some calls."""

    name: str
    calls: int
    failed: int
    tokens: tuple[int, int]  # input and output
    usd: float | None  # None: a price is not known
    seconds: float  # the sum of durations, which is more than the elapsed time of concurrent calls


def sum_cost(name: str, calls: Sequence[TracedCall]) -> CallCost:
    """The total cost of some calls, under a name."""
    prices = [call.usd for call in calls]
    return CallCost(
        name=name,
        calls=len(calls),
        failed=sum(call.outcome != "ok" for call in calls),
        tokens=(sum(call.tokens[0] for call in calls), sum(call.tokens[1] for call in calls)),
        usd=None if None in prices else math.fsum(usd for usd in prices if usd is not None),
        seconds=math.fsum(call.seconds for call in calls),
    )


def sum_costs_by_service(calls: Sequence[TracedCall]) -> list[CallCost]:
    """The cost of each model, of each search provider, and of all pages, in this order."""
    groups: dict[tuple[str, str], list[TracedCall]] = {}
    for kind in SUBJECT_KEYS:
        for call in calls:
            if call.kind == kind:
                name = "pages" if kind == "read" else call.service or kind
                groups.setdefault((kind, name), []).append(call)
    return [sum_cost(name, group) for (_, name), group in groups.items()]
