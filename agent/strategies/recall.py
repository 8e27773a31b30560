"""Recall: what a model says of a topic with no source at all. Only evaluations ask for it."""

from __future__ import annotations

import html
from collections.abc import Iterator

from pydantic import Field

from agent.outside import Ask, Task
from agent.state import Answered, Event, Frozen, Research
from agent.steps.asking import asked, language_rule


class Recollection(Frozen):
    """An answer from memory."""

    reasoning: str = Field(default="", description="what you know that leads to the answer")
    remembered: str = Field(description="the answer alone; empty if you do not know it")


class RecallAnswer(Task[Recollection]):
    """Asks for the answer, with nothing to read."""

    max_words: int = 80

    @property
    def name(self) -> str:
        return "recall"

    @property
    def answer(self) -> type[Recollection]:
        return Recollection

    def system(self) -> str:
        return (
            f"You answer questions from what you know, in at most {self.max_words} words. There is "
            "nothing to search or read. Think first, then give the answer alone. If you do not "
            "know it, leave the answer empty. " + language_rule(self.language)
        )

    def prompt(self) -> str:
        return f"<topic>{html.escape(self.topic, quote=False)}</topic>"


class Recall:
    """Answers from a model's memory: no quotes, no claims. Raises ModelFailed, Halt."""

    def __init__(self, ask: Ask, max_words: int, language: str = "") -> None:
        self._ask = ask
        self._max_words = max_words
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        task = RecallAnswer(
            topic=research.topic, max_words=self._max_words, language=self._language
        )
        reply = self._ask(task)
        yield asked(task, reply)
        yield Answered(text=reply.answer.remembered.strip(), quotes=(), claims=())
