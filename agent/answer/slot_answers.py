"""The slots of an answer, from what was found for each."""

from __future__ import annotations

from collections.abc import Mapping

from agent.answer.numbering import renumber_slot
from agent.answer.schema import SlotAnswer
from agent.answer.status import is_of
from agent.slots.weighing import rate_confidence
from agent.state import Finding, Research


def build_slot_answers(research: Research) -> dict[str, SlotAnswer]:
    """The findings so far, while the run goes on. Sources have no numbers before the answer."""
    return {
        name: renumber_slot(slot, {})
        for name, slot in build_slots(research, research.findings).items()
    }


def build_slots(research: Research, findings: Mapping[str, Finding]) -> dict[str, SlotAnswer]:
    needed = {slot.name for slot in research.slots if slot.needed}
    return {
        name: SlotAnswer(
            value=finding.value,
            status=finding.status,
            citations=tuple(sorted({quote.source for quote in finding.quotes})),
            confidence=rate_confidence(finding),
            verdict=finding.verdict,
            by=finding.by,
            weight=finding.weight,
            alternatives=finding.alternatives,
            of=finding.of,
            unasked=not is_of(finding, needed),
        )
        for name, finding in findings.items()
    }
