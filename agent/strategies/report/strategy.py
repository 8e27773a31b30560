"""The order of a report's steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.calls import ExternalCalls
from agent.evidence.credibility import Blocking
from agent.settings import Settings
from agent.state import Event, Research, RunRequest
from agent.steps.follow_parent import FollowParent
from agent.steps.reflect import Reflect
from agent.steps.verify import Verify
from agent.strategies.common_steps import build_follow, build_verify
from agent.strategies.report.gather import Gather
from agent.strategies.report.plan_report import PlanReport
from agent.strategies.report.sections import ResearchSections
from agent.strategies.report.sum_up import SumUp
from agent.strategies.report.tool_use import UseTools
from agent.strategies.report.write import WriteSections


def build(calls: ExternalCalls, settings: Settings, request: RunRequest) -> ReportStrategy:
    """The strategy with its steps."""
    ask, fallback = calls.ask, calls.fallback
    blocking = Blocking(settings.credibility, settings.min_credibility)
    use_tools = UseTools(calls.search, calls.read, blocking)
    reflect = Reflect(ask, fallback, settings.effort.evidence_tokens, settings.lang)
    return ReportStrategy(
        PlanReport(ask, settings, request.clarified),
        ResearchSections(use_tools, Gather(ask, use_tools, settings), reflect, settings),
        reflect,
        WriteSections(ask, fallback, settings),
        build_verify(calls, settings),
        SumUp(ask, fallback, settings),
        build_follow(calls, settings),
    )


@dataclass(frozen=True)
class ReportStrategy:
    """Plans, researches the sections side by side, writes them, and sums up what is supported."""

    name = "report"

    plan: PlanReport
    sections: ResearchSections
    reflect: Reflect  # only for slots that the caller named
    write: WriteSections
    verify: Verify
    sum_up: SumUp
    follow: FollowParent | None = None  # what the run begins with where it follows another

    def __call__(self, research: Research) -> Iterator[Event]:
        if self.follow:
            yield from self.follow(research)
        yield from self.plan(research)
        yield from self.sections(research)
        if research.slots and research.sources:
            yield from self.reflect(research)
        yield from self._write_report(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """A report from what is known; a model is asked only as far as the budget allows."""
        if research.plan is None:
            yield self.plan.plan_by_topic(research.topic)
        yield from self.sections.salvage(research)
        if research.slots and research.sources and not research.are_findings_current:
            yield from self.reflect.run_without_model(research)
        yield from self._write_report(research)

    def _write_report(self, research: Research) -> Iterator[Event]:
        yield from self.write(research)
        yield from self.verify(research)
        checked = research.answer
        yield from self.sum_up(research)
        if research.answer is not checked:
            yield from self.verify(research)
