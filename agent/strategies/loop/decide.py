"""Decide: chooses the next action of the loop, to search or to answer, from the trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from agent.calls import Ask, Task
from agent.evidence import fold
from agent.evidence.candidate_quotes import BARE, Grounded, ground_answer
from agent.evidence.citing import limit_citations
from agent.settings import Settings
from agent.state import Answered, Cited, Decided, Draft, Event, Frozen, Queried, Research, Warned
from agent.steps.ask_model import reply_event, try_to_ask
from agent.steps.generate_queries import Recency, deduplicate_queries
from agent.steps.prompt_rules import escape, language_rule, render_topic
from agent.strategies.loop import tags
from agent.strategies.loop.prompts import Wording, wording_for
from agent.strategies.loop.trajectory import build_trajectory, drop_oldest

MAX_STEP_QUERIES = 3
ACTIONS = ("search_web", "return_answer")
REPEATED = "These queries were searched before"


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

    name: ClassVar[str] = "decide"

    trajectory: str = ""
    queries: tuple[str, ...] = ()  # of earlier steps
    steps_left: int = 1
    max_words: int = 80
    proposed: str = ""  # an answer that is to be checked before it is returned

    def system_prompt(self) -> str:
        rules = self._wording.decide_system.format(words=self.max_words)
        return f"{rules} {language_rule(self.language)}"

    def prompt(self) -> str:
        wording = self._wording
        parts = [self.trajectory or wording.nothing_yet]
        if self.slots:
            names = ", ".join(slot.name for slot in self.slots)
            parts.append(wording.slots.format(names=escape(names)))
        if self.proposed:
            parts.append(wording.check.format(answer=escape(self.proposed)))
        parts += [wording.steps_left.format(steps=self.steps_left), render_topic(self)]
        return "\n\n".join(parts)

    def shorten(self, by: int) -> ChooseAction:
        """The task without the oldest steps."""
        return self.model_copy(update={"trajectory": drop_oldest(self.trajectory, by)})

    def parse_tagged_reply(self, text: str) -> dict[str, Any] | None:
        """The decision of a reply in the loop's tag format (`tags.py`)."""
        if not tags.starts_with_tag(text):
            return None
        return {
            "action": tags.find_content(text, "action") or "",
            "queries": "\n".join(tags.find_all_contents(text, "query")).splitlines(),
            "answer": tags.find_content(text, "answer") or "",
        }

    @property
    def _wording(self) -> Wording:
        return wording_for(self.topic, self.language)


@dataclass(frozen=True)
class Decide:
    """Chooses to search or to answer. A choice that is impossible is recorded and uses up a step.

    An answer counts if it has quotes: those of the reply, or else sentences that fit it.
    Before any page is read there are none, so then the topic itself is searched instead.
    """

    ask: Ask
    fallback: Ask
    settings: Settings

    def __call__(self, research: Research) -> Iterator[Event]:
        task = self._build_task(research)
        is_first = not research.events_of(Decided)
        decision = yield from try_to_ask(task, self.ask, is_first=is_first)
        if decision is None and not research.is_halted:
            reply = self.fallback(task)
            yield reply_event(task, reply)
            decision = reply.answer
        if decision:
            yield from self._carry_out(decision, research)

    def double_check(self, research: Research) -> Iterator[Event]:
        """Ask about the answer once more: it is kept, corrected, or searched for again.

        A correction without quotes, or no usable reply, leaves the first answer as it is.
        """
        task = self._build_task(research, research.answer.text if research.answer else "")
        decision = yield from try_to_ask(task, self.ask)
        if decision is None:
            return
        has_step_left = _step_count(research) < self.settings.max_steps
        if (
            decision.action == "search_web"
            and has_step_left
            and _new_queries(decision.queries, research)
        ):
            yield from self._search(decision.queries, research)
        elif decision.action == "return_answer":
            yield from self._answer(decision, research)

    def _build_task(self, research: Research, proposed: str = "") -> ChooseAction:
        trajectory = build_trajectory(research, self.settings.effort.evidence_tokens)
        return ChooseAction(
            topic=research.topic,
            slots=research.slots,
            evidence=trajectory.evidence,
            language=self.settings.lang,
            trajectory=trajectory.text,
            queries=research.queries,
            steps_left=max(0, self.settings.max_steps - _step_count(research)),
            max_words=self.settings.max_words,
            proposed=proposed,
        )

    def _carry_out(self, decision: Decision, research: Research) -> Iterator[Event]:
        action = decision.action
        if action == "search_web":
            yield from self._search(decision.queries, research)
        elif action == "return_answer" and research.sources:
            yield from self._answer(decision, research)
        elif action == "return_answer":
            note = "An answer needs sources: the question itself is searched for."
            yield from self._search([research.topic], research, note)
        else:
            name = " ".join(decision.action.split())[:60]
            yield _no_action(
                research, f'Invalid action "{name}": it must be {" or ".join(ACTIONS)}'
            )

    def _search(self, queries: list[str], research: Research, note: str = "") -> Iterator[Event]:
        new_queries = _new_queries(queries, research)
        if not new_queries:
            has_query = bool(deduplicate_queries(queries))
            reason = REPEATED if has_query else "No search query was given"
            yield _no_action(research, f"{note} {reason}".strip())
            return
        yield Decided(step=_step_count(research) + 1, action="search_web", note=note)
        yield Queried(round=research.round + 1, queries=new_queries)

    def _answer(self, decision: Decision, research: Research) -> Iterator[Event]:
        draft = Draft(answer=decision.answer, citations=decision.citations)
        grounded = ground_answer(draft, research.sources, research.topic, self.settings.max_words)
        if grounded.is_bare and research.answer:
            grounded = Grounded(Answered(text="", quotes=(), claims=()), ())
        note = _describe_grounds(draft, grounded)
        yield Decided(step=_step_count(research) + 1, action="return_answer", note=note)
        if grounded.answer.quotes:
            yield from (Warned(message=warning) for warning in grounded.warnings)
            yield limit_citations(grounded.answer, self.settings.max_citations)


def _new_queries(queries: list[str], research: Research) -> tuple[str, ...]:
    """The queries that were not searched before, as many as a step may have."""
    made = {fold(query) for query in research.queries}
    plain = Recency().limit_queries(queries, research.topic)
    new = (query for query in deduplicate_queries(plain) if fold(query) not in made)
    return tuple(new)[:MAX_STEP_QUERIES]


def _describe_grounds(draft: Draft, grounded: Grounded) -> str:
    """What is to be noted of an answer: that it has no quotes, or none of its own."""
    if grounded.answer.quotes:
        return BARE if grounded.is_bare else ""
    has_answer = bool(draft.answer.strip())
    return "No source supports the answer that was given" if has_answer else "No answer was given"


def _step_count(research: Research) -> int:
    return len(research.events_of(Decided))


def _no_action(research: Research, note: str) -> Decided:
    return Decided(step=_step_count(research) + 1, action="none", note=note)
