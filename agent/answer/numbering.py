"""The numbers of an answer's sources: from 1, in the order in which the answer first uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from agent.answer.schema import Answer, Citation, SlotAnswer
from agent.evidence.citing import join_claims
from agent.state import Alternative, Claim

Numbers = Mapping[int, int]  # from the number of a source in the run to that in the answer
CitingT = TypeVar("CitingT", Claim, SlotAnswer, Alternative)


def number_sources(answer: Answer) -> dict[int, int]:
    """The new number of each source of an answer, by the number that it has in the run.

    The claims come first, then the slots, then the report.
    """
    return {old: new for new, old in enumerate(dict.fromkeys(_used_numbers(answer)), 1)}


def renumber(answer: Answer, numbers: Numbers) -> Answer:
    """The answer with other numbers for its sources, its citations sorted by them."""
    claims = _renumber_claims(answer.claims, numbers)
    report = answer.report
    if report:
        sections = tuple(
            one.model_copy(update={"sentences": _renumber_claims(one.sentences, numbers)})
            for one in report.sections
        )
        conflicts = _renumber_claims(report.conflicts, numbers)
        report = report.model_copy(update={"sections": sections, "conflicts": conflicts})
    changes = {
        "answer": join_claims(claims) if claims else answer.answer,
        "claims": claims,
        "citations": _renumber_citations(answer.citations, numbers),
        "closest": _renumber_citations(answer.closest, numbers),
        "slots": {name: renumber_slot(slot, numbers) for name, slot in answer.slots.items()},
        "report": report,
    }
    return answer.model_copy(update=changes)


def _used_numbers(answer: Answer) -> Iterator[int]:
    yield from (n for claim in answer.claims for n in claim.citations)
    for slot in answer.slots.values():  # those of the value before those of its alternatives
        others = [n for alternative in slot.alternatives for n in alternative.citations]
        yield from (n for n in slot.citations if n not in others)
        yield from (*others, *slot.citations)
    report = answer.report
    sentences = [one for section in report.sections for one in section.sentences] if report else []
    for claim in (*sentences, *(report.conflicts if report else ())):
        yield from claim.citations
    yield from (citation.id for citation in (*answer.citations, *answer.closest))


def _renumber_citations(some: tuple[Citation, ...], numbers: Numbers) -> tuple[Citation, ...]:
    cited = (one.model_copy(update={"id": numbers[one.id]}) for one in some)
    return tuple(sorted(cited, key=lambda c: (c.id, c.start, c.end, c.match)))


def _renumber_claims(claims: tuple[Claim, ...], numbers: Numbers) -> tuple[Claim, ...]:
    return tuple(
        claim.model_copy(
            update={
                "citations": tuple(numbers[n] for n in claim.citations),
                "calculation": claim.calculation and claim.calculation.renumber(numbers),
            }
        )
        for claim in claims
    )


def renumber_slot(slot: SlotAnswer, numbers: Numbers) -> SlotAnswer:
    """A slot with other numbers for its sources; those that have none are left out."""
    alternatives = tuple(_sort_numbers(one, numbers) for one in slot.alternatives)
    return _sort_numbers(slot, numbers).model_copy(update={"alternatives": alternatives})


def _sort_numbers(cited: CitingT, numbers: Numbers) -> CitingT:
    known = sorted(numbers[n] for n in cited.citations if n in numbers)
    return cited.model_copy(update={"citations": tuple(known)})
