"""The summary of a report beside its sections: no sentence is told in both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.evidence import fold
from agent.evidence.words import opens_with_pronoun
from agent.state import Claim, Report, Section


def said_as(claim: Claim) -> str:
    """What two claims have in common that say the same in the same words."""
    return fold(f"{claim.intro} {claim.text}" if claim.form == "row" else claim.text).rstrip(
        " .!。！"
    )


def first_sentences(themes: Iterable[Section]) -> Iterator[Claim]:
    """What sums up a report where nothing else does: a proved sentence of each section, no row."""
    for claims in (theme.claims for theme in themes if theme.claims):
        yield min(claims, key=lambda one: (one.form == "row", one.verdict != "supported"))


def holds(summary: Iterable[Claim], report: Report) -> bool:
    """Whether a summary stands: not where its sections say something proved, and it nothing."""
    told = (claim for theme in report.themes for claim in theme.claims)
    is_proved = any(claim.verdict == "supported" for claim in told)
    return any(claim.verdict in ("supported", "unchecked") or not is_proved for claim in summary)


def tell_once(summary: tuple[Claim, ...], report: Report) -> tuple[tuple[Claim, ...], Report]:
    """A summary and its report, where both have nothing in the same words.

    Sides of a conflict are left out of sections. A sentence of the summary is left out of a section
    of which more is left; else of the summary, of which at least the first sentence is left.
    """
    themes = [_leave_out(theme, report.conflicts) for theme in report.themes]
    kept = [left if (left := _leave_out(one, summary)).claims else one for one in themes]
    told = {said_as(claim) for theme in kept for claim in theme.claims}
    apart = tuple(claim for claim in summary if said_as(claim) not in told)
    if not apart:
        apart = summary[:1]
        pairs = [(_leave_out(theme, apart), theme) for theme in kept]
        kept = [left for left, theme in pairs if left.claims or left.open or not theme.claims]
    return apart, report.model_copy(update={"themes": tuple(kept)})


def _leave_out(theme: Section, elsewhere: tuple[Claim, ...]) -> Section:
    """A section without sentences that are told elsewhere.

    What speaks of such a sentence by a pronoun goes with it.
    """
    said = {said_as(claim) for claim in elsewhere}
    left: list[Claim] = []
    is_left_out = False
    for claim in theme.claims:
        is_bound = is_left_out and opens_with_pronoun(claim.text)
        if not (is_left_out := is_bound or said_as(claim) in said):
            left.append(claim)
    return theme.model_copy(update={"claims": tuple(left)})
