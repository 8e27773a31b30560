"""What a journal holds that an answer can be checked against: page texts, searches, judgements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from agent.answer import Citation
from agent.checking.rules import Assessment, QuotePlace
from agent.outside.recording import read_journal
from agent.search.chain import FOR_RESEARCH
from agent.state.json_data import Json, get_path
from agent.state.values import hash_text, is_retracted
from agent.steps.judges import recorded_assessments


class JournalEvidence(NamedTuple):
    """What a journal holds of a run."""

    pages: dict[str, list[Json]]  # by the SHA-256 of their text
    queries: Sequence[str]
    assessments: dict[str, Assessment]  # of models, by the text of the claim that they were shown
    slots_schema: Json | None  # None where the run was given none
    corpus: str = ""  # where it lies

    def page_text(self, citation: Citation, default: str = "") -> str:
        """The text of the page that is cited, or the default if the journal does not hold it."""
        page = next(iter(self.pages.get(citation.page_sha256, ())), {})
        return str(page.get("text", default))

    def quote_places(self, citations: Sequence[Citation]) -> tuple[QuotePlace, ...]:
        """Where the quotes stand. Of an unknown page, the quote is taken for the whole text."""
        return tuple(
            QuotePlace(
                self.page_text(c, c.quote), c.title, c.start, c.end, is_retracted(c.work), c.id
            )
            for c in citations
        )


def read_evidence(journal: Path | None) -> JournalEvidence:
    """Read the evidence in a journal; without a journal there is none.

    Raises JournalError if the file cannot be read. Lines of another shape than this program writes
    raise ValueError, LookupError, TypeError or AttributeError.
    """
    if not journal:
        return JournalEvidence({}, [], {}, None)
    recording = read_journal(journal)
    recording.forget("late")  # the run has not used these
    calls = list(recording.calls.values())
    schema = get_path(recording.header, "settings", "slots_schema")
    return JournalEvidence(
        _index_pages(calls),
        [
            str(line["request"].get("query")).removesuffix(FOR_RESEARCH)
            for line in calls
            if line["call"] == "search"
        ],
        recorded_assessments(calls),
        schema if isinstance(schema, dict) else None,
        str(recording.header.get("corpus", "")),
    )


def _index_pages(calls: Sequence[Json]) -> dict[str, list[Json]]:
    """The pages and snippets that the run got, by the SHA-256 of their text."""
    pages: dict[str, list[Json]] = {}
    for line in calls:
        for page in _pages_of(line):
            key = hash_text(str(page.get("text", "")), "replace")
            pages.setdefault(key, []).append(page)
    return pages


def _pages_of(line: Json) -> Iterator[Json]:
    """The page of a read, or the hits of a search as pages whose text is the snippet."""
    response = line.get("response", {})
    if line["call"] == "read":
        yield response
    if line["call"] == "search":
        for hit in response.get("hits", ()):
            if hit.get("generated"):
                continue  # the words of a model, which are no source
            yield {**hit, "text": hit.get("snippet"), "retrieved_at": response.get("at")}
