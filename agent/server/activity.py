"""What a run looks for and reads, as a page shows it: while it goes on, and when it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from agent.answer.addresses import CorpusAddresses
from agent.evidence.credibility import host_kind
from agent.run.passages import Passage, find_passages
from agent.state import (
    Blocked,
    Failed,
    Frozen,
    Hit,
    PageRead,
    Research,
    Searched,
)
from agent.state.urls import canonical_url

MAX_QUERIES, MAX_PAGES = 60, 200

PageState = Literal["waiting", "read", "snippet", "passed_over", "unreadable"]


class QueryActivity(Frozen):
    """A query: `results` is None until it was searched; `fault` says why it could not be."""

    query: str
    provider: str = ""
    results: int | None = None
    fault: str = ""


class PageActivity(Frozen):
    """A page that was found: by which query, what became of it and why."""

    url: str
    title: str
    query: str = ""
    state: PageState = "waiting"
    note: str = ""


class Activity(Frozen):
    """What a run did so far. `facts`: how many sources state a value of each slot.

    `waits`: the call that is under way for longest, in words with its time.

    `found` is empty once there is an answer with citations.
    """

    queries: tuple[QueryActivity, ...] = ()
    pages: tuple[PageActivity, ...] = ()
    found: tuple[Passage, ...] = ()
    facts: dict[str, int] = Field(default_factory=dict)
    waits: str = ""


def describe_activity(research: Research, corpus: str, *, is_answered: bool = False) -> Activity:
    """What a run did so far.

    `corpus` is where its corpus lies, which is not told. Any thread may call this.
    """
    addresses = CorpusAddresses(corpus)
    return Activity(
        queries=tuple(_describe_queries(research, addresses)),
        pages=tuple(_describe_pages(research, addresses)),
        found=() if is_answered else tuple(find_passages(research, addresses)),
        facts=_count_witnesses(research),
    )


def _describe_queries(research: Research, addresses: CorpusAddresses) -> Iterator[QueryActivity]:
    plan = research.plan
    planned = [sub.query for sub in plan.sub_queries] if plan else []
    found = {event.found.query: event.found for event in research.events_of(Searched)}
    faults = {e.subject: e.message for e in research.events_of(Failed) if e.what == "search"}
    queries = dict.fromkeys((*planned, *research.queries, *research.searched_queries))
    for query in tuple(queries)[:MAX_QUERIES]:
        if query in found:
            results = found[query]
            yield QueryActivity(query=query, provider=results.provider, results=len(results.hits))
        else:
            fault = addresses.shorten_text(faults.get(query, ""))
            yield QueryActivity(query=query, fault=fault)


def _describe_pages(research: Research, addresses: CorpusAddresses) -> Iterator[PageActivity]:
    """The pages that were found, in the order of the searches; then those read besides."""
    pages: dict[str, tuple[Hit, str]] = {}
    for event in research.events_of(Searched):
        for hit in event.found.hits:
            pages.setdefault(canonical_url(hit.url), (hit, event.found.query))
    for read in research.events_of(PageRead):
        pages.setdefault(canonical_url(read.hit.url), (read.hit, ""))
    ends = dict(_find_ends(research, addresses))
    for key, (hit, query) in tuple(pages.items())[:MAX_PAGES]:
        state, note, url, title = ends.get(key, ("waiting", "", hit.url, hit.title))
        yield PageActivity(
            url=addresses.shorten_url(url),
            title=title or hit.title,
            query=query,
            state=state,
            note=note,
        )


def _find_ends(
    research: Research, addresses: CorpusAddresses
) -> Iterator[tuple[str, tuple[PageState, str, str, str]]]:
    """What became of pages, by their canonical URLs: state, reason, address and title."""
    faults: dict[str, str] = {}
    for event in tuple(research.events):
        match event:
            case PageRead(page=page, hit=hit):
                key, is_whole = canonical_url(hit.url), page.via == "page"
                note = "" if is_whole else faults.get(key, "")
                yield key, ("read" if is_whole else "snippet", note, page.url, page.title)
            case Failed(what="page", subject=url):
                key = canonical_url(url)
                faults[key] = addresses.shorten_text(event.message)
                yield key, ("unreadable", faults[key], url, "")
            case Blocked(hit=hit):
                reason = host_kind(hit.url).reason
                yield canonical_url(hit.url), ("passed_over", reason, hit.url, hit.title)


def _count_witnesses(research: Research) -> dict[str, int]:
    findings = research.findings.values()
    return {one.slot: len({quote.source for quote in one.quotes}) for one in findings}
