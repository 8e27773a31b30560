"""A run's usage of outside calls, and its budget, which is checked before each call."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from pydantic import Field

from agent.errors import Exhausted
from agent.outside.recording import is_of_parent
from agent.state import Frozen
from agent.state.json_data import Json


class ModelUsage(Frozen):
    """What the calls of one model used. Cached tokens are part of the input."""

    provider: str
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


class CallUsage(Frozen):
    """Usage of outside calls. Tokens and `usd` are of models, and of searches that cost money.

    `usd` is None if a price is not known. `mended`: replies of models in another shape than was
    asked for, which were read as they are meant. `reused`: calls that the run that is edited had
    made; they cost nothing, and none of the other figures has them.
    """

    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    searches: int = 0
    pages: int = 0
    mended: int = Field(default=0, exclude_if=lambda n: not n)
    reused: int = Field(default=0, exclude_if=lambda n: not n)
    by_model: dict[str, ModelUsage] = {}


#: The fields of `CallUsage` that count something.
COUNTS = tuple(name for name in CallUsage.model_fields if name not in ("usd", "by_model"))


class Cost(Frozen):
    """The most that one model call may cost: tokens in and out together, and US dollars."""

    tokens: int = 0
    usd: float = 0.0


class Left(Frozen):
    """What a model call under way may use of tokens and US dollars; None: no cap."""

    tokens: int | None = None
    usd: float | None = None


class Caps(Frozen):
    """The caps of a run; None: no cap. `seconds` counts from the start of this process' part."""

    seconds: float | None = None
    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None


#: The time reserved for the last answer: a share of the cap, and at most so many seconds. A model
#: call with a full prompt rarely takes 15 s.
ANSWER_TIME_SHARE, MAX_ANSWER_TIME = 0.3, 15.0


class Budget:
    """The budget of a run: each outside call is reserved here before it is made.

    One model call is held back for the last answer. No cap is exceeded by more than one call under
    way: what the others under way may cost is kept for them. Only the cap of seconds ends a call
    under way.
    """

    def __init__(
        self,
        caps: Caps,
        usage: Callable[[], CallUsage],
        recalled_count: Callable[[], int],
        answer_cost: Cost,
    ) -> None:
        """`usage`: of the calls that have ended. `recalled_count`: calls that the journal answered,
        which earlier parts of the run made. `answer_cost`: what is held back for the last answer.
        """
        self._caps = caps
        self._usage = usage
        self._recalled_count = recalled_count
        self._answer_cost = answer_cost
        self._start = time.monotonic()
        self._reserved_count = 0
        self._under_way: list[Cost] = []
        self._lock = threading.Lock()

    def reserve_call(self, cost: Cost | None = None, *, last: bool = False) -> None:
        """Reserve one more call, of at most `cost`. A `last` call may use what is held back.

        `release` ends it, if it has a cost. Raises Exhausted, with the cap that is reached.
        """
        with self._lock:
            self.check_time(last=last)
            held_back = Cost() if last else self._answer_cost
            count = self._recalled_count() + self._reserved_count
            self._check_cap(count + 1 + (0 if last else 1), self._caps.calls, "calls")
            if cost is not None:
                self._hold(cost, held_back)
            self._reserved_count += 1

    def reserve_cost(self, cost: Cost | None) -> bool:
        """Reserve what a call that was reserved without a cost may cost; False if a cap forbids it.

        None: the price is not known. `release` ends it.
        """
        with self._lock:
            if cost is None:
                return self._caps.usd is None
            try:
                self._hold(cost, self._answer_cost)
            except Exhausted:
                return False
        return True

    def _hold(self, cost: Cost, held_back: Cost) -> None:
        """Keep what a call may cost until it is released. Raises Exhausted."""
        taken = self._sum_taken(cost, held_back)
        self._check_cap(taken.tokens, self._caps.tokens, "tokens")
        self._check_cap(taken.usd, self._caps.usd, "usd")
        self._under_way.append(cost)

    def release(self, cost: Cost) -> None:
        """End a call that was reserved with a cost, after its usage is known."""
        with self._lock:
            self._under_way.remove(cost)

    def _sum_taken(self, *more: Cost) -> Cost:
        """What has been used, what calls under way may cost, and more."""
        usage, costs = self._usage(), (*self._under_way, *more)
        return Cost(
            tokens=usage.input_tokens + usage.output_tokens + sum(one.tokens for one in costs),
            usd=math.fsum((usage.usd or 0.0, *(one.usd for one in costs))),
        )

    def reserve_retry(self) -> bool:
        """Reserve a retry, which counts as a call; False if the budget does not allow it."""
        try:
            self.reserve_call(last=True)
        except Exhausted:
            return False
        return True

    def left_for_call(self, cost: Cost, *, last: bool = False) -> Left:
        """What is left for a call that was reserved with this cost, beside what others may take."""
        with self._lock:
            taken = self._sum_taken(*(() if last else (self._answer_cost,)))
        caps = self._caps
        return Left(
            tokens=None if caps.tokens is None else caps.tokens - taken.tokens + cost.tokens,
            usd=None if caps.usd is None else caps.usd - taken.usd + cost.usd,
        )

    def check_time(self, *, last: bool = False) -> None:
        """Raises Exhausted if the time for gathering is up; with `last`, that for the answer."""
        if self._caps.seconds is None:
            return
        share = ANSWER_TIME_SHARE * self._caps.seconds
        held_back = 0.0 if last else min(share, MAX_ANSWER_TIME)
        self._check_cap(time.monotonic() - self._start + held_back, self._caps.seconds, "seconds")

    def _check_cap(self, amount: float, cap: float | None, name: str) -> None:
        """Raises Exhausted if an amount is above a cap; `name` is that of the CLI option."""
        if cap is None or amount <= cap:
            return
        has_begun = self._reserved_count or self._recalled_count() or name == "seconds"
        fault = "used up" if has_begun else f"too small to begin: {amount:g} may be needed"
        raise Exhausted(
            f"The budget is {fault} (--max-{name} {cap:g}); "
            "the answer comes from what had been read.",
            f"Raise --max-{name} and --resume the run.",
        )


