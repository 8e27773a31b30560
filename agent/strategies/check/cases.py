"""The sentences of a report to judge, each with the pages that it cites and what rules say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent.evidence import closest_sentences, first_sentences
from agent.evidence.quantities import missing_quantities
from agent.state import CitedReport, Claim, Failed, Quote, ReportSentence, Research, Source
from agent.state.excerpts import Excerpt
from agent.state.reports import NO_ADDRESS, NOT_READ
from agent.state.urls import canonical_url
from agent.strategies.check.read_cited import Found
from agent.verification.cited_claims import ClaimRuling, rule_claim
from agent.verification.judge_view import text_around_quotes

SHOWN = 3  # sentences of each page that a judge is shown for a claim, with their neighbours
MOST_SHOWN = 3  # pages of a claim that a judge is shown


class Case(NamedTuple):
    """A sentence, the pages that may support it, and what rules say."""

    sentence: ReportSentence
    sources: tuple[Source, ...]
    unread: tuple[str, ...]  # why other sources that it cites were not read
    is_searched: bool
    ruling: ClaimRuling

    @property
    def claim(self) -> Claim:
        """As it is put to a judge."""
        return Claim(text=self.sentence.text, citations=tuple(s.n for s in self.sources))


def make_cases(research: Research, report: CitedReport, found: Found) -> list[Case]:
    """The sentences that cite something, or for which something was found."""
    pages = research.sources_by_page
    failures = {e.subject: e.message for e in research.events_of(Failed) if e.what == "page"}
    cited = {source.n: source for source in report.sources}
    cases: list[Case] = []
    for n, sentence in enumerate(report.sentences):
        urls = [cited[m].url for m in sentence.sources if m in cited] or list(found.get(n, ()))
        if not sentence.sources and n not in found:
            continue
        sources = [pages[key] for url in urls if (key := canonical_url(url)) in pages]
        lost = (url for url in urls if canonical_url(url) not in pages)
        reasons = (failures.get(url, f"{url}: {NOT_READ}") if url else NO_ADDRESS for url in lost)
        unread = [reason.rstrip(".") for reason in reasons]
        kept = tuple(dict.fromkeys(sources))
        ruling = rule_claim(sentence.text, kept) if kept else ClaimRuling("unchecked")
        cases.append(Case(sentence, kept, tuple(unread), not sentence.sources, ruling))
    return cases


def show_cases(cases: Sequence[Case]) -> tuple[Excerpt, ...]:
    """What a judge is shown of the pages: the sentences nearest to each claim, and neighbours.

    So too the sentences that have its numbers and names which those do not have.
    """
    shown: dict[int, tuple[Source, list[Quote]]] = {}
    for case in cases:
        for source in case.sources[:MOST_SHOWN]:
            _, quotes = shown.setdefault(source.n, (source, []))
            near = nearest_quotes(case.sentence.text, source)
            lost = missing_quantities(case.sentence.text, [quote.text for quote in near])
            quotes += (q for one in lost for q in closest_sentences(one, [source], 1))
            quotes += near
    return tuple(
        Excerpt.of(source, text_around_quotes(source.page, quotes))
        for _, (source, quotes) in sorted(shown.items())
        if quotes
    )


def nearest_quotes(claim: str, source: Source) -> list[Quote]:
    """The sentences nearest to a claim; the first ones of a page that shares no word with it."""
    return closest_sentences(claim, [source], SHOWN) or first_sentences(source, SHOWN)
