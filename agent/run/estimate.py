"""What a run will take, before anything is spent, by the costs that budgets are checked with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from agent.llm import Generated
from agent.run.calls import FRAME, REPLY, task_tokens
from agent.run.models import chosen_models
from agent.run.request import choose_strategy, given_slots
from agent.settings import Settings
from agent.state import Frozen
from agent.steps.generate_queries import MOST_QUERIES, MakeQueries
from agent.steps.reflect import MOST_NEW_QUERIES
from agent.strategies.loop.decide import MOST_QUERIES as MOST_STEP_QUERIES
from agent.strategies.report.gather import MOST_IDLE
from agent.strategies.report.tool_use import AT_ONCE, PAGE_TOKENS

#: Seconds that one call of a kind takes, from quick to slow, as seen with services of each kind.
#: Calls of one kind go out together, so a round takes one search and one page.
LATENCY = {"model": (1.0, 10.0), "search": (0.5, 3.0), "page": (0.3, 5.0)}
CALLS = 3  # of a turn with tools, about
SHORT_REPLY = 150  # tokens of a reply that says little


class Range(Frozen):
    """From the least to the most."""

    min: float
    max: float


class Estimate(Frozen):
    """What one run takes: the least if one round finds all, the most if none does.

    `usd` is null where the model's price is not known. Retries are not counted. Caps are.
    """

    topic: str
    strategy: str
    models: tuple[str, ...]
    calls: Range
    tokens: Range
    usd: Range | None
    seconds: Range


class Work(NamedTuple):
    """What a strategy does: model calls, one after another; rounds of gathering; what they ask."""

    asks: int
    rounds: int
    searches: int
    pages: int
    shown: int  # tokens of evidence in a prompt

    @property
    def calls(self) -> int:
        return self.asks + self.searches + self.pages


def _slots(settings: Settings) -> tuple[Work, Work]:
    rounds, shown = settings.max_rounds, settings.evidence_tokens
    searches = MOST_QUERIES + MOST_NEW_QUERIES * (rounds - 1)
    asks = rounds + 2 + _checks(settings)
    most = Work(asks, rounds, searches, searches * settings.pages_per_query, shown)
    return Work(3, 1, 1, 1, shown), most


def _loop(settings: Settings) -> tuple[Work, Work]:
    steps, twice = settings.max_steps, int(settings.double_check)
    shown = settings.evidence_tokens
    asks = steps + 1 + twice + steps * settings.browse_with_model + bool(given_slots(settings))
    asks += _checks(settings)
    most = Work(asks, steps, steps * MOST_STEP_QUERIES, steps * settings.pages_per_step, shown)
    return Work(2 + twice, 1, 1, 1, shown), most


def _report(settings: Settings) -> tuple[Work, Work]:
    """At the least a turn to search, one to read and one to end; all turns are seldom full."""
    turns, rounds = settings.max_iterations, settings.max_rounds
    told = turns // rounds * CALLS * PAGE_TOKENS  # what tools have answered by the end of a round
    shown = settings.report_tokens + told // 2
    asks = turns + rounds * MOST_IDLE + 1 + rounds  # a plan, gaps between the rounds, a draft
    asks += bool(given_slots(settings)) + _checks(settings)
    least = 5 + (rounds > 1)
    return Work(least, 1, 1, 1, shown), Work(asks, turns, turns * AT_ONCE, 0, shown)


def _checks(settings: Settings) -> int:
    """What checking the sentences asks at most: one judgement of all, one turn to mend."""
    return 0 if settings.verify == "rules" else 2


#: The least and the most that a strategy does.
WORK: dict[str, Callable[[Settings], tuple[Work, Work]]] = {
    "slots": _slots,
    "report": _report,
    "loop": _loop,
}


def estimate(topic: str, settings: Settings) -> Estimate:
    """The range of price, time and calls. Raises UsageError, NotConfigured as a run would."""
    models = chosen_models(settings)
    free = models[0].provider == "extractive"
    strategy = choose_strategy(topic, settings).strategy
    least, most = (_free(work) if free else work for work in WORK[strategy](settings))
    quick = _generated(topic, settings, least, FRAME, SHORT_REPLY)
    slow = _generated(topic, settings, most, FRAME + most.shown, REPLY)
    prices = models[0].price(quick), models[0].price(slow)
    tokens = (0, 0) if free else (_total(quick), _total(slow))
    return Estimate(
        topic=topic,
        strategy=strategy,
        models=tuple(model.name for model in models),
        calls=_range(least.calls, most.calls, settings.max_calls),
        tokens=_range(*tokens, settings.max_tokens),
        usd=None if None in prices else _range(prices[0] or 0, prices[1] or 0, settings.max_usd),
        seconds=_range(*_seconds(least, most), settings.max_seconds),
    )


def _free(work: Work) -> Work:
    """The same where no model is asked."""
    return work._replace(asks=0)


def _range(least: float, most: float, cap: float | None) -> Range:
    most = most if cap is None else min(most, cap)
    return Range(min=round(min(least, most), 6), max=round(most, 6))


def _total(generated: Generated) -> int:
    return generated.input_tokens + generated.output_tokens


def _generated(topic: str, settings: Settings, work: Work, full: int, reply: int) -> Generated:
    """All model calls of a run as one: the first has nothing to show yet, the others have."""
    slots = given_slots(settings)
    first = task_tokens(MakeQueries(topic=topic, slots=slots, language=settings.lang))
    shown = max(0, work.asks - 1) * full
    return Generated(text="", input_tokens=first + shown, output_tokens=work.asks * reply)


def _seconds(least: Work, most: Work) -> tuple[float, float]:
    if not most.asks:
        return 0.1, 2.0
    (model, slow_model), *gathering = LATENCY.values()
    quick, slow = (sum(times) for times in zip(*gathering, strict=True))
    return (
        least.asks * model + least.rounds * quick,
        most.asks * slow_model + most.rounds * slow,
    )
