"""The loop: decide, search, browse, and again, until there is an answer or no step is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agent.state import Decided, Event, Research
from agent.steps.reflect import Reflect
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies.loop.browse import Browse
from agent.strategies.loop.conclude import Conclude
from agent.strategies.loop.decide import Decide


class Steps(NamedTuple):
    """The steps of the loop."""

    decide: Decide
    search: WebSearchTool  # which reads no page: `browse` does
    browse: Browse
    reflect: Reflect  # only for slots that the caller named
    conclude: Conclude
    verify: Verify


class Loop:
    """At most `max_steps` decisions; the last answer is forced if none was given.

    With `double_check` the first answer that is given is looked at once more before it is returned.
    """

    name = "loop"

    def __init__(self, steps: Steps, max_steps: int, double_check: bool = False) -> None:
        self._do = steps
        self._max_steps = max_steps
        self._double_check = double_check

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self._gathered(research)
        if research.slots and research.sources and not research.halted:
            yield from self._do.reflect(research)
        if not _answered(research):
            yield from self._do.conclude(research)
        yield from self._do.verify(research)

    def _gathered(self, research: Research) -> Iterator[Event]:
        while len(research.of(Decided)) < self._max_steps and not research.halted:
            rounds = research.round
            yield from self._decided(research)
            if research.round > rounds:
                yield from self._do.search(research)
                yield from self._do.browse(research)
            elif _action(research) == "return_answer":
                return

    def _decided(self, research: Research) -> Iterator[Event]:
        first = research.answer is None
        yield from self._do.decide(research)
        if self._double_check and first and research.answer:
            yield from self._do.decide.again(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """The best answer from what there is; by a model only if the budget kept that back."""
        yield from self._do.browse.salvage(research)
        if research.slots and research.sources and not research.findings_are_new:
            yield from self._do.reflect.without_model(research)
        if not research.answer:
            yield from self._do.conclude(research)
        yield from self._do.verify(research)


def _answered(research: Research) -> bool:
    """Whether the last decision was to answer, and the answer stands on something."""
    return research.answer is not None and _action(research) == "return_answer"


def _action(research: Research) -> str:
    decided = research.of(Decided)
    return decided[-1].action if decided else ""
