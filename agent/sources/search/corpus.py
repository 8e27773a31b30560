"""Search in the user's own documents, and reading them. Nothing leaves the machine."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from agent.errors import ReadFailed, UsageError
from agent.evidence import rank_texts, split_sentences, stop_words
from agent.sources.search.index import CorpusIndex
from agent.sources.search.options import SearchOptions
from agent.sources.search.terms import query_terms
from agent.state import Hit, Page
from agent.state.clock import utc_now

MAX_HITS = 10
MAX_CHUNKS = 100  # the best chunks, of which the hits are the documents
MAX_QUERY = 2000  # characters; the rest of a query is ignored
MAX_SNIPPET = 400  # characters
LARGE_CORPUS = 50_000  # documents from which on a search uses the rarest terms only
MAX_RARE_TERMS = 4
TITLE_WEIGHT = 2.0  # of a word of the title; one of the text weighs 1


class Corpus:
    """A folder of .md, .txt, .html and .pdf files, or one .jsonl(.gz) file, as a search provider.

    The constructor builds or updates the index. For tens of thousands of documents this takes
    seconds the first time, milliseconds later. `cache_dir` is the folder of the index file; None:
    in memory. `seconds`: after which no more files are read; those left are read the next time.
    Thread-safe. Raises UsageError when there is nothing to read.
    """

    name = "corpus"
    local = True  # the search chain leaves its hits as they are

    def __init__(self, path: Path, cache_dir: Path | None, seconds: float | None = None) -> None:
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        root = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - links stay unresolved
        if not root.exists():
            raise UsageError(f"The corpus {path} does not exist.", "Check the path of --corpus.")
        name = f"corpus-{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.sqlite"
        self._index = CorpusIndex(root, cache_dir / name if cache_dir else None, deadline)
        if not self._index.size:
            raise UsageError(
                f"The corpus {path} holds no readable document{self._first_fault()}.",
                "Give a folder of .md, .txt, .html or .pdf files, or a .jsonl file of rows with "
                'a "title" and a "text".',
            )

    def _first_fault(self) -> str:
        """Why the first file that was not read was not, for a message; "" if there is none."""
        return f" ({self.skipped_files[0]})" if self.skipped_files else ""

    @property
    def skipped_files(self) -> tuple[str, ...]:
        """The files that could not be read in whole, each with the reason."""
        return self._index.skipped_files

    @property
    def unknown_files(self) -> tuple[str, ...]:
        """The files of the folder that are no documents: of another type, or no regular files."""
        return self._index.unknown_files

    @property
    def size(self) -> int:
        """The number of documents."""
        return self._index.size

    def search(self, query: str) -> tuple[Hit, ...]:
        """The documents that match a query, best first, at most ten. No match is no failure."""
        query, _ = SearchOptions().for_query(query[:MAX_QUERY])
        terms = self._select_terms(query_terms(query, stop_words()))
        if not terms:
            return ()
        matches = self._index.search(terms, TITLE_WEIGHT, MAX_CHUNKS)[:MAX_HITS]
        return tuple(
            Hit(url=match.url, title=match.title, snippet=_best_sentence(match.text, query))
            for match in matches
        )

    def read(self, url: str) -> Page:
        """A document by the URL of its hit. Raises ReadFailed for any other URL."""
        document = self._index.find_document(url)
        if document is None:
            raise ReadFailed(
                f"{url} is not in the corpus.", "Ask for a page of it.", outcome="not_found"
            )
        title, text = document
        return Page.from_text(url, title, text, utc_now())

    def close(self) -> None:
        """Close the index file."""
        self._index.close()

    def _select_terms(self, terms: Sequence[str]) -> Sequence[str]:
        """In a large corpus only the rarest terms: the others cost most and matter least."""
        if self._index.size < LARGE_CORPUS or len(terms) <= MAX_RARE_TERMS:
            return terms
        counts = {term: self._index.count_chunks(term) for term in terms}
        by_rarity = sorted((count, term) for term, count in counts.items() if count)
        return [term for _, term in by_rarity[:MAX_RARE_TERMS]]


def _best_sentence(text: str, query: str) -> str:
    """The sentence of a text that matches a query best. A heading counts only if all are."""
    sentences = [text[start:end] for start, end in split_sentences(text)]
    candidates = [line for line in sentences if not line.startswith("#")] or sentences
    if not candidates:
        return ""
    scores = rank_texts(candidates, query)
    return candidates[scores.index(max(scores))][:MAX_SNIPPET]
