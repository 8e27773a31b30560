"""The strategy `slots`: make queries and slots, search and reflect in rounds, answer, verify."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.calls import ExternalCalls
from agent.settings import Settings
from agent.state import Event, Queried, Research, RunRequest
from agent.steps.follow_parent import FollowParent
from agent.steps.generate_queries import GenerateQueries
from agent.steps.reflect import Reflect
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies.common_steps import build_follow, build_verify

MOST_DRAFTED = 150  # words; a longer answer is written by itself, after the last round


def build(calls: ExternalCalls, settings: Settings, _: RunRequest) -> SlotsStrategy:
    """The strategy with its steps."""
    ask, tokens, lang = calls.ask, settings.effort.evidence_tokens, settings.lang
    drafted = settings.max_words if settings.max_words <= MOST_DRAFTED else None
    return SlotsStrategy(
        GenerateQueries(ask, lang),
        WebSearchTool(calls.search, calls.read, settings.effort.pages_per_query),
        Reflect(ask, calls.fallback, tokens, lang, max_words=drafted),
        Synthesize(ask, calls.fallback, tokens, settings.max_words, lang, settings.max_citations),
        build_verify(calls, settings),
        settings.max_rounds,
        build_follow(calls, settings),
    )


@dataclass(frozen=True)
class SlotsStrategy:
    """Searches in at most `max_rounds` rounds: each but the first for slots that are still open."""

    name = "slots"

    generate: GenerateQueries
    search: WebSearchTool
    reflect: Reflect
    synthesize: Synthesize
    verify: Verify
    max_rounds: int
    follow: FollowParent | None = None  # what the run begins with where it follows another

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self._begin(research)
        while research.round:
            yield from self.search(research)
            yield from self.reflect(research)
            is_last = research.round >= self.max_rounds
            if is_last or research.is_halted or not research.new_queries:
                break
            yield Queried(round=research.round + 1, queries=research.new_queries)
        yield from self.synthesize(research)
        yield from self.verify(research)

    def _begin(self, research: Research) -> Iterator[Event]:
        """Make the queries of the first round; none where what earlier runs read answers."""
        if self.follow is None:
            topic = research.topic
            self.search.prefetch(topic, topic)  # the first query; a model adds more
            yield from self.generate(research)
            return
        yield from self.follow(research, needs_slots=True)
        if research.sources:
            yield from self.reflect(research)
        is_answered = bool(research.reflections) and research.reflections[-1].answerable
        is_over = research.is_halted or (is_answered and not research.new_queries)
        if not (research.sources and is_over):
            known = any(one.status != "missing" for one in research.findings.values())
            queries = research.new_queries if known else ()
            yield Queried(round=1, queries=queries or research.parent_queries)

    def finish(self, research: Research) -> Iterator[Event]:
        """The best answer from what is known; a model is asked only as far as the budget allows."""
        yield from self.search.salvage(research)
        if research.sources and not research.are_findings_current:
            yield from self.reflect.run_without_model(research)
        yield from self.synthesize(research)
        yield from self.verify(research)
