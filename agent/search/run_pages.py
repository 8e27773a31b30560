"""Search in the pages that earlier runs read, and reading them: `--search runs`. It is free.

The index is that of a corpus whose files are the journals of runs. A page is read from its journal,
so it is what that run read, with the day on which it did; the new run journals it again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote, unquote

from agent.calls.journal_reader import read_journal
from agent.documents.body_reader import BodyReader
from agent.errors import JournalError, ReadFailed
from agent.evidence import content_words
from agent.search.corpus import UPDATE_PATIENCE, best_sentence, find_matches
from agent.search.corpus_documents import Document, FileReader, UnreadableFile
from agent.search.corpus_files import FileScan, stamp_of
from agent.search.hits import clean_hits
from agent.search.index import WRITE_TIMEOUT, CorpusIndex, Match
from agent.search.open_indexes import OpenIndexes, index_file, shared_indexes
from agent.search.parent_pages import pages_of
from agent.search.search_options import SearchOptions
from agent.search.storage import remove_file
from agent.settings.fields import RUN_SOURCES
from agent.state import Hit, Page, SearchResults
from agent.state.clock import utc_now
from agent.state.urls import canonical_url, is_web_url

WITH_DOCUMENTS = RUN_SOURCES[0]
MAX_HITS = 10
MAX_MATCHES = 100  # chunks, of documents of a corpus too
#: Of the words of a query, in the best part of a page and its title: a page with fewer is no hit,
#: so that the next provider is asked. Set by hand.
LEAST_WORDS = 0.6
RESCAN_SECONDS = 30.0
MAX_JOURNAL_BYTES = 2_000_000_000  # of the journals that are searched, the newest first
FIRST_PATIENCE = 30.0  # seconds that the first search waits for the index


class RunPages:
    """The pages of earlier runs as a search provider and a reader. Thread-safe.

    `folder`: of the journals.
    With `since` of the options a page counts that was read on that day or later. What was read
    after this was opened is of no earlier run.
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
            said = words & set(content_words(f"{match.title} {text}"))
            hit = _to_hit(match)
            if len(said) < LEAST_WORDS * len(words) or not self._is_wanted(hit, options):
                continue
            key = canonical_url(hit.url)
            if key not in newest or hit.retrieved_at > newest[key][0].retrieved_at:
                newest[key] = hit, text
        best = [(hit, best_sentence(text, query)) for hit, text in [*newest.values()][:MAX_HITS]]
        hits = tuple(hit.model_copy(update={"snippet": said}) for hit, said in best)
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
            address = _make_key(hit.url, hit.retrieved_at)
            for place in self._index().find_urls(quote(address, safe="?=")):
                if page := self._read_page(self._folder / _journal_name(place), hit):
                    return page
        raise ReadFailed(f"No earlier run read {url}.", "Search for it.", outcome="not_found")

    def _read_page(self, journal: Path, hit: Hit) -> Page | None:
        with suppress(JournalError):
            for page in _pages_in(journal):
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
        """The index, opened and brought up to date at the first search."""
        with self._lock:
            if self._opened is None:
                self._opened = self._indexes.open(
                    self._folder, self._file, float("inf"), RESCAN_SECONDS, JournalIndex
                )
                self._opened.refresh(FIRST_PATIENCE)
            index = self._opened
        index.refresh(UPDATE_PATIENCE)
        return index

    def _is_wanted(self, hit: Hit, options: SearchOptions) -> bool:
        is_stale = options.since is not None and hit.retrieved_at[:10] < options.since.isoformat()
        is_document = not is_web_url(hit.url)
        is_permitted = self.name == WITH_DOCUMENTS if is_document else clean_hits([hit], options)
        return hit.retrieved_at <= self._opened_at and bool(is_permitted) and not is_stale


class JournalIndex(CorpusIndex):
    """The index of the pages in the journals of a folder."""

    def find_files(self, root: Path) -> FileScan:
        """The newest journals that have not too many bytes together."""
        stamps, left = dict[str, str](), MAX_JOURNAL_BYTES
        with suppress(OSError):
            dated = ((f.stat().st_mtime, f.name, stamp_of(f)) for f in root.glob("*.jsonl"))
            for _, name, stamp in sorted(dated, reverse=True):
                left -= int(stamp.partition(":")[0] or 0)
                if stamp and left >= 0:
                    stamps[name] = stamp
        return FileScan(root, stamps)

    def make_reader(self, bodies: BodyReader, deadline: float) -> FileReader:
        """What reads journals: no worker is needed."""
        return JournalReader(bodies, deadline)


class JournalReader(FileReader):
    """Reads the pages of journals, documents of a corpus too."""

    def read_files(
        self, scan: FileScan, names: Iterable[str]
    ) -> Generator[tuple[str, Iterator[Document]], None, None]:
        """Each journal with its pages."""
        for name in names:
            yield name, self._read_pages(scan.path(name))

    def _read_pages(self, journal: Path) -> Iterator[Document]:
        try:
            for page in _pages_in(journal):
                key = _make_key(page.url, page.retrieved_at)
                if page.via == "page" and page.text.strip():
                    yield Document(page.title or page.url, page.text, key=key)
        except JournalError as error:
            raise UnreadableFile(error.message) from None


def _pages_in(journal: Path) -> Iterator[Page]:
    """The pages that a run read. Raises JournalError."""
    return (page for page, _ in pages_of(list(read_journal(journal).calls.values())))


def _make_key(url: str, retrieved_at: str) -> str:
    """What names a page in the index, behind the address of its journal."""
    return f"?at={retrieved_at}&id={url}"


def _journal_name(place: str) -> str:
    return unquote(place.partition("?")[0]).rpartition("/")[2]


def _to_hit(match: Match) -> Hit:
    at, _, url = unquote(match.url.partition("?at=")[2].partition("#")[0]).partition("&id=")
    return Hit(url=url, title=match.title, retrieved_at=at)


def forget_run(folder: Path, cache_dir: Path, journal: str) -> None:
    """Remove what the stored indexes have of a journal. One in use for long is left: it sees that.

    The next search removes it from there.
    """
    for name in RUN_SOURCES:
        file = index_file(folder, cache_dir, name)
        if not file.is_file():
            continue
        with suppress(sqlite3.Error), closing(sqlite3.connect(file, WRITE_TIMEOUT)) as db:
            db.execute("PRAGMA secure_delete = ON")
            with db:
                remove_file(db, journal)
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
            db.commit()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
