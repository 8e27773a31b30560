"""The order of the loop's steps, and when it stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.calls import ExternalCalls, Read
from agent.evidence.candidate_quotes import BARE
from agent.settings import Settings
from agent.state import Decided, Event, Hit, Research, RunRequest
from agent.steps.follow_parent import FollowParent
from agent.steps.reflect import Reflect
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool, read_pages, salvage_pages
from agent.strategies.common_steps import build_follow, build_verify
from agent.strategies.loop.conclude import Conclude
from agent.strategies.loop.decide import REPEATED, Decide


def build(calls: ExternalCalls, settings: Settings, _: RunRequest) -> LoopStrategy:
    """The strategy with its steps."""
    ask, fallback = calls.ask, calls.fallback
    return LoopStrategy(
        Decide(ask, fallback, settings),
        WebSearchTool(calls.search, calls.read, pages_per_query=0),
        calls.read,
        Reflect(ask, fallback, settings.effort.evidence_tokens, settings.lang),
        Conclude(ask, fallback, settings),
        build_verify(calls, settings),
        settings,
        build_follow(calls, settings),
    )


@dataclass(frozen=True)
class LoopStrategy:
    """Makes at most `max_steps` decisions to search or to answer; then concludes.

    It also concludes once a query is repeated after pages were read: the model is out of ideas.
    With `double_check` the first answer is checked once more before it is returned. An answer that
    came without quotes, and of which nothing is supported, is followed by a conclusion.
    """

    name = "loop"

    decide: Decide
    search: WebSearchTool  # reads no page: the loop does
    read: Read
    reflect: Reflect  # only for slots that the caller named
    conclude: Conclude
    verify: Verify
    settings: Settings
    follow: FollowParent | None = None  # what the run begins with where it follows another

    def __call__(self, research: Research) -> Iterator[Event]:
        if self.follow:
            yield from self.follow(research)
        yield from self._gather(research)
        if research.slots and research.sources and not research.is_halted:
            yield from self.reflect(research)
        last = _last_decision(research)
        if research.answer is None or last.action != "return_answer":
            yield from self.conclude(research)
        yield from self.verify(research)
        if last.note == BARE and not (research.answer and research.answer.quotes):
            yield from self.conclude(research)
            yield from self.verify(research)

    def _gather(self, research: Research) -> Iterator[Event]:
        most = self.settings.max_steps
        while len(research.events_of(Decided)) < most and not research.is_halted:
            earlier_rounds = research.round
            yield from self._decide(research)
            if research.round > earlier_rounds:
                yield from self.search(research)
                yield from read_pages(self.read, self._choose_hits(research), research)
            elif _is_done(research):
                return

    def _choose_hits(self, research: Research) -> list[Hit]:
        """The untried hits of a round, by rank, each page once."""
        return research.untried_hits_by_rank(self.settings.effort.pages_per_step)

    def _decide(self, research: Research) -> Iterator[Event]:
        had_answer = research.answer is not None
        yield from self.decide(research)
        if self.settings.effort.double_check and not had_answer and research.answer:
            yield from self.decide.double_check(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """The best answer from what is known; a model is asked only as far as the budget allows."""
        yield from salvage_pages(self.read, self._choose_hits(research), research)
        if research.slots and research.sources and not research.are_findings_current:
            yield from self.reflect.run_without_model(research)
        if not research.answer:
            yield from self.conclude(research)
        yield from self.verify(research)


def _is_done(research: Research) -> bool:
    """Whether the last decision was to answer, or to search again though there is a source."""
    last = _last_decision(research)
    repeats = bool(research.sources) and last.note.endswith(REPEATED)
    return last.action == "return_answer" or repeats


def _last_decision(research: Research) -> Decided:
    decisions = research.events_of(Decided)
    return decisions[-1] if decisions else Decided(step=0, action="none")
