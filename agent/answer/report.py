"""The report object of an answer: the text of the draft, with numbers counted from the run."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Literal

from pydantic import Field

from agent.evidence.markers import strip_markers
from agent.state import Claim, Composed, Finding, Frozen, PageRead, Research


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
    """A heading and the sentences below it."""

    heading: str
    sentences: tuple[Claim, ...]


class ReportAnswer(Frozen):
    """The report. Its executive summary is the answer itself.

    `markdown` is made from these values, the answer's claims and its citations alone.
    """

    title: str
    markdown: str = ""
    methodology: Methodology
    sections: tuple[ReportSection, ...]
    conflicts: tuple[Claim, ...]
    compared: int = Field(default=0, description="slots of which several sources state a value")
    confidence: Literal["Low", "Medium", "High"]
    rationale: str


def build_report(research: Research, *, blocked: int, failed: int) -> ReportAnswer | None:
    """The report of a run, without its Markdown; None if the run wrote no report.

    Citations without a quote are left out, and so are markers in the title, headings and rationale.
    """
    composed = research.answer
    if composed is None or composed.report is None:
        return None
    draft = composed.report
    quoted = {quote.source for quote in composed.quotes}
    return ReportAnswer(
        title=_clean_line(draft.title) or research.topic,
        methodology=_build_methodology(research, blocked, failed),
        sections=tuple(
            ReportSection(
                heading=_clean_line(theme.heading),
                sentences=_keep_citations(theme.claims, quoted),
            )
            for theme in draft.themes
        ),
        conflicts=_keep_citations(draft.conflicts, quoted),
        compared=sum(map(_is_compared, research.findings.values())),
        confidence=draft.confidence,
        rationale=_clean_line(draft.rationale),
    )


def _is_compared(finding: Finding) -> bool:
    return len({quote.source for quote in finding.quotes}) > 1


def all_claims(composed: Composed) -> list[Claim]:
    """The claims of an answer and of its report."""
    claims = [*composed.claims]
    if composed.report:
        claims += (claim for theme in composed.report.themes for claim in theme.claims)
        claims += composed.report.conflicts
    return claims


def cited_sources(composed: Composed) -> set[int]:
    """The numbers of the sources that an answer and its report cite."""
    return {n for claim in all_claims(composed) for n in claim.citations}


def _keep_citations(claims: Iterable[Claim], sources: Set[int]) -> tuple[Claim, ...]:
    """The claims with only those of their citations that are among the sources."""
    return tuple(
        claim.model_copy(update={"citations": tuple(n for n in claim.citations if n in sources)})
        for claim in claims
    )


def _build_methodology(research: Research, blocked: int, failed: int) -> Methodology:
    via = [event.page.via for event in research.events_of(PageRead)]
    return Methodology(
        question=research.original_topic,
        searches=research.searched_queries,
        candidates=len(research.hits),
        analysed=via.count("page"),
        snippets=via.count("snippet"),
        blocked=blocked,
        failed=failed,
    )


def _clean_line(text: str) -> str:
    """A line without markers, which stand for no quote outside of sentences."""
    return " ".join(strip_markers(text).split())
