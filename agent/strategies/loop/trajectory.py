"""The trajectory: all that a run did and found so far, as the prompts of the loop show it.

Format: the markers and tags of system D. It never outgrows its budget of tokens: older turns are
cut first, and what is cut depends on what was found alone.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agent.evidence import select, show, tokens, words
from agent.outside import Excerpt
from agent.state import (
    Browsed,
    Decided,
    Failed,
    Hit,
    PageRead,
    Queried,
    Quote,
    Research,
    Searched,
    Source,
)
from agent.state.urls import canonical

RESULTS = 0.25  # of the budget: the most that lists of search results take
OLDER = 0.5  # of the rest: shared evenly by all turns; what is left goes to the newest first
SNIPPET = 200  # characters of what a search says of a page
#: Content words of what is looked for that a page must hold to be of use; one is chance.
NEAR = 2
NOTHING = "No useful contents found"


class Trajectory(NamedTuple):
    """The text of a prompt, and the passages that stand in it."""

    text: str
    evidence: tuple[Excerpt, ...]


@dataclass
class _Turn:
    """What one step did: what it searched, found and read, or why nothing came of it."""

    notes: list[str] = field(default_factory=list)
    queries: tuple[str, ...] = ()
    found: int = 0  # hits
    hits: list[Hit] = field(default_factory=list)  # those that no turn before had found
    sources: list[Source] = field(default_factory=list)
    quotes: tuple[Quote, ...] = ()


def trajectory(research: Research, budget: int) -> Trajectory:
    """The trajectory of a run within a budget of tokens."""
    turns = _turns(research)
    results = _listed(turns, int(RESULTS * budget))
    spent = sum(map(tokens, results))
    evidence = _shared(turns, research.topic, budget - spent)
    parts = [_told(*of) for of in zip(turns, results, evidence, strict=True)]
    shown = (excerpt for excerpts in evidence for excerpt in excerpts)
    return Trajectory("\n\n".join(filter(None, parts)), tuple(shown))


def useful(sources: Sequence[Source], wanted: str, budget: int) -> tuple[Excerpt, ...]:
    """What of some pages helps to find what is wanted, by ranking; nothing of pages that do not."""
    asked = set(words(wanted))
    near = min(NEAR, len(asked))
    helping = [s for s in sources if len(asked & set(words(_whole(s)))) >= near]
    return select(helping, wanted, budget)


def looked_for(topic: str, queries: Sequence[str]) -> str:
    """What passages are ranked by: the question, and what was searched for in its name."""
    return " ".join(dict.fromkeys((topic, *queries)))


def _whole(source: Source) -> str:
    return f"{source.page.title} {source.page.text}"


# --- what happened ---------------------------------------------------------------------------


def _turns(research: Research) -> list[_Turn]:
    turns: list[_Turn] = [_Turn()]
    sources = iter(research.sources)
    listed: set[str] = set()
    for event in research.events:
        turn = turns[-1]
        match event:
            case Decided():
                turns.append(_Turn([event.note] if event.note else []))
            case Queried():
                turn.queries = event.queries
            case Searched(found=found):
                turn.found += len(found.hits)
                turn.hits += _unlisted(found.hits, listed)
            case Failed(what="search"):
                turn.notes.append(f"The search failed: {event.subject}")
            case PageRead():
                turn.sources.append(next(sources))
            case Browsed():
                turn.quotes = event.quotes
    return turns


def _unlisted(hits: Sequence[Hit], listed: set[str]) -> Iterator[Hit]:
    for hit in hits:
        if (url := canonical(hit.url)) not in listed:
            listed.add(url)
            yield hit


# --- what is shown of it -----------------------------------------------------------------------


def _listed(turns: Sequence[_Turn], budget: int) -> list[str]:
    """The search results of each turn, newest first within the budget."""
    lists: list[str] = []
    for turn in reversed(turns):
        rows: list[str] = []
        for row in map(_result, turn.hits):
            if (cost := tokens(row)) <= budget:
                budget -= cost
                rows.append(row)
        lists.append("\n".join(rows))
    return lists[::-1]


def _shared(turns: Sequence[_Turn], topic: str, budget: int) -> list[tuple[Excerpt, ...]]:
    """The useful contents of each turn: an even share for all, and the rest newest first."""
    browsed = sum(bool(turn.sources) for turn in turns)
    share = int(OLDER * budget) // (browsed or 1)
    last = next((turn.queries for turn in reversed(turns) if turn.queries), ())
    shown: list[tuple[Excerpt, ...]] = []
    for turn in reversed(turns):
        browsed -= bool(turn.sources)
        wanted = looked_for(topic, (*turn.queries, *last))
        excerpts = _contents(turn, wanted, budget - share * browsed)
        budget -= tokens(show(excerpts))
        shown.append(excerpts)
    return shown[::-1]


def _contents(turn: _Turn, wanted: str, budget: int) -> tuple[Excerpt, ...]:
    named = {quote.source for quote in turn.quotes}
    helped = [_quoted(source, turn.quotes) for source in turn.sources if source.n in named]
    return tuple(helped) or useful(turn.sources, wanted, budget)


def _quoted(source: Source, quotes: Sequence[Quote]) -> Excerpt:
    own = tuple(quote.text for quote in quotes if quote.source == source.n)
    return Excerpt(source=source.n, title=source.page.title, url=source.page.url, passages=own)


def _told(turn: _Turn, results: str, evidence: Sequence[Excerpt]) -> str:
    return "\n".join([*map(_escaped, turn.notes), *_searched(turn, results, evidence)])


def _searched(turn: _Turn, results: str, evidence: Sequence[Excerpt]) -> Iterator[str]:
    if not turn.queries:
        return
    queries = json.dumps(turn.queries, ensure_ascii=False)
    yield f"[Agent Performs Web Searching]\nSearch Queries: {_escaped(queries)}"
    if not turn.found:
        yield "No search results found"
        return
    none = "(left out here)" if turn.hits else "nothing that was not found before"
    yield f"Search Result:\n{results or none}"
    yield "\n[Agent Performs Web Browsing]"
    yield f"<Useful Contents>\n{show(evidence)}\n</Useful Contents>" if evidence else NOTHING


def _result(hit: Hit) -> str:
    snippet = " ".join(hit.snippet.split())[:SNIPPET]
    return (
        f"<URL>{_escaped(hit.url)}</URL>\n<Title>{_escaped(hit.title)}</Title>\n"
        f"<Snippet>{_escaped(snippet)}</Snippet>"
    )


def _escaped(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False)
