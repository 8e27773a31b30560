"""How well texts fit a query: BM25 over their content words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from agent.evidence.words import content_words
from agent.state import Source

MOST_RANKED = 2_000_000  # characters of all sources: some forty long articles


@lru_cache(maxsize=4096)
def _count_words(text: str) -> Counter[str]:
    """The content words of a passage with their counts; cached, since pages are ranked often."""
    return Counter(content_words(text))


def ranked_length(sources: Sequence[Source]) -> int:
    """How many characters of each source are ranked, so that all are `MOST_RANKED` at most.

    Only the longest sources are cut.
    """
    left = MOST_RANKED
    lengths = sorted(len(source.page.text) for source in sources)
    for n, length in enumerate(lengths):
        share = left // (len(lengths) - n)
        if length > share:
            return share
        left -= length
    return MOST_RANKED


def rank_texts(texts: Sequence[str], query: str) -> list[float]:
    """The BM25 score of each text for a query (k1 1.2, b 0.75), over the given texts.

    Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
    """
    bags = [_count_words(text) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    mean = (sum(lengths) / len(lengths) if lengths else 0) or 1
    scores = [0.0] * len(texts)
    for word in dict.fromkeys(content_words(query)):  # in one order: sums differ in their last bits
        holding = sum(1 for bag in bags if word in bag)
        rarity = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
        for i, bag in enumerate(bags):
            if count := bag[word]:
                length = 0.25 + 0.75 * lengths[i] / mean
                scores[i] += rarity * count * 2.2 / (count + 1.2 * length)
    return scores
