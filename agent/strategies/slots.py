"""The slot pipeline: queries and slots, search, reflect, search for what is missing, answer."""

from __future__ import annotations

from collections.abc import Iterator

from agent.state import Event, Queried, Research
from agent.steps.generate_queries import GenerateQueries
from agent.steps.reflect import Reflect
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool


class Slots:
    """Runs the steps in their order, searching at most `max_rounds` times."""

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
        self._search.ahead(research.topic)  # it is always a query: search while the model thinks
        yield from self._generate(research)
        for _ in range(self._max_rounds):
            yield from self._search(research)
            yield from self._reflect(research)
            last = research.round == self._max_rounds
            if last or research.halted or not research.new_queries:
                break
            yield Queried(round=research.round + 1, queries=research.new_queries)
        yield from self._synthesize(research)
        yield from self._verify(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """The best answer from what there is; by a model only if the budget kept that back."""
        yield from self._search.salvage(research)
        if research.sources and not research.findings_are_new:
            yield from self._reflect.without_model(research)
        yield from self._synthesize(research)
        yield from self._verify(research)
