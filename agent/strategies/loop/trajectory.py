"""The trajectory: what a run did and found so far, as the prompts of the loop show it.

Format, for each step: `[Agent Performs Web Searching]` with its queries and its results (`<URL>`,
`<Title>`, `<Snippet>`), then `[Agent Performs Web Browsing]` with the passages that help inside
`<Useful Contents>`. The text keeps within a budget of tokens: older steps are cut first. What is
cut depends on what was found alone, so that prompts are deterministic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agent import state
from agent.evidence import content_words, estimate_tokens, render_sources, select_passages
from agent.evidence.bm25 import ranked_length, ranked_text
from agent.evidence.words import spaced_words
from agent.state import Excerpt, canonical_url
from agent.steps.prompt_rules import escape

RESULTS_SHARE = 0.25  # of the budget: at most this much for lists of search results
#: Of the budget for passages: divided evenly among the steps. The rest goes to the newest first.
EVEN_SHARE = 0.5
LISTED = 10  # hits of a search that a prompt lists
MAX_SNIPPET_CHARS = 200
#: The least number of the query's content words in a page that helps; one may be a coincidence.
MIN_SHARED_WORDS = 2
NO_USEFUL_CONTENTS = "No useful contents found"


class Trajectory(NamedTuple):
    """The text for a prompt, and the excerpts that it contains."""

    text: str
    evidence: tuple[Excerpt, ...]


@dataclass
class _Step:
    """What one step of the loop searched, found and read, or why it did not."""

    notes: list[str] = field(default_factory=list)
    queries: tuple[str, ...] = ()
    hit_count: int = 0
    new_hits: list[state.Hit] = field(default_factory=list)  # those that no earlier step found
    sources: list[state.Source] = field(default_factory=list)


def build_trajectory(research: state.Research, budget: int) -> Trajectory:
    """The trajectory of a run within a budget of tokens."""
    steps = _group_by_step(research)
    results = _render_results(steps, int(RESULTS_SHARE * budget))
    remaining = budget - sum(map(estimate_tokens, results))
    evidence = _select_contents(steps, research.topic, remaining)
    parts = [
        "\n".join(_render_step(step, results_of_step, excerpts))
        for step, results_of_step, excerpts in zip(steps, results, evidence, strict=True)
    ]
    shown = (excerpt for excerpts in evidence for excerpt in excerpts)
    return Trajectory("\n\n".join(filter(None, parts)), tuple(shown))


def drop_oldest(trajectory: str, by: int) -> str:
    """A trajectory without its first `by` characters, and without the step that they cut into."""
    if by <= 0:
        return trajectory
    rest = trajectory[by:]
    return rest.partition("\n\n")[2] or rest


def select_useful(
    sources: Sequence[state.Source], query: str, budget: int, length: int | None = None
) -> tuple[Excerpt, ...]:
    """The passages that fit a query best, of those pages that share enough words with it.

    Of each page about `length` characters are ranked, by default as many as `select_passages` does.
    """
    query_words = set(content_words(query))
    least = min(MIN_SHARED_WORDS, len(query_words))
    length = ranked_length(sources) if length is None else length
    texts = (f"{s.page.title} {ranked_text(s.page.text, query, length)}" for s in sources)
    shared = [_count_shared(query_words, text) for text in texts]
    helpful = [source for source, count in zip(sources, shared, strict=True) if count >= least]
    return select_passages(helpful, query, budget, length)


def _count_shared(words: set[str], text: str) -> int:
    there = spaced_words(text)
    return sum(f" {word} " in there for word in words)


def ranking_query(topic: str, queries: Sequence[str]) -> str:
    """The text by which passages are ranked: the topic and the queries, each once."""
    return " ".join(dict.fromkeys((topic, *queries)))


# --- the steps, from the events ----------------------------------------------------------------


def _group_by_step(research: state.Research) -> list[_Step]:
    """The events by step; the first one is what came before any decision."""
    steps: list[_Step] = [_Step()]
    sources = iter(research.sources)
    listed_urls: set[str] = set()
    for event in research.events:
        step = steps[-1]
        match event:
            case state.Decided():
                steps.append(_Step([event.note] if event.note else []))
            case state.Understood() | state.Queried():
                step.queries = event.queries
            case state.Searched(found=results) | state.Recalled(found=results):
                step.hit_count += len(results.hits)
                step.new_hits += _unlisted_hits(results.hits[:LISTED], listed_urls)
            case state.Failed(what="search"):
                step.notes.append(f"The search failed: {event.subject}")
            case state.PageRead():
                step.sources.append(next(sources))
    return steps


def _unlisted_hits(hits: Sequence[state.Hit], listed_urls: set[str]) -> Iterator[state.Hit]:
    """The hits whose page is not listed yet. Adds their URLs to `listed_urls`."""
    for hit in hits:
        if (url := canonical_url(hit.url)) not in listed_urls:
            listed_urls.add(url)
            yield hit


# --- the text, within the budget ---------------------------------------------------------------


def _render_results(steps: Sequence[_Step], budget: int) -> list[str]:
    """The search results of each step, the newest first within the budget."""
    texts: list[str] = []
    for step in reversed(steps):
        results: list[str] = []
        for result in map(_render_hit, step.new_hits):
            if (cost := estimate_tokens(result)) <= budget:
                budget -= cost
                results.append(result)
        texts.append("\n".join(results))
    return texts[::-1]


def _select_contents(steps: Sequence[_Step], topic: str, budget: int) -> list[tuple[Excerpt, ...]]:
    """The useful contents of each step: an even share for each, and the rest newest first."""
    steps_left = sum(bool(step.sources) for step in steps)
    share = int(EVEN_SHARE * budget) // (steps_left or 1)
    last_queries = next((step.queries for step in reversed(steps) if step.queries), ())
    contents: list[tuple[Excerpt, ...]] = []
    length = ranked_length([source for step in steps for source in step.sources])
    for step in reversed(steps):
        steps_left -= bool(step.sources)
        query = ranking_query(topic, (*step.queries, *last_queries))
        excerpts = select_useful(step.sources, query, budget - share * steps_left, length)
        budget -= estimate_tokens(render_sources(excerpts))
        contents.append(excerpts)
    return contents[::-1]


def _render_step(step: _Step, results: str, evidence: Sequence[Excerpt]) -> Iterator[str]:
    yield from map(_escape_line, step.notes)
    if not step.queries:
        return
    queries = json.dumps(step.queries, ensure_ascii=False)
    yield f"[Agent Performs Web Searching]\nSearch Queries: {_escape_line(queries)}"
    if not step.hit_count:
        yield "No search results found"
        return
    no_results = "(left out here)" if step.new_hits else "nothing that was not found before"
    yield f"Search Result:\n{results or no_results}"
    yield "\n[Agent Performs Web Browsing]"
    if evidence:
        yield f"<Useful Contents>\n{render_sources(evidence)}\n</Useful Contents>"
    else:
        yield NO_USEFUL_CONTENTS


def _render_hit(hit: state.Hit) -> str:
    snippet = " ".join(hit.snippet.split())[:MAX_SNIPPET_CHARS]
    return (
        f"<URL>{_escape_line(hit.url)}</URL>\n<Title>{_escape_line(hit.title)}</Title>\n"
        f"<Snippet>{_escape_line(snippet)}</Snippet>"
    )


def _escape_line(text: str) -> str:
    return escape(" ".join(text.split()))
