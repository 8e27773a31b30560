"""Reflect: what the sources answer, which slots they fill, and what to search for next."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent.calls import Ask
from agent.evidence import content_words, fold
from agent.evidence.citing import has_citation
from agent.slots.conversion import slot_words
from agent.slots.grounding import ground_rows
from agent.slots.weighing import make_findings
from agent.state import (
    Answered,
    Draft,
    Event,
    Finding,
    Reflected,
    Research,
    Slot,
    Source,
    Started,
    Statement,
    Warned,
)
from agent.steps.ask_model import ask_with_fallback, begin, try_to_ask
from agent.steps.evidence_choice import select_evidence
from agent.steps.generate_queries import Recency, deduplicate_queries
from agent.steps.independent_sources import find_lone
from agent.steps.reading_tasks import (
    CheckCoverage,
    Coverage,
    Reading,
    ReadSources,
    ReadTables,
    TableReading,
)
from agent.steps.table_queries import NamedTable, answer_query, name_tables, render_tables

MAX_NEW_QUERIES = 3
MAX_MISFIT_WARNINGS = 10  # a round; of values that do not have the type of their slot


@dataclass(frozen=True)
class Reflect:
    """Fills the slots from the evidence, and makes new queries if one is missing or in conflict.

    With `max_words` the same reading drafts the answer. A value counts only if its quote has it.
    Whether to search on is computed from the slots. The reader's own opinion counts in three cases:
    no citation of its draft is found, only a slot that is not needed is missing, or a section of a
    report has no slots. Where no model answers, `fallback` does, and drafts nothing.
    """

    ask: Ask
    fallback: Ask
    budget: int  # tokens of evidence
    language: str = ""
    max_words: int | None = None  # of the answer; None: none is drafted

    def run_without_model(self, research: Research) -> Iterator[Event]:
        """The same step by `fallback` alone, for a run whose budget is used up."""
        yield from Reflect(self.fallback, self.fallback, self.budget)(research)

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield _build_reflection(research, Coverage(slots=[]))[0]
            return
        shown = self._show(research)
        tables = name_tables(research.sources, shown["evidence"]) if self.max_words else []
        found = yield from self._read(research, shown, tables)
        reflection, misfits = _build_reflection(research, found)
        if isinstance(found, TableReading) and found.statement.strip():
            computed = answer_query(found, tables, research.topic)
            if isinstance(computed, str):
                yield Warned(message=f"A query of tables was not used, since {computed}.")
            else:
                reflection = _with_computed(reflection, computed, research)
        earlier = {event.message for event in research.events_of(Warned)}
        for warning in misfits[:MAX_MISFIT_WARNINGS]:
            if warning not in earlier:
                yield Warned(message=warning)
        yield reflection

    def start(self, research: Research) -> None:
        """Begin to read without waiting: the step itself then takes what was begun."""
        if research.sources and self.max_words is None:
            begin(_check_coverage(research, self._show(research)), self.ask)

    def _show(self, research: Research) -> dict[str, Any]:
        return {
            "topic": research.topic,
            "slots": research.slots,
            "evidence": select_evidence(research, self.budget),
            "language": self.language,
        }

    def _read(
        self, research: Research, shown: dict[str, Any], tables: Sequence[NamedTable]
    ) -> Generator[Event, None, Coverage | Reading]:
        check = _check_coverage(research, shown)
        if self.max_words is None:
            return (yield from ask_with_fallback(check, self.ask, self.fallback))
        shown["max_words"] = self.max_words
        lines = tuple(render_tables(tables))
        reading: Reading | None
        if lines:
            reading = yield from try_to_ask(ReadTables(**shown, tables=lines), self.ask)
        else:
            reading = yield from try_to_ask(ReadSources(**shown), self.ask)
        return reading or (yield from ask_with_fallback(check, self.fallback, self.fallback))


def _check_coverage(research: Research, shown: dict[str, Any]) -> CheckCoverage:
    plan = research.plan
    advice = plan.model_dump(include={"question_type", "search_strategy"}) if plan else {}
    return CheckCoverage(**shown, **advice)


def _build_reflection(
    research: Research, found: Coverage | Reading
) -> tuple[Reflected, tuple[str, ...]]:
    """What this and earlier rounds found; and a warning for each value of a wrong type."""
    slots = _read_slots(research, found)
    statements, misfits = ground_rows(found.slots, slots, research.sources)
    said = research.latest_statements(*statements)
    supported = _find_supported(slots, said, research.sources)
    findings = make_findings(supported, said, research.sources, research.topic)
    draft = _take_draft(found)
    is_supported = draft is not None and has_citation(draft, research.sources)
    open_slots = _find_open(findings, research, all_missing=found.need_more or not is_supported)
    lone = find_lone(research, findings) if research.round == 1 and not open_slots else []
    open_slots += lone
    is_read_whole = draft is not None or (research.section and not research.slots)
    is_open = is_read_whole and (not is_supported or research.is_read_by_rules)
    need_more = bool(open_slots) or bool(found.need_more and is_open)
    reflection = Reflected(
        round=research.round,
        findings=findings,
        said=statements,
        answerable=found.answerable,
        draft=draft,
        need_more=need_more,
        new_queries=_make_queries(research, found.new_queries, open_slots) if need_more else (),
    )
    return reflection, misfits


def _find_supported(
    slots: Sequence[Slot], said: Sequence[Statement], sources: Sequence[Source]
) -> list[Slot]:
    """The slots that are asked for, and those that a page which fills them names."""

    def is_named(slot: Slot) -> bool:
        words = set(content_words(slot_words(slot)))
        pages = (sources[s.quote.source - 1].page for s in said if s.slot == slot.name)
        return any(words & set(content_words(f"{page.title} {page.text}")) for page in pages)

    return [slot for slot in slots if slot.is_asked or is_named(slot)]


def _read_slots(research: Research, found: Coverage | Reading) -> tuple[Slot, ...]:
    """The slots of a run; where rules read, nobody named one and a page has some, those."""
    if research.slots or not research.is_read_by_rules:
        return research.slots
    names = dict.fromkeys(row.name for row in found.slots if row.value)
    return tuple(Slot(name=name, needed=False) for name in names)


def _with_computed(reflection: Reflected, computed: Answered, research: Research) -> Reflected:
    """A reflection whose answer a query gives: it may be the one planned slot that is missing."""
    missing = [one for one in reflection.findings if one.status == "missing"]
    named = {slot for event in research.events_of(Started) for slot in event.slots}
    is_it = len(missing) == 1 and not named
    kept = tuple(one for one in reflection.findings if not (is_it and one in missing))
    changes = {"computed": computed, "findings": kept, "need_more": False, "new_queries": ()}
    return reflection.model_copy(update=changes)


def _take_draft(found: Coverage | Reading) -> Draft | None:
    """The answer of a reading, blank if by its own word the sources do not answer."""
    if not isinstance(found, Reading):
        return None
    return Draft(answer=found.answer if found.answerable else "", citations=found.citations)


def _find_open(findings: Sequence[Finding], research: Research, all_missing: bool) -> list[Finding]:
    """The findings to search for: conflicts, and what is missing if it is needed, or all of it."""
    return [
        one
        for one in findings
        if one.status == "conflict"
        or (one.status == "missing" and (all_missing or is_needed(one, research)))
    ]


def is_needed(finding: Finding, research: Research) -> bool:
    """Whether the answer is not complete without a finding, or without the list that it is of."""
    root = finding.slot.partition("[")[0]
    return any(slot.needed for slot in research.slots if slot.name.partition("[")[0] == root)


def _make_queries(
    research: Research, proposed: Sequence[str], open_slots: Sequence[Finding]
) -> tuple[str, ...]:
    """New queries: one for each conflict, then the model's, else one for each other open slot.

    None of them was made before.
    """
    made = {fold(query) for query in research.queries}
    proposed = Recency().limit_queries(proposed, research.topic)
    of_conflicts = [
        f"{research.topic} {_name_values(finding)}"
        for finding in open_slots
        if finding.status == "conflict"
    ]
    of_missing = [
        f"{research.topic} {slot_words(finding.slot)}"
        for finding in open_slots
        if finding.status != "conflict"
    ]
    settling, wanted, filling = (
        [query for query in deduplicate_queries(list(queries)) if fold(query) not in made]
        for queries in (of_conflicts, proposed, of_missing)
    )
    return deduplicate_queries([*settling, *(wanted or filling)])[:MAX_NEW_QUERIES]


def _name_values(finding: Finding) -> str:
    """A slot in conflict as a query names it: `winner Argentina or France`."""
    values = (str(value)[:80] for value in finding.values[:2])
    return f"{slot_words(finding.slot)} {' or '.join(values)}"
