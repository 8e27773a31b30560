"""Search in the user's own documents, and reading them. Nothing leaves the machine."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

from agent.errors import ReadFailed, UsageError
from agent.evidence import content_words, rank_texts, split_sentences
from agent.evidence.language import language_of
from agent.search.index import RESCAN_SECONDS, CorpusIndex, Match
from agent.search.open_indexes import OpenIndexes, index_file
from agent.search.search_options import SearchOptions
from agent.search.terms import query_terms
from agent.state import Hit, Page, to_places, utc_now

PROGRESS_SECONDS = 5.0  # between two lines that say how far the index is
UPDATE_PATIENCE = 2.0  # seconds that a query waits for files that have changed
#: Later rounds choose among the hits of all searches; chosen on the half for tuning of
#: evals.reading.
MAX_HITS = 20
PARTIAL = "of which a part is not read: see research-agent read"
MAX_CHUNKS = 100  # the best chunks, of which the hits are the documents
MAX_QUERY = 2000  # characters; the rest of a query is ignored
MAX_SNIPPET = 400  # characters
TITLE_WEIGHT = 2.0  # of a word of the title; one of the text weighs 1
#: Of the best score: for a title all of whose words the query says.
TITLE_BONUS = 0.2
log = logging.getLogger(__name__)


class Corpus:
    """A folder of documents, or one .jsonl(.gz) file of rows, as a search provider.

    The index is updated when it is opened, and when files have changed before a query. `cache_dir`:
    of the index file; None: in memory. `seconds`: after which no more files are read this time.
    `patience`: seconds to wait for the index; the rest is read meanwhile. `rescan_seconds`: between
    two looks at the files. Thread-safe. Raises UsageError when there is nothing to read.
    """

    name = "corpus"
    local = True  # the search chain leaves its hits as they are

    def __init__(
        self,
        path: Path,
        cache_dir: Path | None,
        seconds: float | None = None,
        patience: float = math.inf,
        rescan_seconds: float = RESCAN_SECONDS,
        indexes: OpenIndexes | None = None,
    ) -> None:
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        root = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - links stay unresolved
        if not root.exists():
            raise UsageError(f"The corpus {path} does not exist.", "Check the path of --corpus.")
        self._folder = (root if root.is_dir() else root.parent).as_uri()
        file = index_file(root, cache_dir) if cache_dir else None
        self._is_closed = False
        self._indexes = indexes or OpenIndexes()
        self._index = self._indexes.open(root, file, deadline, rescan_seconds)
        self._wait_for_index(patience)
        if not self._index.size:
            left = ["no time was left to read it"] if self.progress else []
            fault = next((f" ({one})" for one in (*self.skipped_files, *left)), "")
            self.close()
            raise UsageError(
                f"The corpus {path} holds no readable document{fault}.",
                "Give a folder of documents (research-agent doctor -v lists their types), or a "
                '.jsonl file of rows with a "title" and a "text".',
            )

    def _wait_for_index(self, patience: float) -> None:
        """Wait for the index, at least for its first document; log how far it is.

        `patience`: seconds since the update began, for which another run may have waited already.
        """
        if self._index.refresh(0.0):
            return
        end = time.monotonic() + patience - self._index.update_seconds
        while not self._index.refresh(min(PROGRESS_SECONDS, max(0.0, end - time.monotonic()))):
            if self.progress:
                log.warning(self.progress)
            if time.monotonic() >= end and self._index.size:
                return

    @property
    def progress(self) -> str:
        """How far the index is where files are left to read, in words; else ""."""
        if not (progress := self._index.progress):
            return ""
        read = f"{progress[0]:,} of {progress[1]:,} files are read so far"
        return f"The corpus is being indexed: {read}, {self.size:,} documents."

    @property
    def partial_files(self) -> tuple[str, ...]:
        """The files of whose documents not all is read: each document says what."""
        return self._index.partial_files

    @property
    def skipped_files(self) -> tuple[str, ...]:
        """The files that could not be read, or not to their end, each with the reason."""
        return tuple(f"{name}: {fault}" for name, fault in self._index.skipped_files)

    @property
    def unknown_files(self) -> tuple[str, ...]:
        """The files of the folder that are no documents: of another type, or no regular files."""
        return self._index.unknown_files

    @property
    def size(self) -> int:
        """The number of documents."""
        return self._index.size

    def search(self, query: str) -> tuple[Hit, ...]:
        """The best `MAX_HITS` documents that match a query. No match is no failure."""
        if not self._index.refresh(0.0):  # files have just changed; many take long
            self._index.refresh(max(0.0, UPDATE_PATIENCE - self._index.update_seconds))
        query, _ = SearchOptions().for_query(query)
        best = _choose_hits(find_matches(self._index, query, MAX_CHUNKS), query)
        texts = map(self._index.read_text, best)
        return tuple(
            Hit(url=one.url, title=one.title, snippet=best_sentence(text, query))
            for one, text in zip(best, texts, strict=True)
        )

    def read(self, url: str) -> Page:
        """A document by the URL of its hit, or by `corpus:NAME` as an answer names it.

        Raises ReadFailed for any other URL.
        """
        name = url.removeprefix("corpus:")
        document = self._index.find_document(url if name == url else f"{self._folder}/{name}")
        if document is None:
            fault = f"{url} is not in the corpus."
            raise ReadFailed(fault, "Ask for a page of it.", outcome="not_found")
        title, text, _, _, marks, note, date = document
        places = to_places(marks)
        return Page.from_text(
            url, title, text, utc_now(), places=places, date=date, partial_text=note
        )

    def close(self) -> None:
        """Close the index file, unless others of `indexes` use it. Can be called twice."""
        if not self._is_closed:
            self._is_closed = True
            self._indexes.close(self._index)


def find_matches(index: CorpusIndex, query: str, limit: int) -> list[Match]:
    """The documents among the `limit` best chunks for a query, best first."""
    query = query[:MAX_QUERY]
    return index.search(query_terms(query, language_of(query)), TITLE_WEIGHT, limit)


def _choose_hits(matches: Sequence[Match], query: str) -> list[Match]:
    language = language_of(query).tag
    words = set(content_words(query[:MAX_QUERY], language))

    def weigh(match: Match) -> float:
        title = set(content_words(match.title[:MAX_SNIPPET], language))
        bonus = TITLE_BONUS * len(title & words) / max(1, len(title))
        return match.score + matches[0].score * bonus

    chosen = set(sorted(matches, key=weigh, reverse=True)[:MAX_HITS])
    return [match for match in matches if match in chosen]


def best_sentence(text: str, query: str) -> str:
    """The sentence of a text that matches a query best. A heading counts only if all are."""
    sentences = [text[start:end] for start, end in split_sentences(text)]
    candidates = [line for line in sentences if not line.startswith("#")] or sentences
    if not candidates:
        return ""
    scores = rank_texts(candidates, query)
    return candidates[scores.index(max(scores))][:MAX_SNIPPET]
