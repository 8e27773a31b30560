"""What a run will take, before anything is spent, by the costs that budgets are checked with."""

from __future__ import annotations

from agent.compose import FRAME, REPLY, chosen_models, task_tokens
from agent.llm import Generated
from agent.research import Frozen
from agent.run import given_slots
from agent.settings import Settings
from agent.steps.generate_queries import MOST_QUERIES, MakeQueries
from agent.steps.reflect import MOST_NEW_QUERIES

#: Seconds that one call of a kind takes, from quick to slow, as seen with services of each kind.
#: Calls of one kind go out together, so a round takes one search and one page.
LATENCY = {"model": (1.0, 10.0), "search": (0.5, 3.0), "page": (0.3, 5.0)}
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


def estimate(topic: str, settings: Settings) -> Estimate:
    """The range of price, time and calls. Raises UsageError, NotConfigured as a run would."""
    models = chosen_models(settings)
    free = models[0].provider == "extractive"
    rounds, full = settings.max_rounds, FRAME + settings.evidence_tokens
    quick = _generated(topic, settings, 1, FRAME, SHORT_REPLY)
    slow = _generated(topic, settings, rounds, full, REPLY)
    prices = models[0].price(quick), models[0].price(slow)
    tokens = (0, 0) if free else (_total(quick), _total(slow))
    return Estimate(
        topic=topic,
        models=tuple(model.name for model in models),
        calls=_range(*_calls(settings, free), settings.max_calls),
        tokens=_range(*tokens, settings.max_tokens),
        usd=None if None in prices else _range(prices[0] or 0, prices[1] or 0, settings.max_usd),
        seconds=_range(*_seconds(settings, free), settings.max_seconds),
    )


def _range(least: float, most: float, cap: float | None) -> Range:
    most = most if cap is None else min(most, cap)
    return Range(min=round(min(least, most), 6), max=round(most, 6))


def _total(generated: Generated) -> int:
    return generated.input_tokens + generated.output_tokens


def _generated(topic: str, settings: Settings, rounds: int, full: int, reply: int) -> Generated:
    """All model calls of a run as one: queries, a reflection a round, the answer."""
    first = task_tokens(
        MakeQueries(topic=topic, slots=given_slots(settings), language=settings.lang)
    )
    asked = rounds + 1
    return Generated(text="", input_tokens=first + asked * full, output_tokens=(asked + 1) * reply)


def _calls(settings: Settings, free: bool) -> tuple[int, int]:
    rounds = settings.max_rounds
    searches = MOST_QUERIES + MOST_NEW_QUERIES * (rounds - 1)
    models = (0, 0) if free else (3, rounds + 2)
    return models[0] + 2, models[1] + searches * (1 + settings.pages_per_query)


def _seconds(settings: Settings, free: bool) -> tuple[float, float]:
    if free:
        return 0.1, 2.0
    rounds = settings.max_rounds
    (model, slow_model), *gathering = LATENCY.values()
    least, most = (sum(times) for times in zip(*gathering, strict=True))
    return 3 * model + least, (rounds + 2) * slow_model + rounds * most
