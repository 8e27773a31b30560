"""Sources that are copies, or near-copies, of another."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.evidence.ranking import ranked_length
from agent.evidence.words import CJK
from agent.state import Source

SHINGLE = 5  # words: two writers seldom hit on the same five in a row
#: The share of the smaller text's shingles from which it repeats the other one: a copy keeps most
#: of them under another heading or with a few words changed. Set by hand: `evals.conflicts`.
REPEATED = 0.5
_CHUNK = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")


def find_copies(sources: Sequence[Source]) -> dict[int, int]:
    """For each source's number, that of the first source whose text it repeats; else its own.

    Near-copies too: a text under another heading, shortened, or with some words changed. Each
    text is compared by its shingles (`SHINGLE` words in a row, case and signs aside) with those
    before it; the smaller one's share that both hold counts (containment; Broder, On the
    resemblance and containment of documents, 1997). A copy leads to what it repeats only where it
    is no mere excerpt, which others may quote too. Of long texts the beginnings are compared.
    """
    held: dict[int, set[int]] = {}
    first: dict[int, int] = {}
    length = ranked_length(sources)
    for source in sources:
        own = _shingles(source.page.text[:length])
        same = (n for n, other in held.items() if _is_copy(own, other))
        whole = (first[n] for n in same if first[n] == n or len(held[n]) >= len(own) / 2)
        first[source.n] = next(whole, source.n)
        held[source.n] = own
    return first


def _is_copy(own: set[int], other: set[int]) -> bool:
    return len(own & other) >= REPEATED * min(len(own), len(other))


def _shingles(text: str) -> set[int]:
    words = _CHUNK.findall(text.casefold())
    if len(words) < SHINGLE:
        return {hash(tuple(words))}
    return set(map(hash, zip(*(words[i:] for i in range(SHINGLE)), strict=False)))
