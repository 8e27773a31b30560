"""The numbers of an answer's sources: from 1, in the order in which the answer first uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agent.answer.report import ReportAnswer
from agent.answer.schema import Answer, SlotAnswer
from agent.evidence.citing import join_claims
from agent.state import Claim

Numbers = Mapping[int, int]  # from the number of a source in the run to that in the answer


def number_sources(answer: Answer) -> dict[int, int]:
    """The new number of each source of an answer, by the number that it has in the run.

    The claims come first, then the slots, then the report.
    """
    return {old: new for new, old in enumerate(dict.fromkeys(_used_numbers(answer)), 1)}


def renumber(answer: Answer, numbers: Numbers) -> Answer:
    """The answer with other numbers for its sources, its citations sorted by them."""
    claims = _renumber_claims(answer.claims, numbers)
    cited = (c.model_copy(update={"id": numbers[c.id]}) for c in answer.citations)
    changes = {
        "answer": join_claims(claims) if claims else answer.answer,
        "claims": claims,
        "citations": tuple(sorted(cited, key=lambda c: (c.id, c.start, c.end, c.match))),
        "slots": {name: _renumber_slot(slot, numbers) for name, slot in answer.slots.items()},
        "report": answer.report and _renumber_report(answer.report, numbers),
    }
    return answer.model_copy(update=changes)


def _used_numbers(answer: Answer) -> Iterator[int]:
    for claim in answer.claims:
        yield from claim.citations
    for slot in answer.slots.values():
        yield from _slot_numbers(slot)
    for claim in _report_claims(answer.report):
        yield from claim.citations
    yield from (citation.id for citation in answer.citations)


def _slot_numbers(slot: SlotAnswer) -> Iterator[int]:
    """Those of the value before those of its alternatives."""
    others = [n for alternative in slot.alternatives for n in alternative.citations]
    yield from (n for n in slot.citations if n not in others)
    yield from others
    yield from slot.citations


def _report_claims(report: ReportAnswer | None) -> Iterator[Claim]:
    if report:
        for section in report.sections:
            yield from section.sentences
        yield from report.conflicts


def _renumber_claims(claims: Iterable[Claim], numbers: Numbers) -> tuple[Claim, ...]:
    return tuple(
        claim.model_copy(update={"citations": tuple(numbers[n] for n in claim.citations)})
        for claim in claims
    )


def _renumber_slot(slot: SlotAnswer, numbers: Numbers) -> SlotAnswer:
    alternatives = tuple(
        one.model_copy(update={"citations": _sort_numbers(one.citations, numbers)})
        for one in slot.alternatives
    )
    changes = {"citations": _sort_numbers(slot.citations, numbers), "alternatives": alternatives}
    return slot.model_copy(update=changes)


def _sort_numbers(old: Iterable[int], numbers: Numbers) -> tuple[int, ...]:
    return tuple(sorted(numbers[n] for n in old))


def _renumber_report(report: ReportAnswer, numbers: Numbers) -> ReportAnswer:
    sections = tuple(
        section.model_copy(update={"sentences": _renumber_claims(section.sentences, numbers)})
        for section in report.sections
    )
    conflicts = _renumber_claims(report.conflicts, numbers)
    return report.model_copy(update={"sections": sections, "conflicts": conflicts})
