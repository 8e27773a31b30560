"""The links that a run looked at, and what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from agent.answer.addresses import CorpusAddresses
from agent.state import Failed, Frozen, PageRead, Research, seldom
from agent.state.urls import canonical_url

#: Outcomes of a page that count as `blocked`; all others count as `failed`.
BLOCKED_OUTCOMES = ("blocked", "forbidden")
LOW_CREDIBILITY = "low credibility"


class LookedAt(Frozen):
    """A page that was found or tried. `reason`: why it was not read, where that is known."""

    url: str
    title: str = ""
    became: Literal["read", "snippet", "blocked", "failed", "found"]
    reason: str = seldom("")


def list_links(research: Research, addresses: CorpusAddresses) -> tuple[LookedAt, ...]:
    """Every page once: those that were found, in the order of the searches, then others."""
    links: dict[str, LookedAt] = {}
    for link in _follow(research):
        before = links.get(key := canonical_url(link.url), link)
        told = {"title": link.title or before.title}
        if link.became == "snippet":
            told["reason"] = before.reason
        links[key] = link.model_copy(update=told)
    return tuple(
        link.model_copy(
            update={
                "url": addresses.shorten_url(link.url),
                "reason": addresses.shorten_text(link.reason),
            }
        )
        for link in links.values()
    )


def _follow(research: Research) -> Iterator[LookedAt]:
    """What became of the pages; what comes later of one is what it is."""
    for hit in research.hits.values():
        yield LookedAt(url=hit.url, title=hit.title, became="found")
    for one in research.blocked_pages:
        yield LookedAt(url=one.hit.url, became="blocked", reason=LOW_CREDIBILITY)
    for event in research.events_of(Failed):
        if event.what == "page":
            became = "blocked" if event.outcome in BLOCKED_OUTCOMES else "failed"
            yield LookedAt.model_validate(
                {"url": event.subject, "became": became, "reason": event.message}
            )
    for read in research.events_of(PageRead):
        via = "read" if read.page.via == "page" else "snippet"
        yield LookedAt.model_validate(
            {"url": read.hit.url, "title": read.page.title, "became": via}
        )
