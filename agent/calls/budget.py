"""A run's usage of external calls, and its budget, which is checked before each call."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from pydantic import Field

from agent.calls.journal_lines import is_of_parent
from agent.errors import Exhausted
from agent.state import Frozen, Json


class ModelUsage(Frozen):
    """What the calls of one model used. Cached tokens are part of the input."""

    provider: str
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


class CallUsage(Frozen):
    """Usage of external calls. Tokens and `usd` are of models, and of searches that cost money.

    `usd` is None if a price is not known. `mended`: replies of models in another shape than was
    asked for, which were read as they are meant.
    """

    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    searches: int = 0
    pages: int = 0
    mended: int = Field(default=0, exclude_if=lambda n: not n)
    by_model: dict[str, ModelUsage] = {}


#: The fields of `CallUsage` that the line of a call has by the same names.
PAID = ("input_tokens", "output_tokens", "usd")
#: The fields of `CallUsage` that count something.
COUNTS = tuple(name for name in CallUsage.model_fields if name not in ("usd", "by_model"))


class Cost(Frozen):
    """The most that one model call may cost: tokens in and out together, and US dollars."""

    tokens: int = 0
    usd: float = 0.0


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
    """The budget of a run: each external call is reserved here before it is made.

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
        began: float | None = None,
    ) -> None:
        """`usage`: of the calls that have ended. `recalled_count`: calls that the journal answered,
        which earlier parts of the run made. `answer_cost`: what is held back for the last answer.
        `began`: monotonic seconds from which the cap of seconds counts; None: now.
        """
        self._caps = caps
        self._usage = usage
        self._recalled_count = recalled_count
        self._answer_cost = answer_cost
        self._start = time.monotonic() if began is None else began
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

    def left_for_call(self, cost: Cost, *, last: bool = False) -> Caps:
        """What is left for a call that was reserved with this cost, after what others may take."""
        with self._lock:
            taken = self._sum_taken(*(() if last else (self._answer_cost,)))
        caps = self._caps
        return Caps(
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
        fault = "used up" if has_begun else f"too small to start: {amount:g} may be needed"
        raise Exhausted(
            f"The budget is {fault} (--max-{name} {cap:g}); "
            "the answer comes from what had been read.",
            f"Raise --max-{name} and --resume the run.",
        )


def sum_usage(calls: Iterable[Json]) -> CallUsage:
    """The usage of finished calls, from their journal lines."""
    return sum_usages(map(usage_of, calls))


def usage_of(call: Json) -> CallUsage:
    """What a finished call used, from its journal line. The extractive backend is no model.

    Unusable replies count; calls to the journal of an earlier run do not.
    """
    if is_of_parent(call):
        return CallUsage()
    if call["call"] == "read":
        return CallUsage(pages="response" in call)
    result: Json = call.get("response") or call["error"]
    paid = {name: result[name] for name in PAID if name in result}
    if call["call"] == "search":
        return CallUsage(searches=1, **paid)
    requests = (
        attempt["provider"] != "extractive" and attempt["outcome"] != "no_key"
        for attempt in result["attempts"]
    )
    costs = ((cost["model"], cost | {"calls": 1}) for cost in result.get("costs", ()))
    return CallUsage(
        llm_calls=sum(requests),
        mended=bool(result.get("mended")),
        by_model=sum_by_model(costs),
        **paid,
    )


def sum_usages(parts: Iterable[CallUsage]) -> CallUsage:
    """The sum of usages. Its `usd` is None as soon as one price is not known."""
    usages = list(parts)
    models = ((name, used.model_dump()) for one in usages for name, used in one.by_model.items())
    return CallUsage(
        **{name: sum(getattr(one, name) for one in usages) for name in COUNTS},
        usd=sum_usd([one.usd for one in usages]),
        by_model=sum_by_model(models),
    )


def sum_usd(prices: Sequence[float | None]) -> float | None:
    """The sum of prices; None as soon as one is not known."""
    amounts = [usd for usd in prices if usd is not None]
    return math.fsum(amounts) if len(amounts) == len(prices) else None


def round_dollars(usage: CallUsage) -> CallUsage:
    """The usage as it is shown: dollars to a millionth. Caps are checked with the exact ones."""
    models = {
        name: used.model_copy(update={"usd": _round_usd(used.usd)})
        for name, used in usage.by_model.items()
    }
    return usage.model_copy(update={"usd": _round_usd(usage.usd), "by_model": models})


def _round_usd(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 6)


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
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens")
    counts = {name: sum(row[name] for row in rows) for name in names}
    usd = sum_usd([row["usd"] for row in rows])
    return ModelUsage(provider=rows[0]["provider"], usd=usd, **counts)
