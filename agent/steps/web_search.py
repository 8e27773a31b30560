"""WebSearchTool: searches all queries of a round at once and reads the best pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import takewhile

from agent.calls import Read, Search
from agent.calls.contract import FOR_OWN, FOR_RESEARCH
from agent.errors import ExternalCallError, SearchFailed
from agent.evidence import content_words
from agent.evidence.prompt_injection import instruction_warning
from agent.state import (
    Event,
    Hit,
    Page,
    PageRead,
    Queried,
    Research,
    Searched,
    SearchResults,
    Warned,
    index_hits,
)
from agent.steps.ask_model import call_failure
from agent.steps.page_choice import best_hits, choose_further, choose_pages


@dataclass(frozen=True)
class WebSearchTool:
    """Searches every query of the round and reads the best hits of each.

    Which pages are read depends on ranks alone (`choose_pages`: `pages_per_query` of each query),
    not on which search ended first. So a page is fetched as soon as it is known that it will be
    read. The snippet of a hit replaces a page that cannot be read. A query or a page that
    fails is skipped and recorded.
    Raises SearchFailed when every query of the round failed and no earlier one found anything.
    """

    search: Search
    read: Read
    pages_per_query: int

    def prefetch(self, query: str, topic: str, tried: frozenset[str] = frozenset()) -> None:
        """Start a search that the first round will make, and its pages when it names them.

        `tried`: pages that are not to be read, as canonical URLs.
        """

        def start_pages(search: Future[SearchResults]) -> None:
            for found in _successes([search]):
                best = index_hits(best_hits(found, self.pages_per_query, topic))
                self._start_pages(hit for page, hit in best.items() if page not in tried)

        self.search.start(query).add_done_callback(start_pages)

    def _prefetch_further(self, queries: Sequence[str], topic: str, tried: frozenset[str]) -> None:
        """Start the searches of a later round, and its pages when all earlier searches ended."""
        searches = [self.search.start(query) for query in queries]

        def start_known(_: Future[SearchResults]) -> None:
            ended = _successes(takewhile(Future.done, searches))
            self._start_pages(choose_further(ended, tried, self.pages_per_query, topic))

        for search in searches:
            search.add_done_callback(start_known)

    def _start_pages(self, hits: Iterable[Hit]) -> None:
        for hit in hits:
            self.read.start(hit.url)

    def salvage(self, research: Research) -> Iterator[Event]:
        """After a halt: those of the round's pages that need no further reading."""
        hits = choose_pages(research, self.pages_per_query)
        yield from salvage_pages(self.read, hits, research)

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self._search_queries(research)
        yield from read_pages(self.read, choose_pages(research, self.pages_per_query), research)

    def _search_queries(self, research: Research) -> Iterator[Event]:
        queries = research.current_queries
        sent = address_queries(queries, research)
        if research.round < 2:
            for query in sent:
                self.prefetch(query, research.topic, research.pages_tried_before)
        else:
            self._prefetch_further(sent, research.topic, research.pages_tried_before)
        failures: list[ExternalCallError] = []
        for query, outcome in zip(queries, self.search.collect(sent), strict=True):
            if isinstance(outcome, ExternalCallError):
                failures.append(outcome)
                yield call_failure("search", query, outcome)
            else:
                yield Searched(round=research.round, found=outcome)
        if len(failures) == len(queries) and not research.hits:
            raise SearchFailed(failures[0].message, failures[0].remedy, outcome=failures[0].outcome)


def address_queries(queries: Sequence[str], research: Research) -> list[str]:
    """Queries as they are sent: those with words of the user's own documents alone to these alone.

    The web may see the words of the topic, of its own results and of what was asked before any
    document was read.
    """
    form = f"{{}}{FOR_RESEARCH}" if research.plan and research.plan.is_research else "{}"
    sources = research.sources
    own = _words_of(one.page.title + " " + one.page.text for one in sources if one.hit.own)
    if not own:
        return [form.format(query) for query in queries]
    is_read = next(i for i, event in enumerate(research.events) if isinstance(event, PageRead))
    before = [event for event in research.events[:is_read] if isinstance(event, Queried)]
    public = _words_of((research.original_topic, *(q for event in before for q in event.queries)))
    public |= _words_of(
        f"{hit.title} {hit.snippet}" for hit in research.hits.values() if not hit.own
    )
    public |= _words_of(one.page.text for one in sources if not one.hit.own)
    secret = [bool(_words_of([query]) & own - public) for query in queries]
    return [form.format(q) + FOR_OWN * is_own for q, is_own in zip(queries, secret, strict=True)]


def _words_of(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in content_words(text)}


def _successes(searches: Iterable[Future[SearchResults]]) -> list[SearchResults]:
    """The results of those searches that did not fail; all have ended."""
    return [search.result() for search in searches if search.exception() is None]


def read_pages(read: Read, hits: Sequence[Hit], research: Research) -> Iterator[Event]:
    """Read pages in parallel. They become sources in the order of the hits.

    A page that fails becomes a source by the hit's snippet, if it has one.
    """
    outcomes = read.collect([hit.url for hit in hits])
    for hit, outcome in zip(hits, outcomes, strict=True):
        if isinstance(outcome, ExternalCallError):
            is_unwanted = outcome.outcome == "skipped"  # so its snippet is unwanted too
            snippet_page = None if is_unwanted else _snippet_page(hit, research)
            stand_in = "its snippet" if snippet_page else ""
            yield call_failure("page", hit.url, outcome, stand_in)
            if snippet_page:
                yield from source_events(snippet_page, hit)
        else:
            yield from source_events(outcome, hit)


def salvage_pages(read: Read, hits: Sequence[Hit], research: Research) -> Iterator[Event]:
    """Pages that had been read when gathering ended early; the snippets of the others."""
    for hit in hits:
        if page := read.result_if_done(hit.url) or _snippet_page(hit, research):
            yield from source_events(page, hit)


def source_events(page: Page, hit: Hit) -> Iterator[Event]:
    """A page becomes a source, with warnings: it is not whole, it holds instructions to a model."""
    yield PageRead(page=page, hit=hit)
    if page.partial_text:
        yield Warned(message=f"{page.url}: partial text: {page.partial_text}.")
    if hit.is_retracted:
        yield Warned(message=f"{page.url}: this work was retracted: it is no evidence on its own.")
    if message := instruction_warning(page, hit):
        yield Warned(message=message)


def _snippet_page(hit: Hit, research: Research) -> Page | None:
    """The snippet of a hit as a page, marked by `via`; None if it is blank, or no page's words."""
    if hit.generated or not hit.snippet.strip():
        return None
    searched_at = next(e.found.at for e in research.events_of(Searched) if hit in e.found.hits)
    return Page.from_text(hit.url, hit.title, hit.snippet, searched_at, via="snippet")
