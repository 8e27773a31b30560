"""ReadCited reads the pages that a report cites; FindEvidence searches where it cites none."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from agent.calls import Read, Search
from agent.errors import ExternalCallError
from agent.evidence.doi import SCHEME, find_doi
from agent.state import CitedReport, Event, Hit, LookedUp, Queried, Research, Searched
from agent.steps.ask_model import call_failure
from agent.steps.web_search import source_events

AHEAD = 8  # pages that are being read while one is waited for
MOST_SEARCHED = 30  # sentences without a source for which evidence is searched
PAGES_EACH = 2  # of a search
MOST_LOOKED_UP = 200  # DOIs, one at a time: Crossref allows no more at once to who has no account

#: For a sentence, by its place in the report: the pages that were found for it.
Found = Mapping[int, tuple[str, ...]]


@dataclass(frozen=True)
class ReadCited:
    """Reads every page that a report cites, once, whoever cites it. No page is given up as slow.

    A work that has a DOI is looked up in the registries that know of retractions.
    """

    read: Read

    def __call__(self, research: Research, report: CitedReport) -> Iterator[Event]:
        hits = research.filter_untried(cited_hits(report))
        yield from read_in_turn(self.read, hits)
        yield from self._look_up(report)

    def _look_up(self, report: CitedReport) -> Iterator[Event]:
        """What is known of the works that have a DOI; of one that no registry knows, nothing."""
        dois = {
            s.url: doi
            for s in report.sources
            if (doi := find_doi(s.url) or s.url and find_doi(s.title))
        }
        for url, doi in islice(dois.items(), MOST_LOOKED_UP):
            with suppress(ExternalCallError):
                yield LookedUp(url=url, notice=self.read(SCHEME + doi).text)

    def salvage(self, research: Research, report: CitedReport) -> Iterator[Event]:
        """After a halt: the pages that had been read by then."""
        for hit in research.filter_untried(cited_hits(report)):
            if page := self.read.result_if_done(hit.url):
                yield from source_events(page, hit)


@dataclass(frozen=True)
class FindEvidence:
    """Searches for each sentence that cites nothing, and reads the first pages found."""

    search: Search
    read: Read

    def __call__(
        self, research: Research, report: CitedReport
    ) -> Generator[Event, None, dict[int, tuple[str, ...]]]:
        """Returns the URLs that were found, by the place of the sentence."""
        wanted = [n for n, one in enumerate(report.sentences) if not one.sources][:MOST_SEARCHED]
        queries = tuple(report.sentences[n].text[:400] for n in wanted)
        if not queries:
            return {}
        yield Queried(round=1, queries=queries)
        found: dict[int, tuple[str, ...]] = {}
        for n, outcome in zip(wanted, self.search.collect(queries), strict=True):
            if isinstance(outcome, ExternalCallError):
                yield call_failure("search", report.sentences[n].text[:400], outcome)
                continue
            yield Searched(round=1, found=outcome)
            found[n] = tuple(hit.url for hit in outcome.hits[:PAGES_EACH])
        urls = {url for some in found.values() for url in some}
        hits = research.filter_untried(h for h in research.hits.values() if h.url in urls)
        yield from read_in_turn(self.read, hits)
        return found


def read_in_turn(read: Read, hits: Sequence[Hit]) -> Iterator[Event]:
    """Read pages, some ahead. They become sources in the order of the hits. Raises Halt."""
    urls = [hit.url for hit in hits]
    for n, hit in enumerate(hits):
        for url in urls[n : n + AHEAD]:
            read.start(url)
        try:
            page = read(hit.url)
        except ExternalCallError as error:
            yield call_failure("page", hit.url, error)
        else:
            yield from source_events(page, hit)


def cited_hits(report: CitedReport) -> list[Hit]:
    """The addresses that a report cites, as hits."""
    return [Hit(url=source.url, title=source.title) for source in report.sources if source.url]
