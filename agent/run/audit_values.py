"""The audit of what an answer computes from its pages: results of queries, slots and `data`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.answer.schema import Answer, Citation
from agent.evidence.text_tables import find_tables
from agent.run.journal_evidence import JournalEvidence
from agent.slots.conversion import holds_value
from agent.slots.slot_data import data_differences
from agent.state import Claim, Hit, Source
from agent.steps.table_queries import (
    HEADING,
    NamedTable,
    describe_query,
    run_statement,
    show_columns,
)
from agent.verification.rules import Assessment, decide_value

#: Where in a result, as a path, and what is wrong there.
Failure = tuple[str, str]


def find_cited(numbers: Sequence[int], answer: Answer) -> list[Citation]:
    """The citations of these numbers."""
    return [citation for citation in answer.citations if citation.id in numbers]


def find_query_fault(claim: Claim, cited: Sequence[Citation], evidence: JournalEvidence) -> str:
    """Why a claim is not what its SELECT gives over the tables of its pages; "" where it is."""
    made = claim.calculation
    pages = {one.id: evidence.pages.get(one.page_sha256, []) for one in cited}
    if made is None or (claim.verdict, claim.by) != ("supported", "calculation"):
        return "it is not supported by its calculation"
    tables = []
    for operand in made.operands:
        name, is_heading, _ = operand.text.partition(HEADING)
        for page in pages.get(operand.citation, [])[:1] if is_heading else ():
            source = Source(n=operand.citation, page=page, hit=Hit(url=page.url))
            found = find_tables(page.text)
            tables += [
                NamedTable(name, source, t) for t in found if t.heading.start == operand.start
            ]
    result = run_statement(made.expression, tables)
    if isinstance(result, str):
        return result
    own = describe_query(made.expression, result, tables)
    is_said = all(shown in claim.text for shown in show_columns(result))
    return "" if own == made and is_said else "it is not what its SELECT gives"


def check_slots(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    """Every value and every alternative must be in a quote that is cited for it."""
    for name, slot in answer.slots.items():
        if (slot.value is None) != (slot.status == "missing"):
            yield f"slots.{name}.status", f"it is {slot.status}, and its value {slot.value!r}"
        values = [("", slot.value, slot.citations)]
        for i, alternative in enumerate(slot.alternatives):
            values.append((f".alternatives[{i}]", alternative.value, alternative.citations))
        for path, value, cited in values:
            quotes = [(one.quote, one.title) for one in find_cited(cited, answer)]
            if value is not None and not any(holds_value(q, value, t) for q, t in quotes):
                yield f"slots.{name}{path}.value", "none of its quotes has it"
        stated = Assessment(slot.verdict, slot.by)
        places = evidence.quote_places(find_cited(slot.citations, answer))
        if stated != decide_value(str(slot.value), places, stated if slot.by else None):
            yield f"slots.{name}.verdict", f"{slot.verdict} is not what checking it says"


def check_data(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    """The plain object must have the values of the slots and keep the schema of the run."""
    if evidence.slots_schema is not None and answer.data is None:
        yield "data", "the run had a schema of slots, and there is no data"
    if answer.data is not None:
        values = {name: slot.value for name, slot in answer.slots.items()}
        for path, message in data_differences(answer.data, values, evidence.slots_schema):
            yield f"data.{path}".rstrip("."), message
