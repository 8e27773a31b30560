"""Conclude: the final answer of the loop, from the trajectory, when no step is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent.calls import Ask
from agent.evidence.candidate_quotes import ground_answer
from agent.evidence.citing import limit_citations
from agent.settings import Settings
from agent.state import Answered, Draft, Event, Research, Warned
from agent.steps.ask_model import ask_with_fallback
from agent.steps.prompt_rules import language_rule, render_topic
from agent.steps.synthesize import WriteAnswer, build_abstention
from agent.strategies.loop import tags
from agent.strategies.loop.prompts import wording_for
from agent.strategies.loop.trajectory import build_trajectory, drop_oldest


class ForceAnswer(WriteAnswer):
    """Asks for the best answer that the trajectory allows."""

    trajectory: str = ""

    def system_prompt(self) -> str:
        wording = wording_for(self.topic, self.language)
        rules = wording.final_system.format(words=self.max_words)
        return f"{rules} {language_rule(self.language)}"

    def prompt(self) -> str:
        request = wording_for(self.topic, self.language).final
        return f"{self.trajectory}\n\n{request}\n\n{render_topic(self)}"

    def shorten(self, by: int) -> ForceAnswer:
        """The task without the oldest steps."""
        return self.model_copy(update={"trajectory": drop_oldest(self.trajectory, by)})

    def parse_tagged_reply(self, text: str) -> dict[str, Any] | None:
        """The answer of a reply in the loop's tag format (`tags.py`)."""
        if not tags.starts_with_tag(text):
            return None
        return {"answer": tags.find_content(text, "answer") or ""}


@dataclass(frozen=True)
class Conclude:
    """Writes the answer from all that was found. With no sources no model is asked.

    Where no model answers, `fallback` does. If no source supports the new answer, an earlier answer
    stays; if there is none, the run says that it found no answer.
    """

    ask: Ask
    fallback: Ask
    settings: Settings

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield self._abstain(research)
            return
        draft = yield from ask_with_fallback(self._build_task(research), self.ask, self.fallback)
        answer, warnings, _ = ground_answer(
            draft, research.sources, research.topic, self.settings.max_words
        )
        if answer.quotes:
            yield from (Warned(message=warning) for warning in warnings)
            yield limit_citations(answer, self.settings.max_citations)
        elif not research.answer:
            yield self._abstain(research, draft)

    def _build_task(self, research: Research) -> ForceAnswer:
        trajectory = build_trajectory(research, self.settings.effort.evidence_tokens)
        return ForceAnswer(
            topic=research.topic,
            slots=research.slots,
            evidence=trajectory.evidence,
            language=self.settings.lang,
            trajectory=trajectory.text,
            max_words=self.settings.max_words,
        )

    def _abstain(self, research: Research, draft: Draft | None = None) -> Answered:
        is_stopped = research.is_halted and not research.sources
        text = "" if is_stopped else wording_for(research.topic, self.settings.lang).unable
        return build_abstention(research, draft, text)
