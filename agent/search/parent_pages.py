"""The pages that earlier runs read, from their journals: searched and read without the network.

A journal may be anybody's: its content is validated, and bounded in number and size.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from agent.calls.journal_reader import read_journal
from agent.errors import JournalError, ReadFailed, SearchFailed
from agent.evidence import rank_texts, split_passages
from agent.evidence.quoting import ranked_pieces
from agent.search.hits import clean_hits
from agent.search.search_options import SearchOptions
from agent.state import Frozen, Hit, Page, SearchResults, Source, index_hits
from agent.state.clock import utc_now
from agent.state.json_data import Json, get_path
from agent.state.urls import canonical_url, is_web_url
from agent.state.values import hash_text

FrozenT = TypeVar("FrozenT", bound=Frozen)

PROVIDER = "parent"  # the name of earlier runs where search providers have theirs
MAX_HITS = 5  # of a query; they are written into the journal of the run that follows
MAX_PAGES = 1000
MAX_CHARS = 50_000_000  # of all pages
PASSAGE_CHARS = 1500
MAX_SNIPPET = 200  # characters
#: Of the best page's score: a page below it is no hit. Set by hand.
LEAST_SHARE = 0.3


def find_nothing(query: str) -> SearchResults:
    """What is found of a query where no earlier run read anything."""
    return SearchResults(query=query, hits=(), provider=PROVIDER, at=utc_now())


class ParentPages:
    """The pages of some runs, as a search engine and a reader. Thread-safe.

    `journals`: the run that is followed first, then those before it, read at first use; the newest
    copy of a page counts. `options`: which web pages may be found.
    """

    def __init__(self, journals: Sequence[Path], options: SearchOptions) -> None:
        self._journals = journals
        self._options = options
        self._lock = threading.Lock()
        self._sources: tuple[Source, ...] | None = None

    def search(self, query: str) -> SearchResults:
        """The pages that fit a query best. Raises SearchFailed where no journal can be read."""
        split = partial(split_passages, size=PASSAGE_CHARS)
        pieces = [(s, s.page.text[a:b]) for s, (a, b) in ranked_pieces(self._load(), query, split)]
        scores = rank_texts([f"{source.page.title} {text}" for source, text in pieces], query)
        order = sorted(range(len(pieces)), key=lambda i: -scores[i])
        least = LEAST_SHARE * max(scores, default=0.0)
        fitting = (_to_hit(*pieces[i]) for i in order if scores[i] and scores[i] >= least)
        permitted = (h for h in fitting if not is_web_url(h.url) or clean_hits([h], self._options))
        hits = tuple(index_hits(permitted).values())[:MAX_HITS]
        return SearchResults(query=query, hits=hits, provider=PROVIDER, at=utc_now())

    def read(self, url: str) -> Page:
        """A page that was read. Raises ReadFailed for any other."""
        for page in (source.page for source in self._load()):
            if canonical_url(page.url) == canonical_url(url):
                return page
        raise ReadFailed(f"No earlier run read {url}.", "Search for it.", outcome="not_found")

    def _load(self) -> tuple[Source, ...]:
        with self._lock:
            if self._sources is None:
                self._sources = _load_sources(self._journals)
            return self._sources


def _load_sources(journals: Sequence[Path]) -> tuple[Source, ...]:
    """The pages of all journals that can be read. Raises SearchFailed if the first one cannot."""
    if not journals:
        remedy = "Start a new run, with --follow and the path of the journal that is followed."
        raise SearchFailed("The pages of the earlier runs are gone.", remedy, outcome="not_found")
    pages: dict[str, tuple[Page, Hit]] = {}
    size = 0
    for n, journal in enumerate(journals):
        try:
            pages_read = list(pages_of(list(read_journal(journal).calls.values())))
        except JournalError as error:
            if n == 0:
                raise SearchFailed(error.message, error.remedy, outcome="not_found") from None
            continue  # its pages that were quoted since are in the journals that follow it
        for page, hit in pages_read:
            key = canonical_url(page.url)
            if key not in pages and len(pages) < MAX_PAGES and size + len(page.text) <= MAX_CHARS:
                pages[key] = (page, hit)
                size += len(page.text)
    return tuple(Source.of(n, page, hit) for n, (page, hit) in enumerate(pages.values(), 1))


def pages_of(calls: Sequence[Json]) -> Iterator[tuple[Page, Hit]]:
    """The pages of a journal, each with the hit that named it; of one that failed its snippet."""
    searches = (_parse(SearchResults, line) for line in calls if line["call"] == "search")
    named = {
        key: (hit, results.at)
        for results in reversed([one for one in searches if one])
        for key, hit in index_hits(results.hits).items()
    }
    for line in calls:
        if line["call"] == "read":
            url = str(get_path(line, "request", "url"))
            hit, at = named.get(canonical_url(url), (None, ""))
            page = _parse(Page, line) or (hit and _snippet_page(hit, at))
            if page and page.sha256 == hash_text(page.text, "replace"):
                yield page, hit or Hit(url=page.url, title=page.title)


def _parse(kind: type[FrozenT], line: Json) -> FrozenT | None:
    try:
        return kind.model_validate(line.get("response"))
    except ValidationError:
        return None


def _snippet_page(hit: Hit, at: str) -> Page | None:
    if hit.generated or not hit.snippet.strip():
        return None
    return Page.from_text(hit.url, hit.title, hit.snippet, at, via="snippet")


def _to_hit(source: Source, text: str) -> Hit:
    fields = {"url": source.page.url, "title": source.page.title, "generated": False}
    fields["snippet"] = " ".join(text.split())[:MAX_SNIPPET]
    return source.hit.model_copy(update=fields)