def sum_usage(calls: Iterable[Json]) -> CallUsage:
    """The usage of finished calls, from their journal lines. The extractive engine is no model.

    Replies that could not be used count, too. What comes from an earlier run does not.
    """
    by_kind: dict[str, list[Json]] = {"ask": [], "search": [], "read": []}
    known = tuple(calls)
    for call in known:
        if not is_of_parent(call):
            by_kind[call["call"]].append(call)
    paid = [_paid_part(call) for call in (*by_kind["ask"], *by_kind["search"])]
    prices = [part["usd"] for part in paid]
    return CallUsage(
        llm_calls=sum(_count_model_calls(call) for call in by_kind["ask"]),
        input_tokens=sum(part["input_tokens"] for part in paid),
        output_tokens=sum(part["output_tokens"] for part in paid),
        usd=None if None in prices else math.fsum(prices),
        searches=len(by_kind["search"]),
        pages=sum("response" in call for call in by_kind["read"]),
        mended=sum(bool(call.get("response", {}).get("mended")) for call in by_kind["ask"]),
        reused=sum(bool(call.get("taken")) for call in known),
        by_model=sum_by_model(_costs_of(by_kind["ask"])),
    )


def round_dollars(usage: CallUsage) -> CallUsage:
    """The usage as it is shown: dollars to a millionth. Caps are checked with the exact ones."""
    models = {
        name: used.model_copy(update={"usd": _round_usd(used.usd)})
        for name, used in usage.by_model.items()
    }
    return usage.model_copy(update={"usd": _round_usd(usage.usd), "by_model": models})


def _round_usd(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 6)


def _costs_of(calls: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    """Each model of each call, and what it was paid for. Journals of older versions do not tell."""
    for call in calls:
        for cost in (call.get("response") or call["error"]).get("costs", ()):
            yield cost["model"], cost | {"calls": 1}


def sum_by_model(used: Iterable[tuple[str, Json]]) -> dict[str, ModelUsage]:
    """The usage of each model, summed from parts; the model that comes first is first.

    Its key is its name; `provider:name` where several providers have models of that name.
    """
    parts: dict[tuple[str, str], list[Json]] = {}
    for name, part in used:
        parts.setdefault((part["provider"], name), []).append(part)
    names = [name for _, name in parts]
    return {
        name if names.count(name) == 1 else f"{provider}:{name}": _sum_parts(rows)
        for (provider, name), rows in parts.items()
    }


def _sum_parts(rows: Sequence[Json]) -> ModelUsage:
    prices = [row["usd"] for row in rows]
    counts = {
        name: sum(row[name] for row in rows)
        for name in ("calls", "input_tokens", "cached_tokens", "output_tokens")
    }
    usd = None if None in prices else math.fsum(prices)
    return ModelUsage(provider=rows[0]["provider"], usd=usd, **counts)


def _paid_part(call: Json) -> Json:
    """The tokens and the dollars of a recorded call, whether or not it gave an answer."""
    unpaid: Json = {"input_tokens": 0, "output_tokens": 0, "usd": 0.0}
    paid: Json = call.get("response") or call["error"]
    return unpaid | paid


def _count_model_calls(call: Json) -> int:
    """How often models were asked in one recorded call: retries count."""
    outcome = call.get("response") or call["error"]
    return sum(
        attempt["provider"] != "extractive" and attempt["outcome"] != "no_key"
        for attempt in outcome["attempts"]
    )
