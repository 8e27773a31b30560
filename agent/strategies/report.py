"""The report: plan, first round, gaps, second round if there are any, draft, check."""

from __future__ import annotations

from collections.abc import Iterator

from agent.research import Event, Halted, Queried, Research
from agent.steps.draft import Draft
from agent.steps.gaps import DetectGaps
from agent.steps.gather import Gather
from agent.steps.plan import Plan
from agent.steps.verify import Verify

CAPPED = "max iterations reached — report may be incomplete."


class Reporting:
    """Runs the five stages. A last round that used up its turns makes the report a partial one."""

    name = "report"

    def __init__(
        self, plan: Plan, gather: Gather, detect: DetectGaps, draft: Draft, verify: Verify
    ) -> None:
        self._plan = plan
        self._gather = gather
        self._detect = detect
        self._draft = draft
        self._verify = verify

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self._plan(research)
        capped = yield from self._gather(research)
        yield from self._detect(research)
        doubts = research.doubts
        if doubts.follow_up_queries and not research.halted:
            yield Queried(round=research.round + 1, queries=doubts.follow_up_queries)
            capped = yield from self._gather(research)
        if capped and doubts.gaps and not research.halted:
            yield Halted(reason=CAPPED)
        yield from self._draft(research)
        yield from self._verify(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """A report from what there is; by a model only if the budget kept that back."""
        yield from self._gather.salvage(research)
        yield from self._draft(research)
        yield from self._verify(research)
