"""Sources that are copies, or near-copies, of another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from agent.evidence.bm25 import ranked_length
from agent.evidence.language import ends_as_question
from agent.evidence.words import CJK, content_words
from agent.state import Hit, Source

SHINGLE = 5  # words: two writers seldom hit on the same five in a row
#: The share of the smaller text's shingles from which it repeats the other one: a copy keeps most
#: of them under another heading or with a few words changed. Set by hand: `evals.conflicts`.
REPEATED = 0.5
LEAST_SHINGLES = 10  # of a search result that is compared; set by hand
#: Words of a question that a result repeats: texts about the same thing share fewer.
LEAST_REPEATED = 6
#: The share of the content words of two results from which these are alike. After a change:
#: `python -m evals.planted`.
ALIKE = 0.25
_NUMBER = re.compile(r"\d(?:[\d.,]{0,20}\d)?")
_CHUNK = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")


def find_copies(sources: Sequence[Source]) -> dict[int, int]:
    """For each source's number, that of the first source whose text it repeats; else its own.

    Near-copies too: each text is compared with those before it by shingles (`SHINGLE` words in a
    row); the share of the smaller one that both have counts (containment; Broder, On the
    resemblance and containment of documents, 1997). A copy of an excerpt does not count as a copy
    of its source. Of long texts the beginnings are compared.
    """
    shingles: dict[int, set[int]] = {}
    first: dict[int, int] = {}
    length = ranked_length(sources)
    for source in sources:
        own = _shingles(source.page.text[:length])
        same = (n for n, other in shingles.items() if _is_copy(own, other))
        whole = (first[n] for n in same if first[n] == n or len(shingles[n]) >= len(own) / 2)
        first[source.n] = next(whole, source.n)
        shingles[source.n] = own
    return first


def repeats_hit(one: Hit, other: Hit) -> bool:
    """Whether two results are near-copies of each other by what their search shows.

    Another number makes another page: two finals are reported in the same words. Short snippets
    may be alike by coincidence.
    """
    (numbers, own), (others_numbers, others) = map(_read_hit, (one, other))
    is_long = min(len(own), len(others)) >= LEAST_SHINGLES
    return is_long and numbers == others_numbers and _is_copy(own, others)


@lru_cache(maxsize=256)  # each result is compared with each other one
def _read_hit(hit: Hit) -> tuple[set[str], set[int]]:
    text = f"{hit.title} {hit.snippet}"
    return {re.sub("[.,]", "", one) for one in _NUMBER.findall(text)}, _shingles(text)


def are_alike(one: Hit, other: Hit) -> bool:
    """Whether two results have so many words in common as texts with one statement have."""
    own, others = (set(content_words(f"{hit.title} {hit.snippet}")) for hit in (one, other))
    return len(own & others) >= ALIKE * max(1, len(own | others))


def repeats_question(hit: Hit, topic: str) -> bool:
    """Whether a result has a whole question word for word.

    Pages that answer a question seldom ask it in the same words; those that were written to be
    found by it do.
    """
    words = _CHUNK.findall(topic.casefold())
    if len(words) < LEAST_REPEATED or not ends_as_question(topic):
        return False
    text = f"{hit.title} {hit.snippet}".casefold()
    return f" {' '.join(words)} " in f" {' '.join(_CHUNK.findall(text))} "


def _is_copy(own: set[int], other: set[int]) -> bool:
    return len(own & other) >= REPEATED * min(len(own), len(other))


def _shingles(text: str) -> set[int]:
    words = _CHUNK.findall(text.casefold())
    runs = zip(*(words[i:] for i in range(SHINGLE)), strict=False)
    return set(map(hash, runs)) or {hash(tuple(words))}
