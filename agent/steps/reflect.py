"""Reflect: which slots are filled, missing or in conflict, and what to search for next."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field, field_validator

from agent.evidence import anchor, fold, select, sentences, show, words
from agent.outside import Ask, Task
from agent.research import Event, Finding, Frozen, Quote, Reflected, Research, Slot, Source
from agent.steps import DATA_RULE, answered, language_rule
from agent.steps.generate_queries import distinct

MOST_NEW_QUERIES = 3
#: Share of a value's words that its quote, or else its source, must hold. A paraphrase such as
#: "4-2 on penalties" for "4-2 in the shoot-out" passes, a value from memory does not.
HELD = 0.6


class SlotValue(Frozen):
    """What the sources say of a slot."""

    name: str
    value: str | None = Field(None, description="null if no source says it")
    source: int | None = Field(None, description="id of the source")
    quote: str = Field("", description="the words of that source that say it, verbatim")

    @field_validator("value", mode="before")
    @classmethod
    def _one_value(cls, value: Any) -> Any:
        if isinstance(value, list):
            return ", ".join(str(item) for item in value)
        return str(value) if isinstance(value, int | float) else value

    @field_validator("source", mode="before")
    @classmethod
    def _one_source(cls, value: Any) -> Any:
        number = re.search(r"\d{1,6}", str(value))
        return int(number[0]) if number else None

    @field_validator("quote", mode="before")
    @classmethod
    def _some_quote(cls, value: Any) -> Any:
        return value or ""


class Coverage(Frozen):
    """What is known of each slot, and what to search for next."""

    slots: list[SlotValue] = Field(
        description="one row a slot; a second row where another source gives another value"
    )
    need_more: bool = Field(False, description="whether a slot is missing or in conflict")
    new_queries: list[str] = Field(
        default_factory=list, description="1 to 3 targeted queries when more is needed"
    )


class CheckCoverage(Task[Coverage]):
    """Asks what the evidence says of each slot."""

    @property
    def name(self) -> str:
        return "reflect"

    @property
    def answer(self) -> type[Coverage]:
        return Coverage

    def system(self) -> str:
        return (
            "You check what is known. For each slot give the value that the sources state, the "
            "source's id and the words that say it, copied exactly; null if no source says it. "
            "When a slot is missing or sources disagree, give 1 to 3 new search queries that "
            f"would settle it; use what the sources name. {DATA_RULE} "
            + language_rule(self.language)
        )

    def prompt(self) -> str:
        slots = "\n".join(
            html.escape(f"- {slot.name}: {slot.description}", quote=False) for slot in self.slots
        )
        topic = html.escape(self.topic, quote=False)
        return f"{show(self.evidence)}\n<topic>{topic}</topic>\nSlots:\n{slots}"


class Reflect:
    """Fills the slots from the evidence, and asks for more where one is missing or in conflict.

    A value counts only if its words stand in a source; a reply cannot end or prolong the search
    against what its slots say. Where no model answers, `stand_in` does.
    """

    def __init__(self, ask: Ask, stand_in: Ask, budget: int, language: str = "") -> None:
        self._ask = ask
        self._stand_in = stand_in
        self._budget = budget
        self._language = language

    def without_model(self, research: Research) -> Iterator[Event]:
        """The same by `stand_in` alone, as when nothing may be spent any more."""
        yield from Reflect(self._stand_in, self._stand_in, self._budget)(research)

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield _reflected(research, Coverage(slots=[]))
            return
        task = CheckCoverage(
            topic=research.topic,
            slots=research.slots,
            evidence=select(research.sources, wanted(research), self._budget),
            language=self._language,
        )
        coverage = yield from answered(task, self._ask, self._stand_in)
        yield _reflected(research, coverage)


def wanted(research: Research) -> str:
    """What evidence is ranked by: the topic, and what the slots ask for."""
    slots = " ".join(f"{slot.name.replace('_', ' ')} {slot.description}" for slot in research.slots)
    return f"{research.topic} {slots}"


def _reflected(research: Research, coverage: Coverage) -> Reflected:
    known = research.findings
    findings = []
    for slot in research.slots:
        found = finding(slot, coverage.slots, research.sources)
        findings.append(known[slot.name] if found.status == "missing" else found)
    open_slots = [f for f in findings if f.status != "filled"]
    queries = _targeted(research, coverage, [f.slot for f in open_slots]) if open_slots else ()
    return Reflected(
        round=research.round,
        findings=tuple(findings),
        need_more=bool(open_slots),
        new_queries=queries,
    )


def _targeted(research: Research, coverage: Coverage, missing: list[str]) -> tuple[str, ...]:
    """New queries: the model's that were not asked before, else one for each missing slot."""
    before = {fold(query)[0] for query in research.queries}
    named = {slot.name: slot for slot in research.slots}
    own = [f"{research.topic} {_words(named[name])}" for name in missing]
    for queries in (coverage.new_queries, own):
        fresh = [query for query in distinct(queries) if fold(query)[0] not in before]
        if fresh:
            return tuple(fresh[:MOST_NEW_QUERIES])
    return ()


def _words(slot: Slot) -> str:
    return slot.name.replace("_", " ")


def finding(slot: Slot, rows: Sequence[SlotValue], sources: Sequence[Source]) -> Finding:
    """A slot as its rows and the sources have it. What no source says is missing."""
    values: dict[str, list[tuple[str, Quote]]] = {}
    for row in rows:
        if row.name.casefold() == slot.name.casefold() and row.value and row.value.strip():
            quote = _grounded(row.value, row, sources)
            if quote:
                values.setdefault(fold(row.value)[0], []).append((row.value.strip(), quote))
    if not values:
        return Finding(slot=slot.name, status="missing")
    best, *others = sorted(values.values(), key=lambda said: -len({q.source for _, q in said}))
    return Finding(
        slot=slot.name,
        status="conflict" if others else "filled",
        value=best[0][0],
        quotes=tuple(quote for said in (best, *others) for _, quote in said),
        alternatives=tuple(said[0][0] for said in others),
    )


def _grounded(value: str, row: SlotValue, sources: Sequence[Source]) -> Quote | None:
    """The quote that holds a value: the model's, or a sentence of the source it named."""
    named = [source for source in sources if source.n == row.source]
    for source in (*named, *(s for s in sources if s.n != row.source)):
        quote = anchor(row.quote, source)
        if quote and (_held(value, quote.text) or _held(value, source.page.text)):
            return quote
    return next((quote for s in named if (quote := _sentence_with(value, s))), None)


def _sentence_with(value: str, source: Source) -> Quote | None:
    place = anchor(value, source)
    if place is None:
        return None
    for start, end in sentences(source.page.text):
        if start <= place.start and place.end <= end:
            return anchor(source.page.text[start:end], source)
    return place


def _held(value: str, text: str) -> bool:
    parts = words(value) or fold(value)[0].split()
    there = set(words(text)) | set(fold(text)[0].split())
    return sum(part in there for part in parts) >= HELD * len(parts)
