"""Recall: a model's answer from memory, without any source. Only the closed-book baseline asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent.outside import Ask, Task, TaskKind
from agent.state import Answered, Event, Frozen, Research
from agent.steps.asking import reply_event
from agent.steps.prompt_rules import language_rule, render_topic


class Recollection(Frozen):
    """An answer from memory."""

    reasoning: str = Field(default="", description="what you know that leads to the answer")
    remembered: str = Field(description="the answer alone; empty if you do not know it")


class RecallAnswer(Task[Recollection]):
    """Asks for the answer, without any source."""

    name: ClassVar[str] = "recall"
    kind: ClassVar[TaskKind] = "write"

    max_words: int = 80

    def system_prompt(self) -> str:
        return (
            f"You answer questions from what you know, in at most {self.max_words} words. There is "
            "nothing to search or read. Think first, then give the answer alone. If you do not "
            "know it, leave the answer empty. " + language_rule(self.language)
        )

    def prompt(self) -> str:
        return render_topic(self)


@dataclass(frozen=True)
class Recall:
    """Answers from a model's memory, without quotes and claims. Raises ModelFailed, Halt."""

    ask: Ask
    max_words: int
    language: str = ""

    def __call__(self, research: Research) -> Iterator[Event]:
        task = RecallAnswer(topic=research.topic, max_words=self.max_words, language=self.language)
        reply = self.ask(task)
        yield reply_event(task, reply)
        yield Answered(text=reply.answer.remembered.strip(), quotes=(), claims=())
