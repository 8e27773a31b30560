"""WebSearchTool: all queries of a round at once, and the pages worth reading."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future

from agent.errors import OutsideError, SearchFailed
from agent.evidence.instructions import warning
from agent.outside import Read, Search
from agent.state import Event, Failed, Found, Hit, Page, PageRead, Research, Searched, Warned


class WebSearchTool:
    """Searches every query of the round and reads the best hits of each.

    Which pages are read depends on ranks alone (`pages_per_query` of each query), not on who
    answered first; so a page may be read as soon as a search names it. A page that cannot be read
    is stood in for by its snippet. A query or a page that fails is skipped and recorded; only
    when no query can be asked and nothing was read does the step raise SearchFailed.
    """

    def __init__(self, search: Search, read: Read, pages_per_query: int) -> None:
        self._search = search
        self._read = read
        self._pages_per_query = pages_per_query

    def ahead(self, query: str) -> None:
        """Start a search that will surely be made, and its pages when it names them."""
        self._search.start(query).add_done_callback(self._read_ahead)

    def _read_ahead(self, search: Future[Found]) -> None:
        if search.exception() is None:
            for hit in search.result().hits[: self._pages_per_query]:
                self._read.start(hit.url)

    def salvage(self, research: Research) -> Iterator[Event]:
        """What of the round's pages can be had without reading any more."""
        yield from salvaged(self._read, research.unread(self._pages_per_query), research)

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self._searched(research)
        yield from self._pages(research)

    def _searched(self, research: Research) -> Iterator[Event]:
        queries = research.current_queries
        for query in queries:
            self.ahead(query)
        failures: list[OutsideError] = []
        for query, outcome in zip(queries, self._search.collect(queries), strict=True):
            if isinstance(outcome, OutsideError):
                failures.append(outcome)
                yield skipped("search", query, outcome)
            else:
                yield Searched(round=research.round, found=outcome)
        if len(failures) == len(queries) and not research.hits:
            raise SearchFailed(failures[0].message, failures[0].remedy, outcome=failures[0].outcome)

    def _pages(self, research: Research) -> Iterator[Event]:
        yield from read_pages(self._read, research.unread(self._pages_per_query), research)


def read_pages(read: Read, hits: Sequence[Hit], research: Research) -> Iterator[Event]:
    """Pages side by side, as sources in the order of the hits; a snippet for one that fails."""
    outcomes = read.collect([hit.url for hit in hits])
    for hit, outcome in zip(hits, outcomes, strict=True):
        if isinstance(outcome, OutsideError):
            snippet = _snippet(hit, research)
            stand_in = "its snippet" if snippet else ""
            yield skipped("page", hit.url, outcome, stand_in)
            if snippet:
                yield from became_source(snippet, hit)
        else:
            yield from became_source(outcome, hit)


def salvaged(read: Read, hits: Sequence[Hit], research: Research) -> Iterator[Event]:
    """Pages that had been read when gathering ended early; of others, what the search said."""
    for hit in hits:
        if page := read.ready(hit.url) or _snippet(hit, research):
            yield from became_source(page, hit)


def became_source(page: Page, hit: Hit) -> Iterator[Event]:
    """A page as a source, with a warning where its text speaks to a model."""
    yield PageRead(page=page, hit=hit)
    if said := warning(page, hit):
        yield Warned(message=said)


def _snippet(hit: Hit, research: Research) -> Page | None:
    """What the search said of a page, as a source that is marked as such."""
    if not hit.snippet.strip():
        return None
    at = next(e.found.at for e in research.of(Searched) if hit in e.found.hits)
    return Page(
        url=hit.url,
        title=hit.title,
        text=hit.snippet,
        sha256=hashlib.sha256(hit.snippet.encode()).hexdigest(),
        retrieved_at=at,
        via="snippet",
    )


def skipped(what: str, subject: str, error: OutsideError, stand_in: str = "") -> Failed:
    """The event of a query or a page that is gone on without."""
    return Failed.model_validate(
        {
            "what": what,
            "subject": subject,
            "outcome": error.outcome,
            "message": error.message,
            "remedy": error.remedy,
            "stand_in": stand_in,
            "attempts": error.attempts,
        }
    )
