"""What a run will take, before anything is spent, by the costs that budgets are checked with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from agent.compose import FRAME, REPLY, chosen_models, task_tokens
from agent.llm import Generated
from agent.research import Frozen, Slot
from agent.settings import Settings
from agent.steps.gather import MOST_IDLE
from agent.steps.generate_queries import MOST_QUERIES, MakeQueries
from agent.steps.reflect import MOST_NEW_QUERIES
from agent.steps.tool_use import AT_ONCE, PAGE_TOKENS

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
    models: tuple[str, ...]
    calls: Range
    tokens: Range
    usd: Range | None
    seconds: Range


class Shape(NamedTuple):
    """What a strategy does, at the least and at the most, beside its first model call."""

    asks: tuple[int, int]
    gathered: tuple[int, int]  # searches and pages
    shown: int  # tokens of evidence in a prompt, at the most
    rounds: int  # of searching, one after the other


def estimate(topic: str, settings: Settings) -> Estimate:
    """The range of price, time and calls. Raises UsageError, NotConfigured as a run would."""
    models = chosen_models(settings)
    free = models[0].provider == "extractive"
    shape = SHAPES[settings.strategy](settings)
    quick = _generated(topic, settings, shape.asks[0], FRAME, SHORT_REPLY)
    slow = _generated(topic, settings, shape.asks[1], FRAME + shape.shown, REPLY)
    prices = models[0].price(quick), models[0].price(slow)
    tokens = (0, 0) if free else (_total(quick), _total(slow))
    return Estimate(
        topic=topic,
        models=tuple(model.name for model in models),
        calls=_range(*_calls(shape, free), settings.max_calls),
        tokens=_range(*tokens, settings.max_tokens),
        usd=None if None in prices else _range(prices[0] or 0, prices[1] or 0, settings.max_usd),
        seconds=_range(*_seconds(shape, free), settings.max_seconds),
    )


def _slots(settings: Settings) -> Shape:
    """A reflection a round, and the answer."""
    rounds = settings.max_rounds
    searches = MOST_QUERIES + MOST_NEW_QUERIES * (rounds - 1)
    pages = searches * settings.pages_per_query
    return Shape((2, rounds + 1), (2, searches + pages), settings.evidence_tokens, rounds)


def _report(settings: Settings) -> Shape:
    """At the least a turn to search, one to read and one to end; all turns are seldom full."""
    turns = settings.max_iterations
    idle = 2 * MOST_IDLE
    told = turns // 2 * CALLS * PAGE_TOKENS  # what tools have answered by the end of a round
    shown = settings.report_tokens + told // 2
    return Shape((5, turns + idle + 2), (2, turns * AT_ONCE), shown, turns)


SHAPES: dict[str, Callable[[Settings], Shape]] = {"slots": _slots, "report": _report}


def _range(least: float, most: float, cap: float | None) -> Range:
    most = most if cap is None else min(most, cap)
    return Range(min=round(min(least, most), 6), max=round(most, 6))


def _total(generated: Generated) -> int:
    return generated.input_tokens + generated.output_tokens


def _generated(topic: str, settings: Settings, asks: int, full: int, reply: int) -> Generated:
    """All model calls of a run as one: the first, and `asks` more with a full prompt."""
    slots = tuple(Slot(name=name) for name in settings.slots)
    first = task_tokens(MakeQueries(topic=topic, slots=slots, language=settings.lang))
    return Generated(text="", input_tokens=first + asks * full, output_tokens=(asks + 1) * reply)


def _calls(shape: Shape, free: bool) -> tuple[int, int]:
    least, most = (0, 0) if free else (shape.asks[0] + 1, shape.asks[1] + 1)
    return least + shape.gathered[0], most + shape.gathered[1]


def _seconds(shape: Shape, free: bool) -> tuple[float, float]:
    if free:
        return 0.1, 2.0
    (model, slow_model), *gathering = LATENCY.values()
    least, most = (sum(times) for times in zip(*gathering, strict=True))
    asks = (shape.asks[0] + 1, shape.asks[1] + 1)
    return asks[0] * model + least, asks[1] * slow_model + shape.rounds * most
