"""A report's sentences as a model writes them, reduced to citations that their sources contain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from pydantic import Field

from agent.evidence import split_sentences
from agent.evidence.citing import locate_citation
from agent.evidence.markers import strip_markers
from agent.state import Cited, Claim, Frozen, Quote, Source, sanitize_line

MAX_SENTENCES = 60  # of a section
MAX_TEXT_CHARS = 2000  # of a sentence as it is written


class DraftSentence(Frozen):
    """A sentence, and the quotes that support it."""

    text: str = Field(description="one sentence, without [n]")
    citations: list[Cited] = Field(default_factory=list, description="a quote for each source")


class SentenceClaims:
    """Makes claims of written sentences; collects their quotes and the citations that are lost.

    A citation is lost if its source does not contain the quote. Whether the quote supports the
    sentence is checked later, by Verify.
    """

    def __init__(self, sources: Sequence[Source], max_citations: int | None) -> None:
        self._sources = sources
        self._max_citations = max_citations
        self.quotes: list[Quote] = []
        self.lost: list[Cited] = []

    def build_claims(self, sentences: Sequence[DraftSentence]) -> tuple[Claim, ...]:
        """The claims, each citing the sources of its quotes."""
        claims = (claim for sentence in sentences for claim in self._split(sentence))
        return tuple(islice(claims, MAX_SENTENCES))

    def _split(self, sentence: DraftSentence) -> Iterator[Claim]:
        """A claim for each sentence of the text, so that each has a verdict of its own."""
        text = clean_line(sentence.text, MAX_TEXT_CHARS)
        if not text:
            return
        found = [
            (cited, locate_citation(cited, self._sources, text)) for cited in sentence.citations
        ]
        quotes = [quote for _, located in found for quote in located]
        self.lost += [c for c, located in found if not located and c not in self.lost]
        citations = tuple(dict.fromkeys(quote.source for quote in quotes))[: self._max_citations]
        self.quotes += [quote for quote in quotes if quote.source in citations]
        for start, end in split_sentences(text):
            yield Claim(text=text[start:end], citations=citations)


def clean_line(text: str, limit: int) -> str:
    """A text on one line, without the model's own markers, which are set in code."""
    return sanitize_line(strip_markers(text), limit)
