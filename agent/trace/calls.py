"""The outside calls of a run, as its journal tells them: when, how long, who answered, the cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from agent.state.plain import dig

Json = dict[str, Any]
SUBJECT = {"ask": "task", "search": "query", "read": "url"}


class Call(NamedTuple):
    """A finished outside call. Times are seconds since the run began."""

    key: str
    kind: str  # ask, search, read
    subject: str  # the task, the query, the address
    who: str  # the model or the provider that was asked last
    outcome: str  # ok, or how it failed
    began: float
    seconds: float
    tokens: tuple[int, int] = (0, 0)  # in and out
    usd: float | None = 0.0  # None: the price is not known
    attempts: tuple[Json, ...] = ()

    @property
    def ended(self) -> float:
        return self.began + self.seconds


def calls(lines: Iterable[Json]) -> list[Call]:
    """The calls of a journal, in the order in which they ended.

    Journals of older versions do not tell when a call began: it is put behind the one before it.
    """
    found: list[Call] = []
    for line in lines:
        before = found[-1].ended if found else 0.0
        found.append(_call(line, before))
    return found


def _call(line: Json, before: float) -> Call:
    kind = str(line.get("call"))
    told = line.get("response") or line.get("error") or {}
    attempts = tuple(row for row in dig(told, "attempts") or () if isinstance(row, dict))
    tried = attempts[-1].get("provider", "") if attempts else ""
    model = dig(told, "model") if kind == "ask" else dig(told, "provider")
    return Call(
        key=str(line.get("key")),
        kind=kind,
        subject=str(dig(line, "request", SUBJECT.get(kind, ""))),
        who=str(model or tried),
        outcome=str(dig(line, "error", "outcome") or "ok"),
        began=_number(line["began"]) if "began" in line else before,
        seconds=_number(line.get("seconds")),
        tokens=(int(_number(dig(told, "input_tokens"))), int(_number(dig(told, "output_tokens")))),
        usd=None if dig(told, "usd") is None and "model" in told else _number(dig(told, "usd")),
        attempts=attempts,
    )


def _number(value: object) -> float:
    """A number that can be drawn: what is none, or is out of all bounds, is nothing."""
    usable = isinstance(value, int | float) and math.isfinite(value) and 0 <= value < 1e9
    return float(value) if usable and isinstance(value, int | float) else 0.0


class Cost(NamedTuple):
    """What some calls took. `seconds` is their sum; side by side they take less of the run."""

    name: str
    calls: int
    failed: int
    tokens: tuple[int, int]
    usd: float | None
    seconds: float


def cost(name: str, some: Sequence[Call]) -> Cost:
    """The sum over some calls."""
    prices = [call.usd for call in some]
    return Cost(
        name=name,
        calls=len(some),
        failed=sum(call.outcome != "ok" for call in some),
        tokens=(sum(call.tokens[0] for call in some), sum(call.tokens[1] for call in some)),
        usd=None if None in prices else math.fsum(usd for usd in prices if usd is not None),
        seconds=math.fsum(call.seconds for call in some),
    )


def costs(all_calls: Sequence[Call]) -> list[Cost]:
    """What each model, each search provider and the pages took, in this order."""
    groups: dict[tuple[str, str], list[Call]] = {}
    for kind in SUBJECT:
        for call in all_calls:
            if call.kind == kind:
                groups.setdefault((kind, "pages" if kind == "read" else call.who), []).append(call)
    return [cost(who or kind, some) for (kind, who), some in groups.items()]


# --- figures, as people read them ----------------------------------------------------------------


def dollars(usd: float | None) -> str:
    """An amount with as many digits as it needs, or that it is not known."""
    if usd is None:
        return "price not known"
    return f"${usd:.4f}" if usd >= 0.001 else f"${usd:.2g}"


def seconds(amount: float) -> str:
    """A duration: milliseconds below a tenth of a second."""
    return f"{amount:.1f} s" if amount >= 0.1 else f"{amount * 1000:.0f} ms"


def tokens(amount: tuple[int, int]) -> str:
    """Tokens in and out."""
    return f"{amount[0]:,} + {amount[1]:,} tokens"


def money(used: tuple[int, int], usd: float | None) -> tuple[str, ...]:
    """Tokens and dollars, of what took any."""
    return (tokens(used), dollars(usd)) if any(used) or usd is None or usd else ()
