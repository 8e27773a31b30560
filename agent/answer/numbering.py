"""The numbers of an answer's sources: from 1, in the order in which the answer first uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent.answer.schema import Answer, Citation, SlotAnswer
from agent.evidence.citing import join_claims
from agent.state import Claim, Frozen, Operand

Numbers = Mapping[int, int]  # from the number of a source in the run to that in the answer
NUMBERED = ("claims", "citations", "closest", "slots", "report")  # fields with numbers in them


def number_sources(answer: Answer) -> dict[int, int]:
    """The new number of each source of an answer, by the number that it has in the run.

    The claims come first, then the slots, then the report.
    """
    return {old: new for new, old in enumerate(dict.fromkeys(_used_numbers(answer)), 1)}


def renumber(answer: Answer, numbers: Numbers) -> Answer:
    """The answer with other numbers for its sources, its citations sorted by them."""
    changed = {name: _renumber(getattr(answer, name), numbers) for name in NUMBERED}
    claims = changed["claims"]
    changed |= {"answer": join_claims(claims)} if claims else {}
    for name in ("citations", "closest"):
        changed[name] = tuple(sorted(changed[name], key=lambda c: (c.id, c.start, c.end, c.match)))
    return answer.model_copy(update=changed)


def renumber_slot(slot: SlotAnswer, numbers: Numbers) -> SlotAnswer:
    """A slot with other numbers for its sources; those that have none are left out."""
    made: SlotAnswer = _renumber(slot, numbers)
    return made


def _renumber(value: Any, numbers: Numbers) -> Any:
    """A value of an answer with other numbers in each field that holds numbers of sources."""
    if isinstance(value, dict):
        return {key: _renumber(item, numbers) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_renumber(item, numbers) for item in value)
    if not isinstance(value, Frozen):
        return value
    fields = {name: _renumber(getattr(value, name), numbers) for name in type(value).model_fields}
    if isinstance(value, Citation):
        fields["id"] = numbers[value.id]
    elif isinstance(value, Operand):
        fields["citation"] = numbers[value.citation]
    elif "citations" in fields:
        known = [numbers[n] for n in fields["citations"] if n in numbers]
        fields["citations"] = tuple(known if isinstance(value, Claim) else sorted(known))
    return value.model_copy(update=fields)


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
