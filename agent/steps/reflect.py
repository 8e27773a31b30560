"""Reflect: which slots are filled, missing or in conflict, and what to search for next."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic import Field

from agent.evidence import fold, render_sources, select_passages
from agent.outside import Ask, Task
from agent.slots.forms import slot_words
from agent.slots.grounding import ground_rows
from agent.slots.rows import SlotValue
from agent.slots.weighing import make_findings
from agent.state import Event, Finding, Frozen, Reflected, Research, Slot, Warned
from agent.steps.asking import ask_with_fallback
from agent.steps.generate_queries import deduplicate_queries
from agent.steps.prompt_rules import DATA_RULE, escape, language_rule, render_topic

MAX_NEW_QUERIES = 3
MAX_MISFIT_WARNINGS = 10  # a round; of values that do not have the type of their slot


class Coverage(Frozen):
    """Whether the sources answer, what they say of each slot, and what to search for next."""

    answerable: bool = Field(
        default=True, description="whether the sources say what the topic asks for"
    )
    slots: list[SlotValue] = Field(
        description="one row a slot; a second row where another source gives another value"
    )
    need_more: bool = Field(default=False, description="whether a slot is missing or in conflict")
    new_queries: list[str] = Field(
        default_factory=list, description="1 to 3 targeted queries when more is needed"
    )


class CheckCoverage(Task[Coverage]):
    """Asks what the evidence says of each slot."""

    name: ClassVar[str] = "reflect"

    def system_prompt(self) -> str:
        return (
            "You check what is known. Say first whether the sources answer the topic. For each "
            "slot give the value in the words of its source, the source's id and the sentence that "
            "says it, copied exactly, with the value in it; null if no source says it. "
            f"Where sources disagree, give a row for each of them. {self._list_rule()}"
            "When a slot is missing or sources disagree, give 1 to 3 new search queries that "
            f"would settle it; use what the sources name. {DATA_RULE} "
            + language_rule(self.language)
        )

    def _list_rule(self) -> str:
        """How to give the items of lists; "" where no slot is in a list."""
        if not any("[]" in slot.name for slot in self.slots):
            return ""
        return (
            "A name with [] is a list: give its items as [0], [1] and so on, a row for each leaf "
            "of each item; the same number is the same item, whichever source tells of it. "
        )

    def prompt(self) -> str:
        slots = "\n".join(escape(_describe_slot(slot)) for slot in self.slots)
        return f"{render_sources(self.evidence)}\n{render_topic(self.topic)}\nSlots:\n{slots}"


class Reflect:
    """Fills the slots from the evidence, and makes new queries if one is missing or in conflict.

    A value counts only if it stands in the words that are quoted for it. Whether to search on is
    computed from the slots; what the reply says of it does not count. Where no model answers,
    `fallback` does.
    """

    def __init__(self, ask: Ask, fallback: Ask, budget: int, language: str = "") -> None:
        """`budget`: tokens of evidence."""
        self._ask = ask
        self._fallback = fallback
        self._budget = budget
        self._language = language

    def run_without_model(self, research: Research) -> Iterator[Event]:
        """The same step by `fallback` alone, for a run whose budget is used up."""
        yield from Reflect(self._fallback, self._fallback, self._budget)(research)

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield _build_reflection(research, Coverage(slots=[]))[0]
            return
        task = CheckCoverage(
            topic=research.topic,
            slots=research.slots,
            evidence=select_passages(research.sources, slots_ranking_query(research), self._budget),
            language=self._language,
        )
        coverage = yield from ask_with_fallback(task, self._ask, self._fallback)
        reflection, misfits = _build_reflection(research, coverage)
        earlier = {event.message for event in research.events_of(Warned)}
        for warning in misfits[:MAX_MISFIT_WARNINGS]:
            if warning not in earlier:
                yield Warned(message=warning)
        yield reflection


def _describe_slot(slot: Slot) -> str:
    """A slot as the prompt names it, with the type, options and limits of its values."""
    form = slot.form
    types = {"text": "", "date": "date as YYYY-MM-DD", "date-time": "date-time with its zone"}
    types |= {kind: f"{kind}, digits alone" for kind in ("integer", "number")}
    parts = [types.get(form.type, form.type)]
    if form.options:
        parts = [f"one of {json.dumps(form.options, ensure_ascii=False)}"]
    parts += [f"{key} {value}" for key, value in form.limits.items()]
    shape = f" ({', '.join(parts)})" if parts[0] else ""
    return f"- {slot.name}{shape}: {slot.description}"


def slots_ranking_query(research: Research) -> str:
    """The text by which evidence is ranked: the topic and the slots."""
    slots = " ".join(f"{slot_words(slot)} {slot.description}" for slot in research.slots)
    return f"{research.topic} {slots}"


def _build_reflection(research: Research, coverage: Coverage) -> tuple[Reflected, tuple[str, ...]]:
    """What this and earlier rounds found; and a warning for each value of a wrong type."""
    statements, misfits = ground_rows(coverage.slots, research.slots, research.sources)
    findings = make_findings(
        research.slots, research.latest_statements(*statements), research.sources
    )
    open_slots = [finding for finding in findings if finding.status != "filled"]
    reflection = Reflected(
        round=research.round,
        findings=findings,
        said=statements,
        answerable=coverage.answerable,
        need_more=bool(open_slots),
        new_queries=_make_queries(research, coverage, open_slots) if open_slots else (),
    )
    return reflection, misfits


def _make_queries(
    research: Research, coverage: Coverage, open_slots: Sequence[Finding]
) -> tuple[str, ...]:
    """New queries: one for each conflict, then the model's, else one for each missing slot.

    None of them was made before.
    """
    made = {fold(query) for query in research.queries}
    of_conflicts = [
        f"{research.topic} {_name_values(finding)}"
        for finding in open_slots
        if finding.status == "conflict"
    ]
    of_missing = [
        f"{research.topic} {slot_words(finding.slot)}"
        for finding in open_slots
        if finding.status == "missing"
    ]
    settling, proposed, filling = (
        [query for query in deduplicate_queries(queries) if fold(query) not in made]
        for queries in (of_conflicts, coverage.new_queries, of_missing)
    )
    return deduplicate_queries([*settling, *(proposed or filling)])[:MAX_NEW_QUERIES]


def _name_values(finding: Finding) -> str:
    """A slot in conflict as a query names it: `winner Argentina or France`."""
    values = [finding.value, *(other.value for other in finding.alternatives)]
    return f"{slot_words(finding.slot)} {' or '.join(str(value)[:80] for value in values[:2])}"
