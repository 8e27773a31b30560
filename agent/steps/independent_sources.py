"""Values that only pages of one kind state, and which independent pages could confirm them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.evidence import rank_texts
from agent.evidence.credibility import OWN, host_kind, host_owner, is_reference
from agent.evidence.near_duplicates import are_alike
from agent.state import Finding, Hit, Research

ASKED = 3  # pages that could be an independent source
ENOUGH = 2  # pages of one kind: one alone may simply be the first to be read


def find_lone(research: Research, findings: Iterable[Finding]) -> list[Finding]:
    """The values that pages of one kind alone state, where another page could be asked."""
    lone = [one for one in findings if one.status == "filled" and _witnesses(one, research)]
    return lone if lone and find_others(research, lone) else []


def find_others(research: Research, lone: Iterable[Finding]) -> list[Hit]:
    """The best untried hits of another kind than the pages that state lone values."""
    known = [hit for finding in lone for hit in _witnesses(finding, research)]
    hits = research.filter_untried(research.hits.values()) if known else []
    others = [hit for hit in hits if not is_of_kind(hit, known)]
    scores = rank_texts([f"{hit.title} {hit.snippet}" for hit in others], research.topic)
    order = sorted(range(len(others)), key=lambda n: -scores[n])
    return [others[n] for n in order if scores[n]][:ASKED]


def is_of_kind(hit: Hit, known: Sequence[Hit]) -> bool:
    """Whether a result says what one of some others says, or is of its owner."""
    owner = host_owner(hit.url)
    return any(are_alike(hit, one) or (owner and owner == host_owner(one.url)) for one in known)


def _witnesses(finding: Finding, research: Research) -> list[Hit]:
    """The results behind a value, if they are several and all of one kind; else none."""
    against = {n for other in finding.alternatives for n in other.citations}
    numbers = dict.fromkeys(q.source for q in finding.quotes if q.source not in against)
    hits = [research.sources[n - 1].hit for n in numbers]
    if len(hits) < ENOUGH or any(is_reference(h.url) or host_kind(h.url) is OWN for h in hits):
        return []
    return hits if all(is_of_kind(hit, hits[:1]) for hit in hits[1:]) else []
