"""Decide: the next action of the loop, chosen from the whole trajectory."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import Field

from agent.errors import FINAL, Halt, ModelFailed
from agent.evidence import fold
from agent.evidence.citing import Cited, Draft
from agent.outside import Ask, Reply, Task
from agent.state import Decided, Event, Frozen, Halted, Queried, Research, Warned
from agent.steps.asking import asked, failed, language_rule
from agent.steps.generate_queries import distinct
from agent.strategies.loop import tags
from agent.strategies.loop.grounding import grounded
from agent.strategies.loop.trajectory import trajectory
from agent.strategies.loop.wording import Wording, wording

MOST_QUERIES = 3
ACTIONS = ("search_web", "return_answer")


class Decision(Frozen):
    """The next action, and what it needs."""

    plan: str = Field(default="", description="what is known and what is open, in a sentence")
    action: str = Field(
        description="search_web or return_answer", json_schema_extra={"enum": [*ACTIONS]}
    )
    queries: list[str] = Field(
        default_factory=list, description="for search_web: 1 to 3 short queries not asked before"
    )
    answer: str = Field(
        default="", description="for return_answer: the short answer, ending with its [n]"
    )
    citations: list[Cited] = Field(default_factory=list, description="a quote for each [n] used")


class ChooseAction(Task[Decision]):
    """Asks for the next action."""

    trajectory: str = ""
    queries: tuple[str, ...] = ()  # those that were searched
    steps_left: int = 1
    max_words: int = 80
    proposed: str = ""  # an answer that is to be checked before it is returned

    @property
    def name(self) -> str:
        return "decide"

    @property
    def answer(self) -> type[Decision]:
        return Decision

    def system(self) -> str:
        said = self._wording.decide_system.format(words=self.max_words)
        return f"{said} {language_rule(self.language)}"

    def prompt(self) -> str:
        topic = html.escape(self.topic, quote=False)
        said = self._wording
        parts = [self.trajectory or said.nothing_yet, f"<topic>{topic}</topic>"]
        if self.slots:
            names = ", ".join(slot.name for slot in self.slots)
            parts.append(said.slots.format(names=html.escape(names, quote=False)))
        if self.proposed:
            parts.append(said.check.format(answer=html.escape(self.proposed, quote=False)))
        parts.append(said.steps_left.format(steps=self.steps_left))
        return "\n\n".join(parts)

    def tagged(self, text: str) -> dict[str, Any] | None:
        """A reply in the tags of system D; a `<query>` may hold several lines."""
        if not tags.begins(text):
            return None
        queries = [line for part in tags.contents(text, "query") for line in part.splitlines()]
        answer = tags.content(text, "answer") or ""
        action = tags.content(text, "action") or ""
        return {"action": action, "queries": queries, "answer": answer}

    @property
    def _wording(self) -> Wording:
        return wording(self.topic, self.language)


class Limits(NamedTuple):
    """How far the loop goes: steps, words of the answer, tokens of the trajectory."""

    steps: int
    words: int
    tokens: int


class Decide:
    """Chooses to search or to answer. What cannot be done is recorded, and uses up the step.

    An answer counts if quotes stand behind it: the model's own, or passages that are found to
    support it. Before anything was read there are none, so the question itself is searched first.
    """

    def __init__(self, ask: Ask, stand_in: Ask, limits: Limits, language: str = "") -> None:
        self._ask = ask
        self._stand_in = stand_in
        self._limits = limits
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        task = self._task(research)
        try:
            reply = self._ask(task)
        except Halt as halt:
            yield Halted(reason=halt.message)
            return
        except ModelFailed as error:
            if error.outcome in FINAL and not research.of(Decided):
                raise
            yield failed(task, error, stand_in="extractive")
            reply = self._stand_in(task)
        yield asked(task, reply)
        yield from self._taken(reply.answer, research)

    def again(self, research: Research) -> Iterator[Event]:
        """A second look at the answer: it stands, is corrected, or is searched for once more.

        An answer that no quote stands behind, or no usable reply, leaves the first one standing.
        """
        task = self._task(research, research.answer.text if research.answer else "")
        try:
            reply: Reply[Decision] = self._ask(task)
        except Halt as halt:
            yield Halted(reason=halt.message)
            return
        except ModelFailed as error:
            yield failed(task, error, stand_in="the answer as it was")
            return
        yield asked(task, reply)
        action = _action(reply.answer.action)
        left = _steps(research) < self._limits.steps
        if action == "search_web" and left and _fresh(reply.answer.queries, research):
            yield from self._searching(reply.answer.queries, research)
        elif action == "return_answer":
            yield from self._answering(reply.answer, research)

    def _task(self, research: Research, proposed: str = "") -> ChooseAction:
        shown = trajectory(research, self._limits.tokens)
        return ChooseAction(
            topic=research.topic,
            slots=research.slots,
            evidence=shown.evidence,
            language=self._language,
            trajectory=shown.text,
            queries=research.queries,
            steps_left=max(0, self._limits.steps - _steps(research)),
            max_words=self._limits.words,
            proposed=proposed,
        )

    def _taken(self, decision: Decision, research: Research) -> Iterator[Event]:
        action = _action(decision.action)
        if action == "search_web":
            yield from self._searching(decision.queries, research)
        elif action == "return_answer" and research.sources:
            yield from self._answering(decision, research)
        elif action == "return_answer":
            note = "An answer needs sources: the question itself is searched for."
            yield from self._searching([research.topic], research, note)
        else:
            named = " ".join(decision.action.split())[:60]
            yield _nothing(research, f'Invalid action "{named}": it must be {" or ".join(ACTIONS)}')

    def _searching(self, queries: list[str], research: Research, note: str = "") -> Iterator[Event]:
        fresh = _fresh(queries, research)
        if not fresh:
            given = bool(distinct(queries))
            reason = "These queries were searched before" if given else "No search query was given"
            yield _nothing(research, f"{note} {reason}".strip())
            return
        yield Decided(step=_steps(research) + 1, action="search_web", note=note)
        yield Queried(round=research.round + 1, queries=fresh)

    def _answering(self, decision: Decision, research: Research) -> Iterator[Event]:
        draft = Draft(answer=decision.answer, citations=decision.citations)
        words = self._limits.words
        answer, warnings = grounded(draft, research.sources, research.topic, words)
        note = "" if answer.quotes else _unfounded(draft)
        yield Decided(step=_steps(research) + 1, action="return_answer", note=note)
        if answer.quotes:
            yield from (Warned(message=warning) for warning in warnings)
            yield answer


def _fresh(queries: list[str], research: Research) -> tuple[str, ...]:
    """Those of some queries that were not searched before, as many as a step may have."""
    before = {fold(query)[0] for query in research.queries}
    return tuple(q for q in distinct(queries) if fold(q)[0] not in before)[:MOST_QUERIES]


def _unfounded(draft: Draft) -> str:
    given = bool(draft.answer.strip())
    return "No source stands behind the answer that was given" if given else "No answer was given"


def _steps(research: Research) -> int:
    return len(research.of(Decided))


def _nothing(research: Research, note: str) -> Decided:
    return Decided(step=_steps(research) + 1, action="none", note=note)


def _action(text: str) -> str:
    """An action as it is meant: case, blanks and dashes aside."""
    return re.sub(r"[\s-]+", "_", text.strip(" \t\n\"'`.").casefold())
