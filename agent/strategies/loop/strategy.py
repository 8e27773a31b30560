"""The order of the loop's steps, and when it stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from agent.evidence.bare_answers import BARE
from agent.state import Decided, Event, Queried, Research
from agent.steps.follow_parent import FollowParent
from agent.steps.reflect import Reflect
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies.loop.browse import Browse
from agent.strategies.loop.conclude import Conclude
from agent.strategies.loop.decide import REPEATED, Decide


class LoopSteps(NamedTuple):
    """The steps of the loop."""

    decide: Decide
    search: WebSearchTool  # reads no page: `browse` does
    browse: Browse
    reflect: Reflect  # only for slots that the caller named
    conclude: Conclude
    verify: Verify


@dataclass(frozen=True)
class LoopStrategy:
    """Makes at most `max_steps` decisions to search or to answer; then concludes.

    It also concludes once a query is repeated after pages were read: the model is out of ideas.
    With `double_check` the first answer is checked once more before it is returned. An answer that
    came without quotes, and of which nothing stands, is followed by a conclusion.
    """

    name = "loop"

    steps: LoopSteps
    max_steps: int
    double_check: bool = False
    follow: FollowParent | None = None  # what the run begins with where it follows another

    def __call__(self, research: Research) -> Iterator[Event]:
        if self.follow:
            yield from self.follow(research)
        yield from self._gather(research)
        if research.slots and research.sources and not research.is_halted:
            yield from self.steps.reflect(research)
        if not _has_answer(research):
            yield from self.steps.conclude(research)
        yield from self.steps.verify(research)
        if _was_bare(research) and not _has_quotes(research):
            yield from self.steps.conclude(research)
            yield from self.steps.verify(research)

    def _gather(self, research: Research) -> Iterator[Event]:
        while self._has_step_left(research) and not research.is_halted:
            earlier_rounds = research.round
            if wanted := research.steered_queries:
                yield Queried(round=research.round + 1, queries=wanted)
            else:
                yield from self._decide(research)
            if research.round > earlier_rounds:
                yield from self.steps.search(research)
                yield from self.steps.browse(research)
            elif research.steered_queries:
                continue
            elif _last_action(research) == "return_answer" or _repeats_itself(research):
                return

    def _has_step_left(self, research: Research) -> bool:
        """Whether it may decide once more, or has to search for what the user said."""
        decisions = len(research.events_of(Decided))
        return decisions < self.max_steps or bool(research.steered_queries)

    def _decide(self, research: Research) -> Iterator[Event]:
        had_answer = research.answer is not None
        yield from self.steps.decide(research)
        if self.double_check and not had_answer and research.answer:
            yield from self.steps.decide.double_check(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """The best answer from what is known; a model is asked only as far as the budget allows."""
        yield from self.steps.browse.salvage(research)
        if research.slots and research.sources and not research.are_findings_current:
            yield from self.steps.reflect.run_without_model(research)
        if not research.answer:
            yield from self.steps.conclude(research)
        yield from self.steps.verify(research)


def _has_answer(research: Research) -> bool:
    """Whether the last decision was to answer, and an answer with quotes came of it."""
    return research.answer is not None and _last_action(research) == "return_answer"


def _was_bare(research: Research) -> bool:
    """Whether the last decision was an answer without a quote of its own."""
    return _last_note(research) == BARE


def _repeats_itself(research: Research) -> bool:
    """Whether the last decision was to search what was searched, though there is a source."""
    return bool(research.sources) and _last_note(research).endswith(REPEATED)


def _has_quotes(research: Research) -> bool:
    return research.answer is not None and bool(research.answer.quotes)


def _last_note(research: Research) -> str:
    decisions = research.events_of(Decided)
    return decisions[-1].note if decisions else ""


def _last_action(research: Research) -> str:
    decisions = research.events_of(Decided)
    return decisions[-1].action if decisions else ""
