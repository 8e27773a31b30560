"""Grounding: candidate quotes from the sources for an answer that came without valid ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent.evidence import closest_sentences, split_sentences
from agent.evidence.bm25 import word_shares
from agent.evidence.citing import compose_answer
from agent.evidence.language import language_of
from agent.evidence.markers import cited_numbers, strip_markers
from agent.evidence.prompt_injection import find_instruction
from agent.evidence.quoting import ranked_pieces
from agent.evidence.words import content_words, count_words
from agent.state import Answered, Cited, Draft, Quote, Source

#: The share of a topic, by how rare its words are, that the closest sentence has with its title.
#: Set by hand: where no page has a name of two, the other one is less.
NEAR = 0.5
BARE = "The answer came without a quote: what fits it best was taken"  # for Verify to judge


class Grounded(NamedTuple):
    """An answer with warnings, and whether its quotes were found for it: then it is `bare`."""

    answer: Answered
    warnings: tuple[str, ...]
    is_bare: bool = False


def ground_answer(draft: Draft, sources: Sequence[Source], topic: str, max_words: int) -> Grounded:
    """The answer of a draft.

    If no quote of the draft is in its source, each sentence cites the sentence of a page that fits
    it and the topic best, for Verify to judge. If there is none, the caller discards the answer.
    """
    answer, warnings = compose_answer(draft, sources, max_words)
    if answer.quotes or not draft.answer.strip():
        return Grounded(answer, warnings)
    cited = _cite_candidates(draft.answer, sources, topic, max_words)
    return Grounded(*compose_answer(cited, sources, max_words), is_bare=True)


def _cite_candidates(answer: str, sources: Sequence[Source], topic: str, max_words: int) -> Draft:
    """A draft whose sentences cite their candidates; empty if there is none.

    A sentence with markers has candidates only among the sources that it cites. The work is bounded
    by `max_words`.
    """
    texts: list[str] = []
    citations: list[Cited] = []
    words_left, tried = max_words, set[str]()
    for start, end in split_sentences(answer):
        cited = cited_numbers(answer[start:end])
        text = " ".join(strip_markers(answer[start:end]).split())
        allowed = [source for source in sources if source.n in cited] or sources
        is_new = words_left > 0 and text not in tried
        tried.add(text)
        words_left -= count_words(text) if is_new else 0
        near = closest_sentences(f"{topic} {text}", allowed) if is_new else []
        for quote in near[:1]:
            citations.append(Cited(source=quote.source, quote=quote.text))
            text += f" [{quote.source}]"
        texts.append(text)
    return Draft(answer=" ".join(texts) if citations else "", citations=citations)


def find_closest(sources: Sequence[Source], topic: str) -> Quote | None:
    """The sentence that fits a topic best, for a reader who is given no answer.

    None where it lacks the rare words of the topic, or gives orders to a model.
    """
    best = next(iter(closest_sentences(topic, sources, most=1)), None)
    if best is None or find_instruction(best.text):
        return None
    language = language_of(topic).tag
    pieces = ranked_pieces(sources, topic, split_sentences)
    bags = [set(content_words(source.page.text[a:b], language)) for source, (a, b) in pieces]
    shares = word_shares(content_words(topic, language), bags)
    own = content_words(f"{sources[best.source - 1].page.title} {best.text}", language)
    return best if sum(shares.get(word, 0.0) for word in set(own)) >= NEAR else None
