"""The estimate of what a run will take, from the same costs that budgets are checked with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from math import sqrt
from pathlib import Path
from statistics import quantiles
from typing import Any

from pydantic import SecretStr

from agent.calls import Task
from agent.calls.journal_reader import read_journal
from agent.errors import JournalError
from agent.llm import Generation, Model
from agent.run.costs import PROMPT_FRAME_TOKENS, REPLY_TOKENS, estimate_task_tokens
from agent.run.follow import describe_followed
from agent.run.header import journal_path, newest_journals
from agent.run.models import make_models, order_models
from agent.run.validate_request import requested_slots, resolve_strategy
from agent.run.workloads import Workload, Workloads, add_parent, find_workloads
from agent.search.providers import find_paid_terms
from agent.settings import Settings
from agent.state import Frozen, RunRequest, get_path
from agent.steps.follow_parent import UnderstandFollowUp
from agent.steps.generate_queries import MakeQueries

#: Seconds that one call of a kind takes with a quick and with a slow service, as observed. Calls of
#: one kind are made together, so a round takes the time of one search and one page.
LATENCY = {"model": (1.0, 10.0), "search": (0.5, 3.0), "page": (0.3, 5.0)}
SHORT_REPLY_TOKENS = 150
#: What is likely, as seen in `evals.reports` and `evals.reading`: tokens of a prompt around its
#: evidence, and of a reply.
FRAME, REPLY = 500, 350
MAX_RUNS, MAX_CALLS, FEWEST_CALLS = 10, 100, 3  # whose seconds are looked at
TENTHS = 10


class Range(Frozen):
    """A range with both ends, and what is likely: mostly half to double that is taken."""

    min: float
    likely: float
    max: float


class Estimate(Frozen):
    """What one run takes: the minimum if the first round finds everything, else up to the maximum.

    `usd` is null if a price is not known; its maximum has the searches that cost money. Caps are
    respected, retries not counted. `seconds` learns from earlier runs with the same model.
    """

    topic: str
    strategy: str
    models: tuple[str, ...]
    calls: Range
    tokens: Range
    usd: Range | None
    seconds: Range


def _without_keys(settings: Settings) -> Settings:
    """The settings with something for each key that is missing: nothing is asked."""
    names = ("gemini_api_key", "openai_api_key", "anthropic_api_key")
    unset = {name: SecretStr("-") for name in names if not getattr(settings, name)}
    return settings.model_copy(update={"llm": (*settings.llm, *settings.named_models), **unset})


def estimate(topic: str, settings: Settings, request: RunRequest | None = None) -> Estimate:
    """Estimate what a run takes. Raises UsageError or NotConfigured where the run would."""
    request = request or RunRequest()
    models = make_models(_without_keys(settings))
    strategy, slots = resolve_strategy(settings, request), requested_slots(settings)
    loads = find_workloads(strategy, settings, request, slots)
    opening: Task[Any] = MakeQueries(topic=topic, slots=slots, language=settings.lang)
    if parent := describe_followed(settings, request):
        loads = add_parent(loads, settings, strategy)
        opening = UnderstandFollowUp(
            topic=topic, slots=slots, language=settings.lang, earlier=tuple(parent.earlier)
        )
    if models[0].provider == "extractive":  # which is no model
        loads = Workloads(*(load._replace(asks=0) for load in loads))
    least, likely, most = loads
    first = estimate_task_tokens(opening)
    made = (
        _sum_generations(least, first, PROMPT_FRAME_TOKENS, SHORT_REPLY_TOKENS),
        _sum_generations(likely, first, FRAME + likely.evidence_tokens, REPLY),
        _sum_generations(most, first, PROMPT_FRAME_TOKENS + most.evidence_tokens, REPLY_TOKENS),
    )
    measured = _model_seconds(settings, models[0].name)
    first_models = [order[0] for order in order_models(settings, models).values()]
    return Estimate(
        topic=topic,
        strategy=strategy,
        models=tuple(model.name for model in models),
        calls=_capped_range([load.calls for load in loads], settings.max_calls),
        tokens=_capped_range([g.input_tokens + g.output_tokens for g in made], settings.max_tokens),
        usd=_estimate_usd(loads, made, settings, first_models),
        seconds=_capped_range(_estimate_seconds(loads, measured), settings.max_seconds),
    )


def _estimate_usd(
    loads: Workloads, made: Sequence[Generation], settings: Settings, models: Sequence[Model]
) -> Range | None:
    """What models and searches cost, at least without any search; None: a price is not known."""
    priced = [[model.cost_usd(calls) for model in models] for calls in made]
    asking = [[cost for cost in costs if cost is not None] for costs in priced]
    searching = _estimate_search_usd(loads.likely.searches, settings)
    all_searching = _estimate_search_usd(loads.most.searches, settings)
    if searching is None or all_searching is None or any(None in costs for costs in priced):
        return None
    least, likely, most = min(asking[0]), max(asking[1]), max(asking[2])
    return _capped_range([least, likely + searching, most + all_searching], settings.max_usd)


def _estimate_search_usd(searches: int, settings: Settings) -> float | None:
    """What the searches of a run cost at most; None if the price is not known."""
    only_corpus = settings.corpus is not None and "corpus" not in settings.search
    if settings.offline or only_corpus or (terms := find_paid_terms(settings)) is None:
        return 0.0
    return min(searches, terms.max_queries) * terms.cost.usd if terms.cost else None


def _capped_range(values: Sequence[float], cap: float | None) -> Range:
    """The range of a minimum, what is likely and a maximum, in their order."""
    least, likely, most = values
    most = most if cap is None else min(most, cap)
    least = min(least, most)
    likely = min(max(likely, least), most)
    return Range(min=round(least, 6), likely=round(likely, 6), max=round(most, 6))


def _sum_generations(workload: Workload, first: int, prompt: int, reply: int) -> Generation:
    """All model calls of a run as one, in tokens: the first prompt, each other prompt, a reply."""
    if not workload.asks:
        return Generation(text="")
    prompts = first + (workload.asks - 1) * prompt
    return Generation(text="", input_tokens=prompts, output_tokens=workload.asks * reply)


def _estimate_seconds(
    loads: Workloads, measured: tuple[float, float, float] | None
) -> tuple[float, float, float]:
    """Of a quick service, of one between, and of a slow one; `measured`: of the model's replies."""
    if not loads.most.asks:
        return 0.1, 1.0, 2.0  # offline: a corpus, without services
    (quick_model, slow_model), *gathering = LATENCY.values()
    quick, usual, slow = measured or (quick_model, sqrt(quick_model * slow_model), slow_model)
    quick_round, slow_round = (sum(seconds) for seconds in zip(*gathering, strict=True))

    def take(load: Workload, model: float, gather: float) -> float:
        return (load.chain or load.asks) * model + load.rounds * gather

    return (
        take(loads.least, quick, quick_round),
        take(loads.likely, usual, sqrt(quick_round * slow_round)),
        take(loads.most, slow, slow_round),
    )


