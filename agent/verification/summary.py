"""The summary of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.evidence import fold
from agent.state import HOLDING, Claim, Report, Section


def said_as(claim: Claim) -> str:
    """What two claims have in common that say the same in the same words."""
    return fold(f"{claim.intro} {claim.text}" if claim.form == "row" else claim.text).rstrip(
        " .!。！"
    )


def first_sentences(themes: Iterable[Section]) -> Iterator[Claim]:
    """The fallback summary of a report: from each section one sentence that holds."""
    for claims in (theme.claims for theme in themes if theme.claims):
        yield min(claims, key=lambda one: (one.form == "row", one.verdict not in HOLDING))


def holds(summary: Iterable[Claim], report: Report) -> bool:
    """Whether a summary holds: it has a sentence that holds if its sections have one."""
    claims = (claim for theme in report.themes for claim in theme.claims)
    has_sure = any(claim.verdict in HOLDING for claim in claims)
    return any(one.verdict in (*HOLDING, "unchecked") or not has_sure for one in summary)


def leave_conflicts(report: Report) -> Report:
    """A report whose sections have no side of its conflicts: these have a section of their own."""
    sides = {said_as(claim) for claim in report.conflicts}

    def leave(theme: Section) -> Section:
        claims = tuple(claim for claim in theme.claims if said_as(claim) not in sides)
        return theme.model_copy(update={"claims": claims})

    return report.model_copy(update={"themes": tuple(map(leave, report.themes))})
