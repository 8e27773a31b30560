"""Synthesize: a concise answer, each `[n]` of which has a quote that its source contains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from agent.calls import Ask, Task, TaskKind
from agent.evidence import render_sources
from agent.evidence.candidate_quotes import BARE, find_closest, ground_answer
from agent.evidence.citing import compose_answer, limit_citations, locate_citation
from agent.state import Answered, Draft, Event, Finding, Research, Warned
from agent.steps.ask_model import ask_with_fallback
from agent.steps.evidence_choice import select_evidence
from agent.steps.prompt_rules import ANSWER_RULE, DATA_RULE, escape, language_rule, render_topic

MOST_CLOSEST = 2  # quotes that are shown where there is no answer


class WriteAnswer(Task[Draft]):
    """Asks for the answer."""

    name: ClassVar[str] = "synthesize"
    kind: ClassVar[TaskKind] = "write"

    max_words: int = 80
    known: tuple[str, ...] = ()  # the filled slots, as `name: value [n]`

    def system_prompt(self) -> str:
        return (
            f"You answer from sources, in at most {self.max_words} words. {ANSWER_RULE} "
            f"{DATA_RULE} {language_rule(self.language)}"
        )

    def prompt(self) -> str:
        lines = "".join(f"\n- {escape(line)}" for line in self.known)
        known = f"\nKnown so far:{lines}" if lines else ""
        return f"{render_sources(self.evidence)}\n{render_topic(self)}{known}"


@dataclass(frozen=True)
class Synthesize:
    """Gives the answer that the last reading drafted, or has one written.

    A model is asked where there is no usable draft: none was made of the current sources, or slots
    are filled and the draft is blank. Where no model answers, `fallback` does. Citations whose
    quote is not in their source are dropped. Where none is left, each sentence of the last draft
    cites what fits it best, for `Verify` to judge. A blank draft is a refusal: the answer then has
    no claims (`agent/steps/resolve_conflicts.py` says what it is).
    """

    ask: Ask
    fallback: Ask
    budget: int  # tokens of evidence
    max_words: int
    language: str = ""
    max_citations: int | None = None  # of a sentence

    def __call__(self, research: Research) -> Iterator[Event]:
        if research.are_findings_current and (computed := research.reflections[-1].computed):
            yield computed
            return
        draft = research.current_draft or _BLANK
        answer, warnings = self._compose(draft, research)
        if not answer.quotes and not _is_refused(research):
            draft = yield from ask_with_fallback(
                self._build_task(research), self.ask, self.fallback
            )
            answer, warnings = self._compose(draft, research)
        if not answer.quotes and draft.answer.strip():
            bare = ground_answer(draft, research.sources, research.topic, self.max_words)
            answer, warnings = bare.answer, (BARE, *warnings)
        yield from (Warned(message=warning) for warning in warnings)
        yield answer if answer.quotes else build_abstention(research, draft)

    def _compose(self, draft: Draft, research: Research) -> tuple[Answered, tuple[str, ...]]:
        answer, warnings = compose_answer(draft, research.sources, self.max_words)
        return limit_citations(answer, self.max_citations), warnings

    def _build_task(self, research: Research) -> WriteAnswer:
        return WriteAnswer(
            topic=research.topic,
            slots=research.slots,
            evidence=select_evidence(research, self.budget),
            max_words=self.max_words,
            known=_describe_filled_slots(research),
            language=self.language,
        )


_BLANK = Draft(answer="")


def _is_refused(research: Research) -> bool:
    """Whether nothing was read, or the last reader found neither an answer nor a slot."""
    if not research.sources:
        return True
    reflections = research.reflections
    if not reflections or any(one.status != "missing" for one in reflections[-1].findings):
        return False
    return not reflections[-1].answerable or research.current_draft is not None


def _describe_filled_slots(research: Research) -> tuple[str, ...]:
    """Each filled slot; of several things of one name, each with what it is of."""
    filled = [one for one in research.findings.values() if one.status == "filled"]
    return tuple(line for finding in filled for line in _describe_values(finding))


def _describe_values(finding: Finding) -> Iterator[str]:
    values = [(finding.of, finding.value, finding.quotes[0].source)]
    values += [(o.of, o.value, o.citations[0]) for o in finding.alternatives if o.of != finding.of]
    for of, value, n in values:
        name = f"{finding.slot} ({of})" if of not in ("", value) else finding.slot
        yield f"{name}: {value} [{n}]"


def build_abstention(research: Research, draft: Draft | None = None, text: str = "") -> Answered:
    """The answer of a run that found none: it says so in a `text`, and names the queries.

    What a draft without an answer cites is what came closest to one; by default the last draft.
    Else it is the sentence that fits the topic best.
    """
    draft = draft or research.current_draft or _BLANK
    cited = draft.citations if not draft.answer.strip() else ()
    located = [quote for one in cited for quote in locate_citation(one, research.sources)]
    if not located and (nearest := find_closest(research.sources, research.topic)):
        located.append(nearest)
    return Answered(
        text=f"{text} {describe_searches(research)}" if text else _describe_refusal(research),
        quotes=(),
        claims=(),
        closest=tuple(dict.fromkeys(located))[:MOST_CLOSEST],
    )


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
    """What was searched for, in the user's words; what a stop prevented is counted.

    So a replay of a stopped run gives the same sentence, wherever the stop came.
    """
    more = len(dict.fromkeys(research.queries)) - 1
    others = f" (and {more} other {'search' if more == 1 else 'searches'})" if more > 0 else ""
    return (
        f"Searched for: {research.topic}{others}" if research.queries else "Nothing was searched."
    )
