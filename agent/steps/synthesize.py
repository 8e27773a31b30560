"""Synthesize: a concise answer whose every `[n]` stands on a quote that is really there."""

from __future__ import annotations

import html
from collections.abc import Iterator

from agent.evidence import select, show
from agent.evidence.citing import Draft, compose, told
from agent.outside import Ask, Task
from agent.state import Answered, Claim, Event, Research, Warned
from agent.steps.asking import CITE_RULE, DATA_RULE, answered, language_rule
from agent.steps.reflect import wanted


class WriteAnswer(Task[Draft]):
    """Asks for the answer."""

    max_words: int = 80
    known: tuple[str, ...] = ()  # the slots already settled, as `name: value [n]`

    @property
    def name(self) -> str:
        return "synthesize"

    @property
    def answer(self) -> type[Draft]:
        return Draft

    def system(self) -> str:
        return (
            f"You answer from sources, in at most {self.max_words} words. {CITE_RULE} If the "
            "topic takes for granted what the sources deny, say first what they say instead. If "
            "the sources do not answer the topic, return an empty answer and no citations. "
            f"{DATA_RULE} " + language_rule(self.language)
        )

    def prompt(self) -> str:
        topic = html.escape(self.topic, quote=False)
        known = "".join(f"\n- {html.escape(line, quote=False)}" for line in self.known)
        settled = f"\nKnown so far:{known}" if known else ""
        return f"{show(self.evidence)}\n<topic>{topic}</topic>{settled}"


class Synthesize:
    """Writes the answer and maps its citations in code: invented ones are dropped.

    With no sources no model is asked. Where no model answers, `stand_in` does.
    """

    def __init__(
        self, ask: Ask, stand_in: Ask, budget: int, max_words: int, language: str = ""
    ) -> None:
        self._ask = ask
        self._stand_in = stand_in
        self._budget = budget
        self._max_words = max_words
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield nothing_found(research)
            return
        task = WriteAnswer(
            topic=research.topic,
            slots=research.slots,
            evidence=select(research.sources, wanted(research), self._budget),
            max_words=self._max_words,
            known=_settled(research),
            language=self._language,
        )
        draft = yield from answered(task, self._ask, self._stand_in)
        answer, warnings = compose(draft, research.sources, self._max_words)
        yield from (Warned(message=warning) for warning in warnings)
        if research.halted and not answer.claims:
            answer = _so_far(research)
        yield answer if answer.claims else nothing_found(research)


def _so_far(research: Research) -> Answered:
    """What the settled facts stand on, word for word: the best that is known where a run was ended
    before its answer, and no sentence of the evidence could stand in for one."""
    settled = [found for found in research.findings.values() if found.status == "filled"]
    quotes = dict.fromkeys(found.quotes[0] for found in settled if found.quotes)
    return told([Claim(text=q.text, citations=(q.source,)) for q in quotes], quotes)


def _settled(research: Research) -> tuple[str, ...]:
    return tuple(
        f"{f.slot}: {f.value} [{f.quotes[0].source}]"
        for f in research.findings.values()
        if f.status == "filled"
    )


def nothing_found(research: Research) -> Answered:
    """Abstention: says that nothing was found and what was looked for, in our words."""
    about = "The sources that were read do not" if research.sources else "No sources were found to"
    text = f"{about} answer this question. {looked(research)}"
    return Answered(text=text, quotes=(), claims=())


def looked(research: Research) -> str:
    """What was to be searched for, in a sentence: the same in every replay of a stopped run."""
    queries = "; ".join(research.queries)
    return f"Searched for: {queries}." if queries else "Nothing was searched."


# --- from a draft to an answer ---------------------------------------------------------------
