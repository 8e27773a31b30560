"""What a run spends and may spend: counted from its outside calls, checked before each of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from agent.errors import Exhausted
from agent.state import Frozen


class Spent(Frozen):
    """Counts of outside calls; `usd` is None where a price is not known."""

    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    searches: int = 0
    pages: int = 0


class Cost(Frozen):
    """What one model call may take: tokens in and out together, US dollars."""

    tokens: int = 0
    usd: float = 0.0


class Caps(Frozen):
    """The most that a run may take; None: no limit. `seconds` is of this process' run."""

    seconds: float | None = None
    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None


#: Kept back of the time for the last answer: three tenths, but no more than 15 s, which a model
#: call with a full prompt rarely takes.
TIME_SHARE, TIME_MOST = 0.3, 15.0


class Budget:
    """What is left. Asked before each outside call; a call under way is never cut but by time.

    `spent` tells what finished calls took. One call, with its tokens and dollars (`answer`), is
    kept back for the last answer. So no cap is exceeded by more than one call under way.
    """

    def __init__(
        self, caps: Caps, spent: Callable[[], Spent], recalled: Callable[[], int], answer: Cost
    ) -> None:
        self._caps = caps
        self._spent = spent
        self._recalled = recalled  # calls that the journal answered: earlier parts of this run
        self._answer = answer
        self._begun = time.monotonic()
        self._made = 0
        self._lock = threading.Lock()

    def take(self, cost: Cost | None = None, *, last: bool = False) -> None:
        """Allow one more call, which may take `cost`; the `last` one may use what is kept back.

        Raises Exhausted, saying which cap is reached.
        """
        with self._lock:
            self.in_time(last=last)
            kept = Cost() if last else self._answer
            made = self._recalled() + self._made
            self._within(made + 1 + (0 if last else 1), self._caps.calls, "calls")
            if cost is not None:
                spent = self._spent()
                used = spent.input_tokens + spent.output_tokens
                self._within(used + cost.tokens + kept.tokens, self._caps.tokens, "tokens")
                self._within((spent.usd or 0.0) + cost.usd + kept.usd, self._caps.usd, "usd")
            self._made += 1

    def again(self) -> bool:
        """Whether a call that failed may be made once more: that is one more call."""
        try:
            self.take(last=True)
        except Exhausted:
            return False
        return True

    def in_time(self, *, last: bool = False) -> None:
        """Raises Exhausted when the time is up: for gathering, or for the `last` answer."""
        if self._caps.seconds is None:
            return
        kept = 0.0 if last else min(TIME_SHARE * self._caps.seconds, TIME_MOST)
        self._within(time.monotonic() - self._begun + kept, self._caps.seconds, "seconds")

    def _within(self, amount: float, cap: float | None, name: str) -> None:
        if cap is None or amount <= cap:
            return
        begun = self._made or self._recalled() or name == "seconds"
        how = "used up" if begun else f"too small to begin: {amount:g} may be needed"
        raise Exhausted(
            f"The budget is {how} (--max-{name} {cap:g}); "
            "the answer comes from what had been read.",
            f"Raise --max-{name} and --resume the run.",
        )


def spent(calls: Iterable[dict[str, Any]]) -> Spent:
    """The sum over finished calls, as the journal holds them. The extractive engine is no model."""
    by_kind: dict[str, list[dict[str, Any]]] = {"ask": [], "search": [], "read": []}
    for call in tuple(calls):
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
