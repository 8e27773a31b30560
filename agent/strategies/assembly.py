"""Steps put together into the strategy that a run asks for."""

from __future__ import annotations

from collections.abc import Callable

from agent.outside import Outside
from agent.settings import Settings
from agent.steps.generate_queries import GenerateQueries
from agent.steps.reflect import Reflect
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies import Strategy
from agent.strategies.baselines import ClosedBook, SingleSearch
from agent.strategies.loop.browse import Browse
from agent.strategies.loop.conclude import Conclude
from agent.strategies.loop.decide import Decide, Limits
from agent.strategies.loop.order import Loop, Steps
from agent.strategies.recall import Recall
from agent.strategies.report.draft import Draft
from agent.strategies.report.gaps import DetectGaps
from agent.strategies.report.gather import Gather, Turns
from agent.strategies.report.order import Reporting, Stages
from agent.strategies.report.plan import Plan
from agent.strategies.report.tool_use import UseTools
from agent.strategies.slots import Slots


def assemble(outside: Outside, settings: Settings) -> Strategy:
    """The strategy that the settings name, or the baseline in its place, with its steps."""
    made = BASELINES.get(settings.baseline) or STRATEGIES[settings.strategy]
    return made(outside, settings)


def _slots(outside: Outside, settings: Settings) -> Strategy:
    ask, tokens, lang = outside.ask, settings.evidence_tokens, settings.lang
    return Slots(
        GenerateQueries(ask, lang),
        WebSearchTool(outside.search, outside.read, settings.pages_per_query),
        Reflect(ask, outside.stand_in, tokens, lang),
        Synthesize(ask, outside.stand_in, tokens, settings.max_words, lang),
        _verify(outside, settings),
        settings.max_rounds,
    )


def _loop(outside: Outside, settings: Settings) -> Strategy:
    ask, tokens, lang = outside.ask, settings.evidence_tokens, settings.lang
    limits = Limits(settings.max_steps, settings.max_words, tokens)
    helper = ask if settings.browse_with_model else None
    steps = Steps(
        Decide(ask, outside.stand_in, limits, lang),
        WebSearchTool(outside.search, outside.read, 0),
        Browse(outside.read, settings.pages_per_step, tokens, helper),
        Reflect(ask, outside.stand_in, tokens, lang),
        Conclude(ask, outside.stand_in, limits, lang),
        _verify(outside, settings),
    )
    return Loop(steps, settings.max_steps, settings.double_check)


def _report(outside: Outside, settings: Settings) -> Strategy:
    ask, tokens, lang = outside.ask, settings.report_tokens, settings.lang
    rounds = min(settings.max_rounds, settings.max_iterations)  # each has a turn at least
    limits = Turns(settings.max_iterations // rounds, settings.pages_per_query, tokens)
    use = UseTools(outside.search, outside.read, settings.min_credibility)
    stages = Stages(
        Plan(ask, lang),
        Gather(ask, outside.stand_in, use, limits),
        DetectGaps(ask, outside.stand_in, tokens, lang),
        Reflect(ask, outside.stand_in, tokens, lang),
        Draft(ask, outside.stand_in, tokens, lang),
        _verify(outside, settings),
    )
    return Reporting(stages, rounds)


def _closed_book(outside: Outside, settings: Settings) -> Strategy:
    return ClosedBook(Recall(outside.ask, settings.max_words, settings.lang))


def _single_search(outside: Outside, settings: Settings) -> Strategy:
    ask, tokens, lang = outside.ask, settings.evidence_tokens, settings.lang
    return SingleSearch(
        WebSearchTool(outside.search, outside.read, settings.pages_per_query),
        Synthesize(ask, outside.stand_in, tokens, settings.max_words, lang),
        _verify(outside, settings),
    )


def _verify(outside: Outside, settings: Settings) -> Verify:
    return Verify(
        outside.ask,
        settings.evidence_tokens,
        settings.lang,
        by=settings.verify,
        on_unsupported=settings.on_unsupported,
    )


STRATEGIES: dict[str, Callable[[Outside, Settings], Strategy]] = {
    "slots": _slots,
    "loop": _loop,
    "report": _report,
}

#: What evaluations compare with; no user chooses one.
BASELINES: dict[str, Callable[[Outside, Settings], Strategy]] = {
    "closed_book": _closed_book,
    "single_search": _single_search,
}
