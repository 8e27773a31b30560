"""The estimate of what a run will take, from the same costs that budgets are checked with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, NamedTuple

from agent.errors import UsageError
from agent.llm import Generation, Model
from agent.outside import Task
from agent.run.begin import describe_followed
from agent.run.costs import PROMPT_FRAME_TOKENS, REPLY_TOKENS, estimate_task_tokens
from agent.run.models import make_models, order_models
from agent.run.request import CHECK, requested_slots, resolve_strategy
from agent.search.providers import find_paid_terms
from agent.settings import Settings
from agent.state import Frozen, Slot
from agent.steps.follow_parent import UnderstandFollowUp
from agent.steps.generate_queries import MAX_QUERIES, MAX_SLOTS, MakeQueries
from agent.steps.page_choice import most_pages
from agent.steps.reflect import MAX_NEW_QUERIES
from agent.strategies.check.read_cited import MOST_SEARCHED, PAGES_EACH
from agent.strategies.loop.decide import MAX_STEP_QUERIES
from agent.strategies.report.gather import MAX_IDLE_TURNS
from agent.strategies.report.tool_results import PAGE_TOKENS
from agent.strategies.report.tool_use import MAX_CALLS_PER_TURN

#: Seconds that one call of a kind takes with a quick and with a slow service, as observed. Calls of
#: one kind are made together, so a round takes the time of one search and one page.
LATENCY = {"model": (1.0, 10.0), "search": (0.5, 3.0), "page": (0.3, 5.0)}
CALLS_PER_TURN = 3  # tool calls, about
SHORT_REPLY_TOKENS = 150
SHORT_SENTENCE = 10  # words of a claim, about


class Range(Frozen):
    """A range with both ends."""

    min: float
    max: float


class Estimate(Frozen):
    """What one run takes: the minimum if the first round finds everything, else the maximum.

    `usd` is null if a price is not known; its maximum has the searches that cost money. Caps are
    respected, retries not counted.
    """

    topic: str
    strategy: str
    models: tuple[str, ...]
    calls: Range
    tokens: Range
    usd: Range | None
    seconds: Range


class Workload(NamedTuple):
    """The calls that a strategy makes. Model calls and rounds follow one another."""

    asks: int
    rounds: int
    searches: int
    pages: int
    evidence_tokens: int  # in a prompt

    @property
    def calls(self) -> int:
        """Outside calls of all kinds."""
        return self.asks + self.searches + self.pages


#: The minimum and the maximum of a strategy.
Workloads = tuple[Workload, Workload]


def _slots_workloads(settings: Settings, _: Sequence[Slot]) -> Workloads:
    rounds, tokens = settings.max_rounds, settings.evidence_tokens
    searches = MAX_QUERIES + MAX_NEW_QUERIES * (rounds - 1)
    fewest, most_checks = _count_verify_asks(settings)
    asks = rounds + 2 + most_checks
    limit = settings.pages_per_query
    pages = most_pages(1, MAX_QUERIES, limit)
    pages += (rounds - 1) * most_pages(2, MAX_NEW_QUERIES, limit)
    most = Workload(asks, rounds, searches, pages, tokens)
    return Workload(2 + fewest, 1, 1, 1, tokens), most


def _loop_workloads(settings: Settings, slots: Sequence[Slot]) -> Workloads:
    steps, tokens = settings.max_steps, settings.evidence_tokens
    double_checks = int(settings.double_check)
    asks = steps + 1 + double_checks + steps * settings.browse_with_model + bool(slots)
    fewest, most_checks = _count_verify_asks(settings)
    asks += most_checks
    most = Workload(asks, steps, steps * MAX_STEP_QUERIES, steps * settings.pages_per_step, tokens)
    return Workload(2 + double_checks + fewest, 1, 1, 1, tokens), most


def _report_workloads(settings: Settings, slots: Sequence[Slot]) -> Workloads:
    """The minimum has a turn to search, one to read and one to end the round.

    Results of tools add up within a round, so in the maximum a prompt shows half of them.
    """
    turns, rounds = settings.max_iterations, settings.max_rounds
    tool_tokens = turns // rounds * CALLS_PER_TURN * PAGE_TOKENS  # at the end of a round
    tokens = settings.report_tokens + tool_tokens // 2
    asks = turns + rounds * MAX_IDLE_TURNS + 1 + rounds  # a plan, gaps between the rounds, a draft
    fewest, most_checks = _count_verify_asks(settings)
    asks += bool(slots) + most_checks
    least = Workload(5 + (rounds > 1) + fewest, 1, 1, 1, tokens)
    return least, Workload(asks, turns, turns * MAX_CALLS_PER_TURN, 0, tokens)


def _count_verify_asks(settings: Settings) -> tuple[int, int]:
    """The model calls of Verify: one to judge, and at most all of those, a mending, one anew."""
    if settings.verify == "rules":
        return 0, 0
    claims = settings.max_words // SHORT_SENTENCE + MAX_SLOTS
    return 1, ceil(claims / settings.claims_per_call) + 2


def _check_workloads(settings: Settings, _: Sequence[Slot]) -> Workloads:
    """Each cited page is read; the rules decide all sentences, or the model judges all."""
    report = settings.report
    cited = sum(bool(one.sources) for one in report.sentences) if report else 0
    others = len(report.sentences) - cited if report else 0
    pages = sum(bool(one.url) for one in report.sources) if report else 0
    searches = min(others, MOST_SEARCHED) if settings.search_uncited else 0
    asks = ceil((cited + searches) / settings.claims_per_call) if settings.verify == "model" else 0
    tokens = settings.report_tokens
    most = Workload(asks, 1, searches, pages + searches * PAGES_EACH, tokens)
    return Workload(0, 1, searches, pages, tokens), most


WORKLOADS: dict[str, Callable[[Settings, Sequence[Slot]], Workloads]] = {
    "slots": _slots_workloads,
    "report": _report_workloads,
    "loop": _loop_workloads,
    CHECK: _check_workloads,
}


def estimate(topic: str, settings: Settings) -> Estimate:
    """Estimate what a run takes. Raises UsageError or NotConfigured where the run would."""
    models = make_models(settings)
    strategy = resolve_strategy(topic, settings).strategy
    slots = requested_slots(settings)
    if strategy not in WORKLOADS:
        remedy = "Leave --estimate out, or name another --strategy."
        raise UsageError(f"What the strategy {strategy} takes is not known.", remedy)
    least, most = WORKLOADS[strategy](settings, slots)
    opening: Task[Any] = MakeQueries(topic=topic, slots=slots, language=settings.lang)
    if parent := describe_followed(settings):
        least, most = _add_parent((least, most), settings, strategy)
        opening = UnderstandFollowUp(
            topic=topic, slots=slots, language=settings.lang, earlier=tuple(parent.earlier)
        )
    if models[0].provider == "extractive":  # which is no model
        least, most = least._replace(asks=0), most._replace(asks=0)
    first = estimate_task_tokens(opening)
    quick = _sum_generations(least, first, PROMPT_FRAME_TOKENS, SHORT_REPLY_TOKENS)
    prompt = PROMPT_FRAME_TOKENS + most.evidence_tokens
    slow = _sum_generations(most, first, prompt, REPLY_TOKENS)
    tokens = _total_tokens(quick), _total_tokens(slow)
    first_models = [order[0] for order in order_models(settings, models).values()]
    low_usd, high_usd = _cost_of(min, first_models, quick), _cost_of(max, first_models, slow)
    search_usd = _estimate_search_usd(most.searches, settings)
    usd = None
    if low_usd is not None and high_usd is not None and search_usd is not None:
        usd = _capped_range(low_usd, high_usd + search_usd, settings.max_usd)
    return Estimate(
        topic=topic,
        strategy=strategy,
        models=tuple(model.name for model in models),
        calls=_capped_range(least.calls, most.calls, settings.max_calls),
        tokens=_capped_range(*tokens, settings.max_tokens),
        usd=usd,
        seconds=_capped_range(*_estimate_seconds(least, most), settings.max_seconds),
    )


def _cost_of(
    choose: Callable[[list[float]], float], models: Sequence[Model], calls: Generation
) -> float | None:
    """What calls cost with the cheapest or the dearest model; None if a price is not known."""
    costs = [cost for model in models if (cost := model.cost_usd(calls)) is not None]
    return choose(costs) if len(costs) == len(models) else None


def _add_parent(workloads: Workloads, settings: Settings, strategy: str) -> Workloads:
    """The workloads of a run that follows another, whose pages cost nothing.

    At best they answer, and nothing is searched: a report then has no plan and no turns, but looks
    for gaps. At worst they are read in vain before all else; with `slots`, what understands the
    question plans as well.
    """
    least, most = workloads
    asks = 3 + _count_verify_asks(settings)[0] if strategy == "report" else least.asks
    least = least._replace(asks=asks, rounds=0, searches=0, pages=0)
    return least, most._replace(asks=most.asks + (2 if strategy == "report" else 1))


def _estimate_search_usd(searches: int, settings: Settings) -> float | None:
    """What the searches of a run cost at most; None if the price is not known."""
    only_corpus = settings.corpus is not None and "corpus" not in settings.search
    if settings.offline or only_corpus or (terms := find_paid_terms(settings)) is None:
        return 0.0
    return min(searches, terms.max_queries) * terms.cost.usd if terms.cost else None


def _capped_range(least: float, most: float, cap: float | None) -> Range:
    most = most if cap is None else min(most, cap)
    return Range(min=round(min(least, most), 6), max=round(most, 6))


def _total_tokens(generation: Generation) -> int:
    return generation.input_tokens + generation.output_tokens


def _sum_generations(workload: Workload, first: int, prompt: int, reply: int) -> Generation:
    """All model calls of a run as one, in tokens: the first prompt, each other prompt, a reply."""
    if not workload.asks:
        return Generation(text="")
    prompts = first + (workload.asks - 1) * prompt
    return Generation(text="", input_tokens=prompts, output_tokens=workload.asks * reply)


def _estimate_seconds(least: Workload, most: Workload) -> tuple[float, float]:
    if not most.asks:
        return 0.1, 2.0  # offline: a corpus, without services
    (quick_model, slow_model), *gathering = LATENCY.values()
    quick_round, slow_round = (sum(seconds) for seconds in zip(*gathering, strict=True))
    return (
        least.asks * quick_model + least.rounds * quick_round,
        most.asks * slow_model + most.rounds * slow_round,
    )
