"""How well texts fit a query: BM25 over their content words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from agent.evidence.language import language_of
from agent.evidence.words import content_words
from agent.state import Source

Span = tuple[int, int]

MOST_RANKED = 1_000_000  # characters of all sources: some twenty long articles
MOST_OF_PAGE = 300_000  # characters; the longest articles of Wikipedia have as many
BLOCK = 4000  # characters that are ranked together or left out together


@lru_cache(maxsize=4096)
def _count_words(text: str, language: str) -> Counter[str]:
    return Counter(content_words(text, language))


def ranked_length(sources: Sequence[Source]) -> int:
    """How many characters of each source are ranked, so that all are `MOST_RANKED` at most.

    Only the longest sources are cut, those of more than `MOST_OF_PAGE` characters always.
    """
    left = MOST_RANKED
    lengths = sorted(len(source.page.text) for source in sources)
    for n, length in enumerate(lengths):
        share = left // (len(lengths) - n)
        if length > share:
            return min(share, MOST_OF_PAGE)
        left -= length
    return MOST_OF_PAGE


def ranked_spans(text: str, query: str, length: int) -> list[Span]:
    """The spans of a text that are ranked for a query, in order: all of it if it is not too long.

    Else its beginning, and those blocks that hold the most words of the query, of about `length`
    characters together.
    """
    if len(text) <= length:
        return [(0, len(text))]
    blocks = list(_cut_blocks(text))
    words = tuple(dict.fromkeys(content_words(query[:BLOCK], language_of(query).tag)))
    folded = (text[start:end].casefold() for start, end in blocks)
    found = [sum(word in block for word in words) for block in folded]
    order = sorted(range(1, len(blocks)), key=lambda i: -found[i])
    return join_spans([blocks[i] for i in sorted([0, *order[: length // BLOCK]])])


def join_spans(spans: Iterable[Span], gap: int = 0) -> list[Span]:
    """Sorted spans, those as one that are at most `gap` characters apart."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and start - joined[-1][1] <= gap:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def ranked_text(text: str, query: str, length: int) -> str:
    """The parts of a text that are ranked for a query, as one text."""
    return " ".join(text[start:end] for start, end in ranked_spans(text, query, length))


def _cut_blocks(text: str) -> Iterator[Span]:
    """Blocks of at most `BLOCK` characters, cut after a line, else after a blank, else anywhere."""
    start = 0
    while start < len(text):
        end = start + BLOCK
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or text.rfind(" ", start, end) + 1 or end
        yield start, min(end, len(text))
        start = end


def rank_texts(texts: Sequence[str], query: str) -> list[float]:
    """The BM25 score of each text for a query (k1 1.2, b 0.75), over the given texts.

    Words are read as in the language of the query. Robertson and Zaragoza, The Probabilistic
    Relevance Framework, 2009.
    """
    language = language_of(query).tag
    bags = [_count_words(text, language) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    mean = (sum(lengths) / len(lengths) if lengths else 0) or 1
    place = {word: n for n, word in enumerate(dict.fromkeys(content_words(query, language)))}
    # in one order: sums differ in their last bits
    found = [sorted(place.keys() & bag.keys(), key=place.__getitem__) for bag in bags]
    holding = Counter(word for words in found for word in words)
    rarity = {w: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) for w, n in holding.items()}
    scores = [0.0] * len(texts)
    for i, bag in enumerate(bags):
        length = 0.25 + 0.75 * lengths[i] / mean
        for word in found[i]:
            scores[i] += rarity[word] * bag[word] * 2.2 / (bag[word] + 1.2 * length)
    return scores


def word_shares(words: Sequence[str], bags: Sequence[Collection[str]]) -> dict[str, float]:
    """What share of a query each of its words is: the rarer among bags of words, the more."""
    counts = {word: sum(word in bag for bag in bags) for word in words}
    rarity = {w: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) + 0.5 for w, n in counts.items()}
    total = sum(rarity.values())
    return {word: value / total for word, value in rarity.items()}
