"""The strategy `slots`: make queries and slots, search and reflect in rounds, answer, verify."""

from __future__ import annotations

from collections.abc import Iterator

from agent.state import Event, Queried, Research
from agent.steps.generate_queries import GenerateQueries
from agent.steps.reflect import Reflect
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool


class SlotsStrategy:
    """Searches in at most `max_rounds` rounds: each but the first for slots that are still open."""

    name = "slots"

    def __init__(
        self,
        generate: GenerateQueries,
        search: WebSearchTool,
        reflect: Reflect,
        synthesize: Synthesize,
        verify: Verify,
        max_rounds: int,
    ) -> None:
        self._generate = generate
        self._search = search
        self._reflect = reflect
        self._synthesize = synthesize
        self._verify = verify
        self._max_rounds = max_rounds

    def __call__(self, research: Research) -> Iterator[Event]:
        self._search.prefetch(research.topic)  # the first query; a model adds more
        yield from self._generate(research)
        for _ in range(self._max_rounds):
            yield from self._search(research)
            yield from self._reflect(research)
            is_last = research.round == self._max_rounds
            if is_last or research.is_halted or not research.new_queries:
                break
            yield Queried(round=research.round + 1, queries=research.new_queries)
        yield from self._synthesize(research)
        yield from self._verify(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """The best answer from what is known; a model is asked only as far as the budget allows."""
        yield from self._search.salvage(research)
        if research.sources and not research.are_findings_current:
            yield from self._reflect.run_without_model(research)
        yield from self._synthesize(research)
        yield from self._verify(research)
