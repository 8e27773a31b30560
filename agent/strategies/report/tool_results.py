"""The replies to a model's tool calls: search results, passages of a page, errors."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator

from agent.calls.model_tools import ToolCall
from agent.evidence import fold, render_sources, select_passages
from agent.evidence.credibility import Blocking, Credibility
from agent.state import Blocked, Failed, Hit, PageRead, Research, Searched
from agent.state.sanitizing import sanitize_line
from agent.state.urls import canonical_url
from agent.steps.prompt_rules import escape
from agent.strategies.report.tool_calls import (
    SEARCH,
    credibility_scores,
    find_fault,
    find_page_event,
    read_page_key,
    read_query,
)

PAGE_TOKENS = 750  # of a page that is shown: about 3,000 characters of English
NOTHING_NEW = "No other pages: all that it finds were read."


def render_result(call: ToolCall, research: Research, blocking: Blocking) -> str:
    """The result of a call, from what the run knows by now."""
    if fault := find_fault(call, research):
        return render_error(fault)
    if call.name == SEARCH.name:
        return _render_search(read_query(call), research, blocking)
    return _render_page(read_page_key(call), research)


def render_error(message: str) -> str:
    """An error as JSON for the model."""
    return escape(json.dumps({"error": message}, ensure_ascii=False))


def _render_search(query: str, research: Research, blocking: Blocking) -> str:
    key, scores = fold(query), credibility_scores(research, blocking)
    for event in research.events_of(Searched):
        if fold(event.found.query) == key:
            hits = "\n".join(_render_hits(event, research, scores))
            return hits or (NOTHING_NEW if event.found.hits else "No results.")
    failures = (
        event.message
        for event in research.events_of(Failed)
        if event.what == "search" and fold(event.subject) == key
    )
    reason = next(failures, "it was not made")
    return render_error(f"no results: {sanitize_line(reason, 300)}")


def _render_hits(
    search: Searched, research: Research, scores: dict[str, tuple[Hit, Credibility]]
) -> Iterator[str]:
    """The hits of a search; one that this round listed before by its address, none that was read.

    A search that an earlier round made shows them all.
    """
    is_new = search.round == research.round
    before = research.events[: research.events.index(search)] if is_new else []
    read = {canonical_url(one.hit.url) for one in before if isinstance(one, PageRead)}
    searches = [one for one in before if isinstance(one, Searched) and one.round == search.round]
    listed = {canonical_url(h.url) for one in searches if not one.section for h in one.found.hits}
    for hit in search.found.hits:
        key = canonical_url(hit.url)
        if key in listed:
            yield f'<hit url="{html.escape(hit.url)}"/>'
        elif key not in read:
            yield _render_hit(hit, scores)


def _render_hit(hit: Hit, scores: dict[str, tuple[Hit, Credibility]]) -> str:
    """A hit as an element, escaped like a source."""
    score = scores.get(canonical_url(hit.url))
    credibility = f' credibility="{score[1].score:g}"' if score else ""
    head = f'<hit url="{html.escape(hit.url)}" title="{html.escape(hit.title)}"{credibility}>'
    return f"{head}{escape(hit.snippet)}</hit>"


def _render_page(key: str, research: Research) -> str:
    match find_page_event(key, research):
        case PageRead():
            sources = [s for s in research.sources if canonical_url(s.hit.url) == key]
            queries = (research.topic, *research.current_queries)
            return render_sources(select_passages(sources[:1], queries, PAGE_TOKENS))
        case Blocked(score=score, threshold=threshold):
            return render_error(f"blocked: its credibility {score:g} is not above {threshold:g}")
        case Failed(message=message):
            return render_error(f"the page cannot be read: {sanitize_line(message, 300)}")
    return render_error("a search has named it only now; call again to read it")
