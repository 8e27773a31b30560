"""Steps put together into the strategy that a run asks for."""

from __future__ import annotations

from collections.abc import Callable

from agent.compose import Outside, extract
from agent.settings import Settings
from agent.steps.generate_queries import GenerateQueries
from agent.steps.reflect import Reflect
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies import Strategy
from agent.strategies.slots import Slots


def assembled(outside: Outside, settings: Settings) -> Strategy:
    """The strategy that the settings name, with its steps."""
    return STRATEGIES[settings.strategy](outside, settings)


def _slots(outside: Outside, settings: Settings) -> Strategy:
    ask, tokens, lang = outside.ask, settings.evidence_tokens, settings.lang
    return Slots(
        GenerateQueries(ask, lang),
        WebSearchTool(outside.search, outside.read, settings.pages_per_query),
        Reflect(ask, extract, tokens, lang),
        Synthesize(ask, extract, tokens, settings.max_words, lang),
        _verify(outside, settings),
        settings.max_rounds,
    )


def _verify(outside: Outside, settings: Settings) -> Verify:
    return Verify(
        outside.ask,
        settings.evidence_tokens,
        settings.lang,
        by=settings.verify,
        on_unsupported=settings.on_unsupported,
    )


STRATEGIES: dict[str, Callable[[Outside, Settings], Strategy]] = {"slots": _slots}
