"""Reflect: which slots are filled, missing or in conflict, and what to search for next."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence

from pydantic import Field

from agent.evidence import fold, select, show
from agent.outside import Ask, Task
from agent.slots.forms import spoken
from agent.slots.grounding import grounded
from agent.slots.rows import SlotValue
from agent.slots.weighing import findings
from agent.state import Event, Finding, Frozen, Reflected, Research, Slot, Warned
from agent.steps.asking import DATA_RULE, answered, language_rule
from agent.steps.generate_queries import distinct

MOST_NEW_QUERIES = 3
MOST_MISFITS = 10  # values without the form of their slot that are warned of, a round


class Coverage(Frozen):
    """What is known of each slot, and what to search for next."""

    slots: list[SlotValue] = Field(
        description="one row a slot; a second row where another source gives another value"
    )
    need_more: bool = Field(default=False, description="whether a slot is missing or in conflict")
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
            f"Where sources disagree, give a row for each of them. {self._items()}"
            "When a slot is missing or sources disagree, give 1 to 3 new search queries that "
            f"would settle it; use what the sources name. {DATA_RULE} "
            + language_rule(self.language)
        )

    def _items(self) -> str:
        """What is said of lists, where there are any."""
        if not any("[]" in slot.name for slot in self.slots):
            return ""
        return (
            "A name with [] is a list: give its items as [0], [1] and so on, a row for each leaf "
            "of each item; the same number is the same item, whichever source tells of it. "
        )

    def prompt(self) -> str:
        slots = "\n".join(html.escape(_described(slot), quote=False) for slot in self.slots)
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
            yield _reflected(research, Coverage(slots=[]))[0]
            return
        task = CheckCoverage(
            topic=research.topic,
            slots=research.slots,
            evidence=select(research.sources, wanted(research), self._budget),
            language=self._language,
        )
        coverage = yield from answered(task, self._ask, self._stand_in)
        reflected, misfits = _reflected(research, coverage)
        told = {event.message for event in research.of(Warned)}
        yield from (Warned(message=m) for m in misfits[:MOST_MISFITS] if m not in told)
        yield reflected


def _described(slot: Slot) -> str:
    """A slot as the prompt tells it: with its form, where it has one."""
    form = slot.form
    told = {"text": "", "date": "date as YYYY-MM-DD", "date-time": "date-time with its zone"}
    told |= {kind: f"{kind}, digits alone" for kind in ("integer", "number")}
    parts = [told.get(form.type, form.type)]
    if form.options:
        parts = [f"one of {json.dumps(form.options, ensure_ascii=False)}"]
    parts += [f"{key} {value}" for key, value in form.limits.items()]
    shape = f" ({', '.join(parts)})" if parts[0] else ""
    return f"- {slot.name}{shape}: {slot.description}"


def wanted(research: Research) -> str:
    """What evidence is ranked by: the topic, and what the slots ask for."""
    slots = " ".join(f"{spoken(slot)} {slot.description}" for slot in research.slots)
    return f"{research.topic} {slots}"


def _reflected(research: Research, coverage: Coverage) -> tuple[Reflected, tuple[str, ...]]:
    """What is known now, with what earlier rounds found; and the values that had no such form."""
    said, misfits = grounded(coverage.slots, research.slots, research.sources)
    found = findings(research.slots, research.said(*said), research.sources)
    open_slots = [finding for finding in found if finding.status != "filled"]
    queries = _targeted(research, coverage, open_slots) if open_slots else ()
    reflected = Reflected(
        round=research.round,
        findings=found,
        said=said,
        need_more=bool(open_slots),
        new_queries=queries,
    )
    return reflected, misfits


def _targeted(
    research: Research, coverage: Coverage, open_slots: Sequence[Finding]
) -> tuple[str, ...]:
    """New queries: one for each conflict, then the model's, or else one for each missing slot.

    None of them was asked before.
    """
    before = {fold(query)[0] for query in research.queries}
    disputed = [f"{research.topic} {_dispute(f)}" for f in open_slots if f.status == "conflict"]
    own = [f"{research.topic} {spoken(f.slot)}" for f in open_slots if f.status == "missing"]
    fresh = [
        [query for query in distinct(queries) if fold(query)[0] not in before]
        for queries in (disputed, coverage.new_queries, own)
    ]
    return distinct([*fresh[0], *(fresh[1] or fresh[2])])[:MOST_NEW_QUERIES]


def _dispute(finding: Finding) -> str:
    """A slot in conflict as a query names it: `winner Argentina or France`."""
    values = [finding.value, *(other.value for other in finding.alternatives)]
    return f"{spoken(finding.slot)} {' or '.join(str(value)[:80] for value in values[:2])}"
