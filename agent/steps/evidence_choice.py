"""Which passages a prompt shows of the sources of a run."""

from __future__ import annotations

from agent.evidence import select_passages
from agent.evidence.citing import locate_citation
from agent.evidence.selection import NOTHING, Memory
from agent.slots.conversion import slot_words
from agent.state import Excerpt, Reflected, Research, Source, canonical_url

#: Of the best passage's score: a passage with less is not shown. On the 299 questions of several
#: hops of the half for tuning, 236 were right at 3,144 tokens a right answer with 0, 236 at 3,059
#: with .2, 236 at 2,760 with .28, 229 at 2,591 with .35.
LEAST_SHARE = 0.28
#: The same for one section of many, whose questions are about one fact each. `python -m evals
#: --only reports`: 100.0% and 100.0% at 593 and 721 tokens a fact with .4, 100.0% and 99.2% at
#: 544 and 769 with .44, 100.0% and 98.5% at 491 and 878 with .5. An only section may need several
#: facts: of 170 questions of several hops (of the half for tuning) 130 were right with .28, 123
#: with .4.
PART_SHARE = 0.44
MOST_NOTES = 20  # of earlier rounds in a prompt


def select_evidence(research: Research, budget: int) -> tuple[Excerpt, ...]:
    """The passages that a prompt shows, within a budget of tokens.

    They are ranked by the topic with its slots, by each slot that a reading left open, and by each
    query of the round; where a section of a report has no slots, by all its queries. A section
    with slots reads first what its own searches found. Of what a model read in an earlier round,
    only what it cited matters.
    """
    sources, queries = _own_sources(research), _ranking_queries(research)
    share, memory = _choose_share(research), _remember(research)
    return select_passages(sources, queries, budget, least_share=share, memory=memory)


def _choose_share(research: Research) -> float:
    """Of the best passage's score, what a passage must have to be shown."""
    if not research.section:
        return LEAST_SHARE if research.round > 1 else 0.0
    if not research.slots:
        return 0.0
    is_one_of_many = research.plan is not None and len(research.plan.sections) > 1
    return PART_SHARE if is_one_of_many else LEAST_SHARE


def _own_sources(research: Research) -> tuple[Source, ...]:
    """The sources that the searches of a section found, at its first reading; else all."""
    if not (research.section and research.slots) or research.reflections:
        return research.sources
    hits = research.hits
    own = tuple(one for one in research.sources if canonical_url(one.hit.url) in hits)
    return own or research.sources


def _remember(research: Research) -> Memory:
    """What the readings of earlier rounds cited, of a draft or of a slot.

    A model that found no answer cites what one will need, and so does one that read for the slots
    of a section. Where rules read, nothing is known: they cite what has the words of the topic.
    """
    earlier = (e for e in research.events_of(Reflected) if e.round < research.round)
    readings = [e for e in earlier if e.draft or (research.section and research.slots)]
    if not readings or research.is_read_by_rules:
        return NOTHING
    before = Research(research.topic)
    before.events = research.events[: research.events.index(readings[-1])]
    own = before.hits if research.section else {}
    read = frozenset(
        source.n
        for source in before.sources
        if not research.section or canonical_url(source.hit.url) in own
    )
    cited = (cited for one in readings if one.draft for cited in one.draft.citations)
    quotes = [quote for one in cited for quote in locate_citation(one, research.sources)]
    quotes += [statement.quote for one in readings for statement in one.said]
    return Memory(tuple(dict.fromkeys(quotes))[:MOST_NOTES], read, research.current_queries)


def _ranking_queries(research: Research) -> tuple[str, ...]:
    described = {slot.name: f"{slot_words(slot)} {slot.description}" for slot in research.slots}
    filled = {name for name, one in research.findings.items() if one.status == "filled"}
    if research.section and not filled.issuperset(described):
        described = {name: text for name, text in described.items() if name not in filled}
    whole = " ".join((research.topic, *described.values()))
    unread = not research.reflections
    still_open = (text for name, text in described.items() if name not in filled and not unread)
    is_asked_by_queries = research.section and not research.slots
    searched = research.queries if is_asked_by_queries else research.current_queries
    return (whole, *still_open, *searched)