# --- how long a model's replies took in the earlier runs of this machine --------------------------


def _model_seconds(settings: Settings, model: str) -> tuple[float, float, float] | None:
    """The first, the middle and the last tenth of the seconds of a model's newest replies.

    None where there are too few of them.
    """
    journals = newest_journals(journal_path(settings, "any").parent)[:MAX_RUNS]
    dated = tuple((path, path.stat().st_mtime) for path in journals if path.exists())
    seconds = _read_seconds(dated, model)
    if len(seconds) < FEWEST_CALLS:
        return None
    tenths = quantiles(seconds, n=TENTHS, method="inclusive")
    return tenths[0], tenths[TENTHS // 2 - 1], tenths[-1]


@lru_cache(maxsize=32)
def _read_seconds(dated: tuple[tuple[Path, float], ...], model: str) -> list[float]:
    return [*islice((s for path, _ in dated for s in _seconds_of(path, model)), MAX_CALLS)]


def _seconds_of(path: Path, model: str) -> list[float]:
    try:
        lines = [line for line in read_journal(path).calls.values() if line.get("call") == "ask"]
    except JournalError:
        return []
    own = [line for line in lines if get_path(line, "response", "model") == model]
    return [float(s) for line in own if isinstance(s := line.get("seconds"), (int, float))]
