"""What a journal holds that an answer is checked against: pages, and the schema of slots."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from agent.answer.schema import Citation
from agent.calls.journal_reader import read_journal
from agent.state import Json, Page, get_path, hash_text, is_retracted
from agent.verification.judge_view import QuotePlace
from agent.version import __version__

MAX_SAME = 100  # pages of one text


class JournalEvidence(NamedTuple):
    """What a journal holds of a run."""

    pages: dict[str, list[Page]]  # by the SHA-256 of their text
    slots_schema: Json | None  # None where the run was given none
    corpus: str = ""  # where it lies
    is_of_this_version: bool = True  # of the program
    is_older: bool = False  # the answer is of an earlier version of its schema

    def page_text(self, citation: Citation, default: str = "") -> str:
        """The text of the page that is cited, or the default if the journal does not hold it."""
        return next((page.text for page in self.pages.get(citation.page_sha256, ())), default)

    def quote_places(self, citations: Sequence[Citation]) -> tuple[QuotePlace, ...]:
        """The places of the quotes. Of an unknown page, the quote is taken for the whole text."""
        return tuple(
            QuotePlace(
                self.page_text(c, c.quote), c.title, c.start, c.end, is_retracted(c.work), c.id
            )
            for c in citations
        )


def read_evidence(journal: Path | None, cited: Collection[str] | None = None) -> JournalEvidence:
    """Read the evidence in a journal; without a journal there is none.

    `cited`: the hashes of the pages that are needed; None: all. Of one text there are MAX_SAME.
    Raises JournalError if the file cannot be read. Lines of another shape than this program writes
    raise ValueError, LookupError, TypeError or AttributeError.
    """
    if not journal:
        return JournalEvidence({}, None)
    recording = read_journal(journal)
    recording.forget("late")  # the run has not used these
    pages: dict[str, list[Page]] = {}
    for line in recording.calls.values():
        for page in _pages_of(line):
            if cited is None or page.sha256 in cited:
                same = pages.setdefault(page.sha256, [])
                same.extend([page] if page not in same and len(same) < MAX_SAME else ())
    schema = get_path(recording.header, "settings", "slots_schema")
    corpus = str(recording.header.get("corpus", ""))
    slots_schema = schema if isinstance(schema, dict) else None
    is_own = recording.header.get("version", __version__) == __version__
    return JournalEvidence(pages, slots_schema, corpus, is_own)


def _pages_of(line: Json) -> Iterator[Page]:
    """The page of a read, or the hits of a search as pages whose text is the snippet.

    Their hashes are computed: what a line says of them proves nothing.
    """
    response = line.get("response", {})
    if line["call"] == "read" and response:
        text = str(response.get("text", ""))
        yield Page.model_validate({**response, "sha256": hash_text(text, "replace")})
    if line["call"] == "search":
        for hit in response.get("hits", ()):
            if hit.get("generated"):
                continue  # the words of a model, which are no source
            title, text = str(hit.get("title", "")), str(hit.get("snippet", ""))
            at = str(response.get("at", ""))
            yield Page.from_text(str(hit.get("url")), title, text, at, via="snippet")
