"""Search in the pages that earlier runs read, and reading them: `--search runs`. It is free.

A page is read from its journal, with the day of that reading; the new run journals it again.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from agent.errors import JournalError, ReadFailed
from agent.evidence import content_words
from agent.search import journal_index
from agent.search.corpus import UPDATE_PATIENCE, best_sentence, find_matches
from agent.search.hits import clean_hits
from agent.search.index import CorpusIndex
from agent.search.open_indexes import OpenIndexes, index_file, shared_indexes
from agent.search.search_options import SearchOptions
from agent.settings.fields import RUN_SOURCES
from agent.state import Hit, Page, SearchResults, canonical_url, is_web_url, utc_now

WITH_DOCUMENTS = RUN_SOURCES[0]
MAX_HITS = 10
MAX_MATCHES = 100  # chunks, of documents of a corpus too
#: Of the words of a query, in the best part of a page and its title: with fewer it is no hit. Set
#: by hand.
LEAST_WORDS = 0.6
RESCAN_SECONDS = 30.0
FIRST_PATIENCE = 30.0  # seconds that the first search waits for the index


class RunPages:
    """The pages of earlier runs as a search provider and a reader. Thread-safe.

    `folder`: of the journals. `since` of the options counts from the day of reading.
    """

    local = True  # the search chain leaves its hits as they are

    def __init__(self, name: str, folder: Path, cache_dir: Path, options: SearchOptions) -> None:
        self.name = name
        self._folder, self._options = folder, options
        self._opened_at = utc_now()
        self._file = index_file(folder, cache_dir, WITH_DOCUMENTS)
        self._lock = threading.Lock()
        self._indexes: OpenIndexes = shared_indexes()
        self._opened: CorpusIndex | None = None
        self._found: dict[str, Hit] = {}  # by the address of the page

    def search(self, query: str) -> tuple[Hit, ...]:
        """The pages that have most words of a query. No match is no failure."""
        query, options = self._options.for_query(query)
        words = set(content_words(query))
        newest: dict[str, tuple[Hit, str]] = {}
        index = self._index()
        for match in find_matches(index, query, MAX_MATCHES):
            text = index.read_text(match)
            matched = words & set(content_words(f"{match.title} {text}"))
            hit = journal_index.to_hit(match)
            if len(matched) < LEAST_WORDS * len(words) or not self._is_wanted(hit, options):
                continue
            key = canonical_url(hit.url)
            if key not in newest or hit.retrieved_at > newest[key][0].retrieved_at:
                newest[key] = hit, text
        best = [(hit, best_sentence(text, query)) for hit, text in [*newest.values()][:MAX_HITS]]
        hits = tuple(hit.model_copy(update={"snippet": matched}) for hit, matched in best)
        self._note(hits)
        return hits

    def keep(self, results: SearchResults) -> SearchResults:
        """Note what a search that the journal answered found here."""
        if self.name in results.provider.split(", "):
            self._note(hit for hit in results.hits if not hit.own)
        return results

    def _note(self, hits: Iterable[Hit]) -> None:
        self._found |= {canonical_url(hit.url): hit for hit in hits}

    def read(self, url: str) -> Page:
        """A page that was found here, as it was read then. Raises ReadFailed for any other."""
        if hit := self._found.get(canonical_url(url)):
            address = journal_index.make_key(hit.url, hit.retrieved_at)
            for place in self._index().find_urls(quote(address, safe="?=")):
                if page := self._read_page(self._folder / journal_index.journal_name(place), hit):
                    return page
        raise ReadFailed(f"No earlier run read {url}.", "Search for it.", outcome="not_found")

    def _read_page(self, journal: Path, hit: Hit) -> Page | None:
        with suppress(JournalError):
            for page in journal_index.read_journal_pages(journal):
                if (page.url, page.retrieved_at) == (hit.url, hit.retrieved_at):
                    return page
        return None

    def close(self) -> None:
        """Close the index, unless others use it."""
        with self._lock:
            if self._opened:
                self._indexes.close(self._opened)
            self._opened = None

    def _index(self) -> CorpusIndex:
        with self._lock:
            if self._opened is None:
                make = journal_index.JournalIndex
                place = self._folder, self._file
                self._opened = self._indexes.open(*place, math.inf, RESCAN_SECONDS, make)
                self._opened.refresh(FIRST_PATIENCE)
            index = self._opened
        index.refresh(UPDATE_PATIENCE)
        return index

    def _is_wanted(self, hit: Hit, options: SearchOptions) -> bool:
        is_stale = options.since is not None and hit.retrieved_at[:10] < options.since.isoformat()
        is_document = not is_web_url(hit.url)
        is_permitted = self.name == WITH_DOCUMENTS if is_document else clean_hits([hit], options)
        return hit.retrieved_at <= self._opened_at and bool(is_permitted) and not is_stale
