"""The report object of an answer: the text of the draft, with numbers counted from the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field

from agent.answer.addresses import CorpusAddresses
from agent.answer.counts import count_verdicts, format_count
from agent.evidence.credibility import host_kind
from agent.evidence.markers import strip_markers
from agent.state import (
    HOLDING,
    Claim,
    Composed,
    Failed,
    Frozen,
    PageRead,
    Report,
    Research,
    Verdict,
    Verified,
    canonical_url,
    seldom,
)

#: Of the confidence of a report, set by hand: shares of sentences that are confirmed, and sites.
MOSTLY, PARTLY, SEVERAL = 0.9, 0.6, 3


class Methodology(Frozen):
    """How the report came about. `candidates` are the pages that searching found."""

    question: str
    searches: tuple[str, ...] = Field(description="every search, once, in order")
    candidates: int
    analysed: int = Field(description="pages that were read")
    snippets: int = Field(description="pages of which only the search snippet was read")
    blocked: int
    failed: int


class ReportSection(Frozen):
    """A heading and the sentences below it. `open`: its questions to which nothing was found."""

    heading: str
    sentences: tuple[Claim, ...]
    open: tuple[str, ...] = seldom(())


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
    links: tuple[LookedAt, ...] = ()


def build_report(research: Research, addresses: CorpusAddresses) -> ReportAnswer | None:
    """The report of a run, without its Markdown; None if the run wrote no report.

    Citations without a quote are left out, and so are markers in the title and headings. How sure
    it is, is counted from the run.
    """
    composed = research.answer
    if composed is None or composed.report is None:
        return None
    draft = composed.report
    quoted = {quote.source for quote in composed.quotes}
    counts = _count(research, composed, draft)
    stated = [{quote.source for quote in one.quotes} for one in research.findings.values()]
    return ReportAnswer(
        title=_clean_line(draft.title) or research.topic,
        methodology=_build_methodology(research),
        sections=tuple(
            ReportSection(
                heading=_clean_line(theme.heading),
                sentences=_keep_citations(theme.claims, quoted),
                open=theme.open,
            )
            for theme in draft.themes
        ),
        conflicts=_keep_citations(draft.conflicts, quoted),
        compared=draft.compared + sum(len(n) > 1 for n in stated),
        confidence=_rate(counts),
        rationale=counts.describe(),
        links=list_links(research, addresses),
    )


class _Counts(NamedTuple):
    """How sure a report is, and why."""

    verdicts: Counter[Verdict]
    dropped: int
    pages: int
    sites: int
    open: int  # questions
    conflicts: int

    def describe(self) -> str:
        """In a few sentences."""
        pages, sites = format_count(self.pages, "page"), format_count(self.sites, "site")
        lines = [f"{count_verdicts(self.verdicts) or 'No sentences'}, from {pages} of {sites}."]
        lines += [f"Left out: {format_count(self.dropped, 'sentence')}."] * bool(self.dropped)
        lines += [f"Questions without an answer: {self.open}."] * bool(self.open)
        lines += [f"Sentences that contradict each other: {self.conflicts}."] * bool(self.conflicts)
        return " ".join(lines)


def _count(research: Research, composed: Composed, report: Report) -> _Counts:
    pages = {source.n: source.page.url for source in research.sources}
    cited = cited_sources(composed) & pages.keys()
    return _Counts(
        Counter(claim.verdict for claim in all_claims(composed)),
        len({claim.text for one in research.events_of(Verified) for claim in one.dropped}),
        len(cited),
        len({urlsplit(pages[n]).hostname for n in cited}),
        sum(len(theme.open) for theme in report.themes),
        len(report.conflicts),
    )


def _rate(counts: _Counts) -> Literal["Low", "Medium", "High"]:
    """High: nearly all holds, from several sites, and nothing is open or disputed."""
    holding = sum(counts.verdicts[verdict] for verdict in HOLDING)
    share = holding / max(1, counts.verdicts.total() + counts.dropped)
    if share >= MOSTLY and counts.sites >= SEVERAL and not counts.open and not counts.conflicts:
        return "High"
    return "Medium" if share >= PARTLY and counts.sites > 1 else "Low"


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


def count_sources(research: Research) -> dict[str, int]:
    """How many pages were found, read, blocked and not readable."""
    failed = [
        one.outcome in BLOCKED_OUTCOMES for one in research.events_of(Failed) if one.what == "page"
    ]
    return {
        "found": len(research.hits),
        "read": sum(event.page.via == "page" for event in research.events_of(PageRead)),
        "blocked": sum(failed) + len(research.blocked_pages),
        "failed": len(failed) - sum(failed),
    }


def _build_methodology(research: Research) -> Methodology:
    counts = count_sources(research)
    snippets = sum(event.page.via == "snippet" for event in research.events_of(PageRead))
    return Methodology(
        question=research.original_topic,
        searches=research.searched_queries,
        candidates=counts["found"],
        analysed=counts["read"],
        snippets=snippets,
        blocked=counts["blocked"],
        failed=counts["failed"],
    )


def _clean_line(text: str) -> str:
    """A line without markers, which have no quote outside of sentences."""
    return " ".join(strip_markers(text).split())


# --- the links that a run looked at, and what became of each -------------------------------------


#: Outcomes of a page that count as `blocked`; all others count as `failed`.
BLOCKED_OUTCOMES = ("blocked", "forbidden")


class LookedAt(Frozen):
    """A page that was found or tried. `reason`: why it was not read, where that is known."""

    url: str
    title: str = ""
    became: Literal["read", "snippet", "blocked", "failed", "found"]
    reason: str = seldom("")


def list_links(research: Research, addresses: CorpusAddresses) -> tuple[LookedAt, ...]:
    """Every page once: those that were found, in the order of the searches, then others."""
    links: dict[str, LookedAt] = {}
    for link in _follow(research):
        before = links.get(key := canonical_url(link.url), link)
        update = {"title": link.title or before.title}
        if link.became == "snippet":
            update["reason"] = before.reason
        links[key] = link.model_copy(update=update)
    return tuple(
        link.model_copy(
            update={
                "url": addresses.shorten_url(link.url),
                "reason": addresses.shorten_text(link.reason),
            }
        )
        for link in links.values()
    )


def _follow(research: Research) -> Iterator[LookedAt]:
    """What became of the pages; what comes later of one is what it is."""
    for hit in research.hits.values():
        yield LookedAt(url=hit.url, title=hit.title, became="found")
    for one in research.blocked_pages:
        yield LookedAt(url=one.hit.url, became="blocked", reason=host_kind(one.hit.url).reason)
    for event in research.events_of(Failed):
        if event.what == "page":
            became = "blocked" if event.outcome in BLOCKED_OUTCOMES else "failed"
            yield LookedAt.model_validate(
                {"url": event.subject, "became": became, "reason": event.message}
            )
    for read in research.events_of(PageRead):
        via = "read" if read.page.via == "page" else "snippet"
        yield LookedAt.model_validate(
            {"url": read.hit.url, "title": read.page.title, "became": via}
        )
