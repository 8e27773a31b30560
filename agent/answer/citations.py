"""The citations of an answer: quotes with their page, link, place and credibility."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agent.answer.addresses import CorpusAddresses
from agent.answer.report import cited_sources
from agent.answer.schema import Citation, RunInfo
from agent.evidence.credibility import rate_credibility
from agent.evidence.text_fragments import quote_link
from agent.state import Composed, Finding, Page, Quote, Research, find_place


def list_cited_quotes(composed: Composed, findings: Iterable[Finding]) -> list[Quote]:
    """The quotes of the answer, its report and its slots, without duplicates, by source and offset.

    With a report, quotes of a source that no sentence cites are left out: the draft may have had
    them for sentences that were dropped.
    """
    quotes = set(composed.quotes)
    if composed.report:
        cited = cited_sources(composed)
        quotes = {quote for quote in quotes if quote.source in cited}
    for finding in findings:
        quotes.update(finding.quotes)
    return sorted(quotes, key=lambda quote: (quote.source, quote.start, quote.end, quote.match))


def build_citation(
    quote: Quote, research: Research, run: RunInfo, addresses: CorpusAddresses
) -> Citation:
    source = research.sources[quote.source - 1]
    return Citation(
        id=quote.source,
        match=quote.match,
        **cite_page(source.page, quote.start, quote.end, addresses),
        date=source.hit.date or "",
        work={k: v for k, v in (source.hit.work or {}).items() if k != "abstract"} or None,
        credibility=rate_credibility(
            research.query_that_found(source.hit), source.hit, int(run.started_at[:4])
        ),
    )


def cite_page(page: Page, start: int, end: int, addresses: CorpusAddresses) -> dict[str, Any]:
    """What a citation has from its page: by this it is built, and by this it is audited."""
    url = addresses.shorten_url(page.url)
    return {
        "title": page.title,
        "url": url,
        "quote": page.text[start:end],
        "start": start,
        "end": end,
        "place": find_place(page.text, page.places, start),
        "link": quote_link(url, page.text, start, end),
        "page_sha256": page.sha256,
        "retrieved_at": page.retrieved_at,
        "via": page.via,
        "text_from": page.text_from,
        "partial_text": page.partial_text,
        "copy_of": page.copy_of,
    }
