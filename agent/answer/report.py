"""The report object of an answer: what the draft says, with numbers counted from the run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from typing import Literal

from pydantic import Field

from agent.state import Claim, Composed, Frozen, PageRead, Research


class Methodology(Frozen):
    """How the report came about. `candidates` are the pages that searching found."""

    question: str
    searches: tuple[str, ...] = Field(description="every search, once, in order")
    candidates: int
    analysed: int = Field(description="pages that were read")
    snippets: int = Field(description="pages of which only the search's snippet was read")
    blocked: int
    failed: int


class ReportSection(Frozen):
    """Sentences under their heading."""

    heading: str
    sentences: tuple[Claim, ...]


class ReportAnswer(Frozen):
    """The report beside its executive summary, which is the answer itself.

    `markdown` is made of these values, the answer's claims and its citations, and of nothing else.
    """

    title: str
    markdown: str = ""
    methodology: Methodology
    sections: tuple[ReportSection, ...]
    conflicts: tuple[Claim, ...]
    confidence: Literal["Low", "Medium", "High"]
    rationale: str


def report(research: Research, *, blocked: int, failed: int) -> ReportAnswer | None:
    """The report of a run, its Markdown not yet written; None where the answer has none.

    A citation with no quote behind it is not in it, nor is a marker where nothing is cited.
    """
    answered = research.answer
    if answered is None or answered.report is None:
        return None
    draft = answered.report
    known = {quote.source for quote in answered.quotes}
    return ReportAnswer(
        title=_bare(draft.title) or research.topic,
        methodology=_methodology(research, blocked, failed),
        sections=tuple(
            ReportSection(heading=_bare(theme.heading), sentences=_quoted(theme.claims, known))
            for theme in draft.themes
        ),
        conflicts=_quoted(draft.conflicts, known),
        confidence=draft.confidence,
        rationale=_bare(draft.rationale),
    )


def cited(answered: Composed) -> set[int]:
    """The sources that an answer and its report cite."""
    claims = [*answered.claims]
    if answered.report:
        claims += answered.report.conflicts
        claims += (claim for theme in answered.report.themes for claim in theme.claims)
    return {n for claim in claims for n in claim.citations}


def _quoted(claims: Iterable[Claim], known: Set[int]) -> tuple[Claim, ...]:
    return tuple(
        claim.model_copy(update={"citations": tuple(n for n in claim.citations if n in known)})
        for claim in claims
    )


def _methodology(research: Research, blocked: int, failed: int) -> Methodology:
    via = [event.page.via for event in research.of(PageRead)]
    return Methodology(
        question=research.topic,
        searches=research.searches,
        candidates=len(research.hits),
        analysed=via.count("page"),
        snippets=via.count("snippet"),
        blocked=blocked,
        failed=failed,
    )


_MARKER = re.compile(r"\s*\[\d+\]")


def _bare(text: str) -> str:
    """A line without markers: nothing stands behind those of a heading."""
    return " ".join(_MARKER.sub("", text).split())
