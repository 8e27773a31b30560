"""The order of a report's steps, and when gathering stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from agent.state import Event, Halted, Queried, Research
from agent.steps.follow_parent import FollowParent
from agent.steps.reflect import Reflect
from agent.steps.verify import Verify
from agent.strategies.report.draft import DraftReport
from agent.strategies.report.gaps import DetectGaps
from agent.strategies.report.gather import Gather
from agent.strategies.report.plan import PlanReport

TURNS_USED_UP = "max iterations reached — report may be incomplete."


class ReportSteps(NamedTuple):
    """The steps of a report."""

    plan: PlanReport
    gather: Gather
    detect_gaps: DetectGaps
    reflect: Reflect  # only for slots that the caller named
    draft: DraftReport
    verify: Verify


@dataclass(frozen=True)
class ReportStrategy:
    """Plans, gathers in at most `max_rounds` rounds, and drafts. Later rounds are for gaps.

    If the last round used up its turns and gaps are open, the report is marked as incomplete.
    """

    name = "report"

    steps: ReportSteps
    max_rounds: int
    follow: FollowParent | None = None  # what the run begins with where it follows another

    def __call__(self, research: Research) -> Iterator[Event]:
        are_turns_used_up = False
        if self.follow:
            yield from self.follow(research)
        if not research.sources:
            yield from self.steps.plan(research)
            are_turns_used_up = yield from self.steps.gather(research)
        while research.round < self.max_rounds and not research.is_halted:
            yield from self.steps.detect_gaps(research)
            queries = research.gap_analysis.follow_up_queries
            if research.is_halted or not queries:
                break
            yield Queried(round=research.round + 1, queries=queries)
            are_turns_used_up = yield from self.steps.gather(research)
        if are_turns_used_up and research.gap_analysis.gaps and not research.is_halted:
            yield Halted(reason=TURNS_USED_UP)
        if research.slots and research.sources:
            yield from self.steps.reflect(research)
        yield from self._write_report(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """A report from what is known; a model is asked only as far as the budget allows."""
        yield from self.steps.gather.salvage(research)
        if research.slots and research.sources and not research.are_findings_current:
            yield from self.steps.reflect.run_without_model(research)
        yield from self._write_report(research)

    def _write_report(self, research: Research) -> Iterator[Event]:
        yield from self.steps.draft(research)
        yield from self.steps.verify(research)
