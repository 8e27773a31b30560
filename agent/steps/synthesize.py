"""Synthesize: a concise answer, each `[n]` of which has a quote that its source contains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from agent.evidence import render_sources, select_passages
from agent.evidence.citing import Draft, compose_answer
from agent.outside import Ask, Task
from agent.state import Answered, Event, Reflected, Research, Warned
from agent.steps.asking import ask_with_fallback
from agent.steps.prompt_rules import CITE_RULE, DATA_RULE, escape, language_rule, render_topic
from agent.steps.reflect import slots_ranking_query


class WriteAnswer(Task[Draft]):
    """Asks for the answer."""

    name: ClassVar[str] = "synthesize"

    max_words: int = 80
    known: tuple[str, ...] = ()  # the filled slots, as `name: value [n]`

    def system_prompt(self) -> str:
        return (
            f"You answer from sources, in at most {self.max_words} words. {CITE_RULE} If the "
            "topic takes for granted what the sources deny, say first what they say instead. If "
            "the sources do not answer the topic, return an empty answer and no citations. "
            f"{DATA_RULE} " + language_rule(self.language)
        )

    def prompt(self) -> str:
        lines = "".join(f"\n- {escape(line)}" for line in self.known)
        known = f"\nKnown so far:{lines}" if lines else ""
        return f"{render_sources(self.evidence)}\n{render_topic(self.topic)}{known}"


class Synthesize:
    """Writes the answer. Citations whose quote is not in their source are dropped.

    With no sources no model is asked, nor where the last reader of the sources found neither an
    answer nor a slot. Where no model answers, `fallback` does. A draft without a citation that
    stands is a refusal: the answer then has no claims (`agent/steps/settle.py` says what it is).
    """

    def __init__(
        self, ask: Ask, fallback: Ask, budget: int, max_words: int, language: str = ""
    ) -> None:
        """`budget`: tokens of evidence."""
        self._ask = ask
        self._fallback = fallback
        self._budget = budget
        self._max_words = max_words
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources or _is_refused(research):
            yield build_abstention(research)
            return
        task = WriteAnswer(
            topic=research.topic,
            slots=research.slots,
            evidence=select_passages(research.sources, slots_ranking_query(research), self._budget),
            max_words=self._max_words,
            known=_describe_filled_slots(research),
            language=self._language,
        )
        draft = yield from ask_with_fallback(task, self._ask, self._fallback)
        answer, warnings = compose_answer(draft, research.sources, self._max_words)
        yield from (Warned(message=warning) for warning in warnings)
        yield answer if answer.quotes else build_abstention(research)


def _is_refused(research: Research) -> bool:
    """Whether the last reflection says that the sources do not answer, and filled nothing."""
    reflections = research.events_of(Reflected)
    if not reflections or reflections[-1].answerable:
        return False
    return all(finding.status == "missing" for finding in reflections[-1].findings)


def _describe_filled_slots(research: Research) -> tuple[str, ...]:
    return tuple(
        f"{finding.slot}: {finding.value} [{finding.quotes[0].source}]"
        for finding in research.findings.values()
        if finding.status == "filled"
    )


def build_abstention(research: Research) -> Answered:
    """The answer of a run that found none: it says so, and names the queries."""
    return Answered(text=_describe_refusal(research), quotes=(), claims=())


def _describe_refusal(research: Research) -> str:
    """What a run without an answer says; of a stopped run the same wherever the stop came.

    So a replay gives the same sentence, though searches may have ended after the stop.
    """
    if research.is_halted and not research.sources:
        return "The run was stopped before anything was read."
    reason = "No sources were found to answer this question."
    if research.sources:
        reason = "The sources that were read do not answer this question."
    elif research.hits:
        reason = "None of the pages that were found could be read."
    return f"{reason} {describe_searches(research)}"


def describe_searches(research: Research) -> str:
    """The queries of the run in a sentence; those that a stop prevented are among them.

    So a replay of a stopped run gives the same sentence, wherever the stop came.
    """
    queries = "; ".join(research.queries)
    return f"Searched for: {queries}." if queries else "Nothing was searched."
