"""The strategies by name, each built with its steps from the external calls and the settings.

A new strategy is a builder function here and an entry in `STRATEGIES`. A builder imports what no
other strategy needs: a run is on its way sooner without the steps of the others.
"""

from __future__ import annotations

from collections.abc import Callable

from agent.calls import ExternalCalls
from agent.calls.plugins import load_plugin, plugin_names
from agent.errors import UsageError
from agent.settings import Settings
from agent.state import CitedReport, RunRequest
from agent.steps.follow_parent import FollowParent
from agent.steps.generate_queries import GenerateQueries
from agent.steps.reflect import Reflect
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies import Strategy
from agent.strategies.slots import SlotsStrategy

#: Words. A longer answer is written by itself, once the last round has ended.
MOST_DRAFTED = 150

#: Pages of earlier runs that a run takes. Each is written into its journal.
MOST_FOLLOWED = 5


def build_strategy(calls: ExternalCalls, settings: Settings, request: RunRequest) -> Strategy:
    """The strategy that the settings name; a report of the request is checked, whatever they name.

    Raises UsageError for a strategy that is not installed.
    """
    if request.report is not None:
        return _build_check(calls, settings, request.report, request.search_uncited)
    name = settings.strategy
    if name == "report":
        return _build_report(calls, settings, request.clarified)
    build = STRATEGIES.get(name) or load_plugin("strategies", name)
    if build is None:  # a journal may name one of a package that is not installed here
        known = ", ".join([*STRATEGIES, *plugin_names("strategies")])
        raise UsageError(f"There is no strategy {name!r}.", f"Choose from: {known}.")
    return build(calls, settings)


def _build_slots(calls: ExternalCalls, settings: Settings) -> Strategy:
    ask, tokens, lang = calls.ask, settings.effort.evidence_tokens, settings.lang
    drafted = settings.max_words if settings.max_words <= MOST_DRAFTED else None
    return SlotsStrategy(
        GenerateQueries(ask, lang),
        WebSearchTool(calls.search, calls.read, settings.effort.pages_per_query),
        Reflect(ask, calls.fallback, tokens, lang, max_words=drafted),
        Synthesize(ask, calls.fallback, tokens, settings.max_words, lang, settings.max_citations),
        _build_verify(calls, settings),
        settings.max_rounds,
        _build_follow(calls, settings),
    )


def _build_loop(calls: ExternalCalls, settings: Settings) -> Strategy:
    from agent.strategies.loop.conclude import Conclude
    from agent.strategies.loop.decide import Decide
    from agent.strategies.loop.strategy import LoopStrategy

    ask, tokens, lang = calls.ask, settings.effort.evidence_tokens, settings.lang
    return LoopStrategy(
        Decide(ask, calls.fallback, settings),
        WebSearchTool(calls.search, calls.read, pages_per_query=0),
        calls.read,
        Reflect(ask, calls.fallback, tokens, lang),
        Conclude(ask, calls.fallback, settings),
        _build_verify(calls, settings),
        settings,
        _build_follow(calls, settings),
    )


def _build_report(
    calls: ExternalCalls, settings: Settings, clarified: tuple[str, ...] = ()
) -> Strategy:
    from agent.evidence.credibility import Blocking
    from agent.strategies.report.gather import Gather
    from agent.strategies.report.plan_report import PlanReport
    from agent.strategies.report.sections import ResearchSections
    from agent.strategies.report.strategy import ReportStrategy
    from agent.strategies.report.sum_up import SumUp
    from agent.strategies.report.tool_use import UseTools
    from agent.strategies.report.write import WriteSections

    ask, fallback = calls.ask, calls.fallback
    blocking = Blocking(settings.credibility, settings.min_credibility)
    use_tools = UseTools(calls.search, calls.read, blocking)
    reflect = Reflect(ask, fallback, settings.effort.evidence_tokens, settings.lang)
    return ReportStrategy(
        PlanReport(ask, settings, clarified),
        ResearchSections(use_tools, Gather(ask, use_tools, settings), reflect, settings),
        reflect,
        WriteSections(ask, fallback, settings),
        _build_verify(calls, settings),
        SumUp(ask, fallback, settings),
        _build_follow(calls, settings),
    )


def _build_follow(calls: ExternalCalls, settings: Settings) -> FollowParent | None:
    """What a run that follows another begins with; None for a run that follows none."""
    if calls.parent is None:
        return None
    ask, pages = calls.ask, MOST_FOLLOWED
    return FollowParent(ask, calls.fallback, calls.parent, pages, settings.lang)


def _build_check(
    calls: ExternalCalls, settings: Settings, report: CitedReport, search_uncited: bool
) -> Strategy:
    from agent.strategies.check.judge import JudgeReport
    from agent.strategies.check.read_cited import FindEvidence, ReadCited
    from agent.strategies.check.strategy import CheckStrategy

    return CheckStrategy(
        report,
        ReadCited(calls.read),
        FindEvidence(calls.search, calls.read) if search_uncited else None,
        JudgeReport(calls.ask, settings),
    )


def _build_verify(calls: ExternalCalls, settings: Settings) -> Verify:
    return Verify(
        calls.ask,
        settings.effort.evidence_tokens,
        settings.lang,
        mode=settings.verify,
        batch=settings.claims_per_call,
        on_unsupported=settings.on_unsupported,
    )


StrategyBuilder = Callable[[ExternalCalls, Settings], Strategy]

STRATEGIES: dict[str, StrategyBuilder] = {
    "slots": _build_slots,
    "loop": _build_loop,
    "report": _build_report,
}
