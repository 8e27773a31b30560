"""A search engine and a reader over the user's own documents: nothing leaves the machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from agent.errors import ReadFailed, UsageError
from agent.evidence import STOP_WORDS, rank, sentences
from agent.sources.search.index import Index, terms
from agent.state import Hit, Page

HITS = 10
CHUNKS = 100  # the best chunks that are grouped into documents
QUERY = 2000  # characters of a query that are looked at
BIG = 50_000  # documents from which on only the rarest terms are asked for
RAREST = 4
TITLE = 2.0  # how much more a word of the title counts than one of the text


class Corpus:
    """A folder of .md, .txt, .html and .pdf files, or one .jsonl(.gz) file, as a search provider.

    The constructor builds or updates the index, which takes seconds for tens of thousands of
    documents the first time, milliseconds after. `cache_dir` None keeps it in memory. May be used
    from several threads. Raises UsageError when there is nothing to read.
    """

    name = "corpus"
    local = True  # its addresses are the user's own

    def __init__(self, path: Path, cache_dir: Path | None) -> None:
        root = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - links are kept as named
        if not root.exists():
            raise UsageError(f"The corpus {path} does not exist.", "Check the path of --corpus.")
        name = f"corpus-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}.sqlite"
        self._index = Index(root, cache_dir / name if cache_dir else None)
        if not self._index.size:
            raise UsageError(
                f"The corpus {path} holds no readable document.",
                "Give a folder of .md, .txt, .html or .pdf files, or a .jsonl file of rows with "
                'a "title" and a "text".',
            )

    @property
    def skipped(self) -> tuple[str, ...]:
        """The files that could not be read, each with the reason."""
        return self._index.skipped

    @property
    def size(self) -> int:
        """How many documents there are."""
        return self._index.size

    def search(self, query: str) -> tuple[Hit, ...]:
        """The documents that fit a query, best first, at most ten; none is not a failure."""
        asked = self._asked(terms(query[:QUERY], STOP_WORDS))
        if not asked:
            return ()
        found = self._index.matches(asked, TITLE, CHUNKS)[:HITS]
        return tuple(
            Hit(url=match.url, title=match.title, snippet=_best(match.text, query[:QUERY]))
            for match in found
        )

    def read(self, url: str) -> Page:
        """The stored text of a document that `search` named. Raises ReadFailed for any other."""
        document = self._index.document(url)
        if document is None:
            raise ReadFailed(
                f"{url} is not in the corpus.", "Ask for a page of it.", outcome="not_found"
            )
        title, text = document
        return Page(
            url=url,
            title=title,
            text=text,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            retrieved_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        )

    def close(self) -> None:
        """Let go of the index file."""
        self._index.close()

    def _asked(self, wanted: Sequence[str]) -> Sequence[str]:
        """In a big corpus, the rarest of the terms: common ones cost most and tell least."""
        if self._index.size < BIG or len(wanted) <= RAREST:
            return wanted
        counts = {term: self._index.holding(term) for term in wanted}
        held = sorted((count, term) for term, count in counts.items() if count)
        return [term for _, term in held[:RAREST]]


def _best(text: str, query: str) -> str:
    """The sentence of a text that fits a query best."""
    spans = [text[start:end] for start, end in sentences(text)]
    pieces = [span for span in spans if not span.startswith("#")] or spans  # not a heading
    scores = rank(pieces, query)
    return pieces[scores.index(max(scores))][:400] if pieces else ""
