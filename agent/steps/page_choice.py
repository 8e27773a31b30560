"""Which pages are read: by rank alone, and in later rounds further than the earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.evidence import rank_texts
from agent.evidence.credibility import host_owner, is_reference
from agent.evidence.near_duplicates import are_alike, repeats_hit, repeats_question
from agent.evidence.proper_names import is_named
from agent.slots.conversion import slot_words
from agent.state import Hit, Research, Searched, SearchResults, canonical_url, index_hits
from agent.steps.independent_sources import find_lone, find_others

#: Pages of a later round that fit what is missing, for each page that a query reads. Of 299
#: questions of several hops (the half for tuning) 236 were right with 1, 240 with 2, 243 with 3.
FITTING = 3
#: What the ranks of a hit in all searches count against the words that it shares with what is
#: missing. Of the same questions 243 were right with 0, 246 with .25, 248 with .5.
FUSED = 0.5
EVEN = 5  # ranks; the more, the less a first rank counts before a tenth


def choose_pages(research: Research, limit: int) -> list[Hit]:
    """The untried pages among those that this round may read.

    In the first round these are the best `limit` hits of each query. In a later one each query has
    one fewer, of those that no earlier round and no earlier query of this round took. Then follow
    hits of all searches so far that fit best what is missing, up to `most_pages`; at last other
    hits of this round. Those that could be an independent source of a value go before all.
    """
    results = research.round_results
    if research.round < 2:
        chosen = [hit for found in results for hit in best_hits(found, limit, research.topic)]
    else:
        lone = find_lone(research, research.findings.values())
        chosen = choose_further(results, research.pages_tried_before, limit, research.topic)
        chosen = [*find_others(research, lone), *_extend(research, chosen)]
        chosen = chosen[: most_pages(research.round, len(results), limit)]
    return research.filter_untried(chosen)


def most_pages(round: int, queries: int, limit: int) -> int:
    """How many pages a round reads at most."""
    if round < 2:
        return limit * queries
    return _limit_of_further(limit) * queries + FITTING * limit


def best_hits(found: SearchResults, limit: int, topic: str = "") -> list[Hit]:
    """The best `limit` hits of one search, those of independent witnesses before the others.

    Pages that the topic or the query names come first: a search that names two things often finds
    many pages about one before the other's own. The first place apart, reference works take those
    of other hosts that say what one before them says, and the last place where they would have
    none.
    """
    ranked = _independent_first(_named_first(found, topic), topic)
    best, rest = ranked[:limit], ranked[limit:]
    waiting = [hit for hit in rest if is_reference(hit.url)]
    for place in range(len(best) - 1, 0, -1):
        if not waiting:
            break
        has_none = not any(is_reference(hit.url) for hit in best)
        if has_none or _says_the_same(best[place], best[:place]):
            best[place] = waiting.pop(0)
    return best


def _named_first(found: SearchResults, topic: str) -> list[Hit]:
    """The hits by rank, but first those that topic or query name, and do not repeat as a whole."""

    def is_other(hit: Hit) -> bool:
        named = is_named(hit.title, topic) or is_named(hit.title, found.query)
        return not named or repeats_question(hit, topic)

    return sorted(found.hits, key=is_other)


def _says_the_same(hit: Hit, before: Sequence[Hit]) -> bool:
    """Whether a result of no reference work is much alike one before it."""
    return not is_reference(hit.url) and any(are_alike(hit, other) for other in before)


def choose_further(
    results: Iterable[SearchResults], tried: frozenset[str], limit: int, topic: str = ""
) -> list[Hit]:
    """The best hits of each search of a later round that are not tried and not taken before it.

    What the first searches take does not depend on the later ones.
    """
    taken: dict[str, Hit] = {}
    for found in results:
        known = taken.keys() | tried
        free = tuple(hit for key, hit in index_hits(found.hits).items() if key not in known)
        fresh = found.model_copy(update={"hits": free})
        taken |= index_hits(best_hits(fresh, _limit_of_further(limit), topic))
    return list(taken.values())


def _limit_of_further(limit: int) -> int:
    """How many pages each query of a later round may read."""
    return limit - 1 if limit > 1 else limit


def _independent_first(hits: Iterable[Hit], topic: str) -> list[Hit]:
    """The hits by rank, but those behind the others that an owner or a text has before them.

    Of pages that repeat the topic's question one counts. Several pages of a reference work
    are no witnesses to each other: one is of the town, another of its mayor.
    """
    first: list[Hit] = []
    later: list[Hit] = []
    has_asking = False
    for hit in index_hits(hits).values():
        is_asking = repeats_question(hit, topic)
        is_later = has_asking and is_asking or any(_is_one_witness(hit, other) for other in first)
        (later if is_later else first).append(hit)
        has_asking = has_asking or is_asking
    return first + later


def _is_one_witness(one: Hit, other: Hit) -> bool:
    owner = host_owner(one.url)
    is_same_owner = bool(owner) and owner == host_owner(other.url) and not is_reference(one.url)
    return is_same_owner or repeats_hit(one, other)


def _extend(research: Research, chosen: Sequence[Hit]) -> list[Hit]:
    """Chosen hits, then those of all searches that fit what is missing, then this round's."""
    tried = research.pages_tried_before
    rest = [hit for found in research.round_results for hit in found.hits]
    ordered = index_hits([*chosen, *_fitting_hits(research), *rest])
    return [hit for key, hit in ordered.items() if key not in tried]


def _fitting_hits(research: Research) -> list[Hit]:
    """The hits of all searches that fit what is missing and were not tried, best first."""
    tried = research.pages_tried_before
    # what earlier runs alone found is no page to read: it was recalled from their journals
    searches = [event.found.hits for event in research.events_of(Searched)]
    found = index_hits(hit for hits in searches for hit in hits)
    hits = [hit for key, hit in found.items() if key not in tried]
    missing = [name for name, one in research.findings.items() if one.status != "filled"]
    wanted = " ".join([research.topic, *research.current_queries, *map(slot_words, missing)])
    fits = _shares(rank_texts([f"{hit.title} {hit.snippet}" for hit in hits], wanted))
    fused = fuse_ranks(searches)
    ranks = _shares([fused[canonical_url(hit.url)] for hit in hits])
    scores = [fit and fit + FUSED * rank for fit, rank in zip(fits, ranks, strict=True)]
    order = sorted(range(len(hits)), key=lambda i: -scores[i])
    return [hits[i] for i in order if scores[i]]


def fuse_ranks(searches: Iterable[Sequence[Hit]]) -> dict[str, float]:
    """For each page, by its canonical URL, the sum of its reciprocal ranks in all searches.

    Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009.
    """
    fused: dict[str, float] = {}
    for hits in searches:
        for rank, page in enumerate(index_hits(hits)):
            fused[page] = fused.get(page, 0.0) + 1 / (EVEN + rank)
    return fused


def _shares(values: Sequence[float]) -> list[float]:
    """Each value as a share of the greatest."""
    top = max(values, default=0.0) or 1.0
    return [value / top for value in values]
