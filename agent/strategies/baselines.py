"""The baselines with which evaluations compare the strategies: memory alone, and one search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent.outside import Ask, Task, TaskKind
from agent.settings import Settings
from agent.state import Answered, Event, Frozen, Queried, Research
from agent.steps.asking import reply_event
from agent.steps.prompt_rules import language_rule, render_topic
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool


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
    settings: Settings

    def __call__(self, research: Research) -> Iterator[Event]:
        words, language = self.settings.max_words, self.settings.lang
        task = RecallAnswer(topic=research.topic, max_words=words, language=language)
        reply = self.ask(task)
        yield reply_event(task, reply)
        yield Answered(text=reply.answer.remembered.strip(), quotes=(), claims=())


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
