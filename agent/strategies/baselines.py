"""The baselines with which evaluations compare the strategies: memory alone, and one search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.state import Answered, Event, Queried, Research
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies.recall import Recall


@dataclass(frozen=True)
class ClosedBook:
    """One model call, without any search or page."""

    name = "closed_book"

    recall: Recall

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self.recall(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """An empty answer: nothing was gathered."""
        yield Answered(text="", quotes=(), claims=())


@dataclass(frozen=True)
class SingleSearch:
    """One search for the topic as it is, its best passages, one answer."""

    name = "single_search"

    search: WebSearchTool
    synthesize: Synthesize
    verify: Verify

    def __call__(self, research: Research) -> Iterator[Event]:
        yield Queried(round=1, queries=(research.topic,))
        yield from self.search(research)
        yield from self._write_answer(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """The answer from what is known."""
        yield from self.search.salvage(research)
        yield from self._write_answer(research)

    def _write_answer(self, research: Research) -> Iterator[Event]:
        yield from self.synthesize(research)
        yield from self.verify(research)
