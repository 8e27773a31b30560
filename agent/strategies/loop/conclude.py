"""Conclude: the final answer of the loop, forced from the trajectory when no step is left."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from agent.outside import Ask
from agent.state import Answered, Event, Research, Warned
from agent.steps.asking import answered, language_rule
from agent.steps.synthesize import WriteAnswer, looked
from agent.strategies.loop import tags
from agent.strategies.loop.decide import Limits
from agent.strategies.loop.grounding import grounded
from agent.strategies.loop.trajectory import trajectory
from agent.strategies.loop.wording import wording


class ForceAnswer(WriteAnswer):
    """Asks for the best answer that the trajectory allows."""

    trajectory: str = ""

    def system(self) -> str:
        said = wording(self.topic, self.language).final_system.format(words=self.max_words)
        return f"{said} {language_rule(self.language)}"

    def prompt(self) -> str:
        topic = html.escape(self.topic, quote=False)
        last = wording(self.topic, self.language).final
        return f"{self.trajectory}\n\n<topic>{topic}</topic>\n\n{last}"

    def tagged(self, text: str) -> dict[str, Any] | None:
        """A reply in the tags of system D."""
        return {"answer": tags.content(text, "answer") or ""} if tags.begins(text) else None


class Conclude:
    """Writes the answer from all that was found. With no sources no model is asked.

    Where no model answers, `stand_in` does; where no source stands behind what is written, an
    answer that was there before stays, and without one the run says that it found none.
    """

    def __init__(self, ask: Ask, stand_in: Ask, limits: Limits, language: str = "") -> None:
        self._ask = ask
        self._stand_in = stand_in
        self._limits = limits
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield self._unable(research)
            return
        draft = yield from answered(self._task(research), self._ask, self._stand_in)
        sources, words = research.sources, self._limits.words
        answer, warnings = grounded(draft, sources, research.topic, words)
        if answer.quotes:
            yield from (Warned(message=warning) for warning in warnings)
            yield answer
        elif not research.answer:
            yield self._unable(research)

    def _task(self, research: Research) -> ForceAnswer:
        shown = trajectory(research, self._limits.tokens)
        return ForceAnswer(
            topic=research.topic,
            slots=research.slots,
            evidence=shown.evidence,
            language=self._language,
            trajectory=shown.text,
            max_words=self._limits.words,
        )

    def _unable(self, research: Research) -> Answered:
        said = wording(research.topic, self._language).unable
        return Answered(text=f"{said} {looked(research)}", quotes=(), claims=())
