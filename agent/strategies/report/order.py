"""The report: plan, a round, gaps, another round if there are any, named slots, draft, check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agent.state import Event, Halted, Queried, Research
from agent.steps.reflect import Reflect
from agent.steps.verify import Verify
from agent.strategies.report.draft import Draft
from agent.strategies.report.gaps import DetectGaps
from agent.strategies.report.gather import Gather
from agent.strategies.report.plan import Plan

CAPPED = "max iterations reached — report may be incomplete."


class Stages(NamedTuple):
    """The steps of a report."""

    plan: Plan
    gather: Gather
    detect: DetectGaps
    reflect: Reflect  # only for slots that the caller named
    draft: Draft
    verify: Verify


class Reporting:
    """Runs the stages, with at most `max_rounds` rounds: each but the first is for gaps.

    A last round that used up its turns, with gaps open, makes the report a partial one.
    """

    name = "report"

    def __init__(self, stages: Stages, max_rounds: int) -> None:
        self._do = stages
        self._max_rounds = max_rounds

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self._do.plan(research)
        capped = yield from self._do.gather(research)
        while research.round < self._max_rounds and not research.halted:
            yield from self._do.detect(research)
            queries = research.doubts.follow_up_queries
            if research.halted or not queries:
                break
            yield Queried(round=research.round + 1, queries=queries)
            capped = yield from self._do.gather(research)
        if capped and research.doubts.gaps and not research.halted:
            yield Halted(reason=CAPPED)
        if research.slots and research.sources:
            yield from self._do.reflect(research)
        yield from self._written(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """A report from what there is; by a model only if the budget kept that back."""
        yield from self._do.gather.salvage(research)
        if research.slots and research.sources and not research.findings_are_new:
            yield from self._do.reflect.without_model(research)
        yield from self._written(research)

    def _written(self, research: Research) -> Iterator[Event]:
        yield from self._do.draft(research)
        yield from self._do.verify(research)
