"""The baselines with which evaluations compare the strategies: memory alone, and one search."""

from __future__ import annotations

from collections.abc import Iterator

from agent.state import Answered, Event, Queried, Research
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies.recall import Recall


class ClosedBook:
    """One model call, without any search or page."""

    name = "closed_book"

    def __init__(self, recall: Recall) -> None:
        self._recall = recall

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self._recall(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """An empty answer: nothing was gathered."""
        yield Answered(text="", quotes=(), claims=())


class SingleSearch:
    """One search for the topic as it is, its best passages, one answer."""

    name = "single_search"

    def __init__(self, search: WebSearchTool, synthesize: Synthesize, verify: Verify) -> None:
        self._search = search
        self._synthesize = synthesize
        self._verify = verify

    def __call__(self, research: Research) -> Iterator[Event]:
        yield Queried(round=1, queries=(research.topic,))
        yield from self._search(research)
        yield from self._write_answer(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """The answer from what is known."""
        yield from self._search.salvage(research)
        yield from self._write_answer(research)

    def _write_answer(self, research: Research) -> Iterator[Event]:
        yield from self._synthesize(research)
        yield from self._verify(research)
