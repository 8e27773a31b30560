"""What a run has found before there is an answer: sentences of its pages, not checked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from agent.answer.addresses import CorpusAddresses
from agent.evidence import is_heading, is_row, rank_texts, split_sentences
from agent.state import Frozen, Reflected, Research

MAX_PASSAGES = 6
MAX_CHARACTERS = 300  # of a passage
RANKED_CHARACTERS = 20_000  # of a page, of which the best sentence is shown


class Passage(Frozen):
    """A sentence of a page that was read, letter by letter."""

    text: str
    url: str
    title: str


def find_passages(research: Research, addresses: CorpusAddresses) -> Iterator[Passage]:
    """The quotes of the facts so far; of other pages the sentence that fits the topic best."""
    sources, seen = research.sources, set[str]()
    said = [one.quote for event in research.events_of(Reflected) for one in event.said]
    quoted = {quote.source: quote.text for quote in reversed(said)}
    for source in sources:
        if len(seen) == MAX_PASSAGES:
            return
        beginning = source.page.text[:RANKED_CHARACTERS]
        text = quoted.get(source.n) or _best_sentence(beginning, research.topic)
        if text and text not in seen:
            seen.add(text)
            page = source.page
            yield Passage(text=text, url=addresses.shorten_url(page.url), title=page.title)


@lru_cache(maxsize=128)  # whatever follows the run asks every second
def _best_sentence(text: str, topic: str) -> str:
    """The sentence of a page that fits a topic best; "" where none fits."""
    sentences = [text[start:end].strip() for start, end in split_sentences(text)]
    prose = [one for one in sentences if not (is_heading(one) or is_row(one))]
    scores = rank_texts(prose, topic) if prose else []
    best = max(scores, default=0.0)
    return prose[scores.index(best)][:MAX_CHARACTERS] if best > 0 else ""
