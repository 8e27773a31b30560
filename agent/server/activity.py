"""What a run looks for and reads, as a page shows it: while it goes on, and when it has ended."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from agent.answer.addresses import CorpusAddresses
from agent.answer.report import LookedAt, list_links
from agent.run.early_passages import Passage, find_passages
from agent.state import Failed, Frozen, Research, Searched

MAX_QUERIES, MAX_PAGES = 60, 200


class QueryActivity(Frozen):
    """A query: `results` is None until it was searched; `fault` says why it could not be."""

    query: str
    provider: str = ""
    results: int | None = None
    fault: str = ""


class PageActivity(LookedAt):
    """A page that was found, and by which query."""

    query: str = ""


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

    `corpus` is where its corpus lies, which is not shown. Any thread may call this.
    """
    addresses = CorpusAddresses(corpus)
    return Activity(
        queries=tuple(_describe_queries(research, addresses)),
        pages=tuple(_describe_pages(research, addresses)),
        found=() if is_answered else tuple(find_passages(research, addresses)),
        facts={
            one.slot: len({quote.source for quote in one.quotes})
            for one in research.findings.values()
        },
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
    queries: dict[str, str] = {}
    for event in research.events_of(Searched):
        for hit in event.found.hits:
            queries.setdefault(addresses.shorten_url(hit.url), event.found.query)
    for link in list_links(research, addresses)[:MAX_PAGES]:
        yield PageActivity(**link.model_dump(), query=queries.get(link.url, ""))
