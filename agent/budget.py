"""What a run spent, counted from its outside calls."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from agent.research import Frozen


class Spent(Frozen):
    """Counts of outside calls; `usd` is None where a price is not known."""

    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    searches: int = 0
    pages: int = 0


def spent(calls: Iterable[dict[str, Any]]) -> Spent:
    """The sum over finished calls, as the journal holds them. The extractive engine is no model."""
    by_kind: dict[str, list[dict[str, Any]]] = {"ask": [], "search": [], "read": []}
    for call in calls:
        by_kind[call["call"]].append(call)
    replies = [call["response"] for call in by_kind["ask"] if "response" in call]
    prices = [reply["usd"] for reply in replies]
    return Spent(
        llm_calls=sum(_asked(call) for call in by_kind["ask"]),
        input_tokens=sum(reply["input_tokens"] for reply in replies),
        output_tokens=sum(reply["output_tokens"] for reply in replies),
        usd=None if None in prices else math.fsum(prices),
        searches=len(by_kind["search"]),
        pages=sum("response" in call for call in by_kind["read"]),
    )


def _asked(call: dict[str, Any]) -> int:
    """How often a model was really asked in one call: retries and second askings count."""
    told = call.get("response") or call["error"]
    return sum(
        attempt["provider"] != "extractive" and attempt["outcome"] != "no_key"
        for attempt in told["attempts"]
    )
