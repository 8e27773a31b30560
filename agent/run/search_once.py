"""One query to the search services, as a run asks it, without a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agent.answer.addresses import CorpusAddresses
from agent.calls.egress_filter import EgressFilter
from agent.calls.rate_limits import RateLimiter
from agent.run.resources import open_rate_limits
from agent.run.retriever import Retriever, find_corpus
from agent.run.run_retriever import open_cached_retriever
from agent.settings import Settings
from agent.settings.mcp_servers import secrets_of
from agent.state import Json


@contextmanager
def open_limited_retriever(settings: Settings) -> Iterator[Retriever]:
    """The sources of the settings with the cache and the rate limits of runs. Raises UsageError."""
    retriever = open_cached_retriever(settings)
    retriever.limit(RateLimiter(open_rate_limits(settings)).acquire)
    try:
        yield retriever
    finally:
        retriever.close()


def search_once(query: str, settings: Settings, retriever: Retriever) -> Json:
    """`{"docs": [{"title", "url", "snippet", "provider", "date"?}], "attempts"}`, best first.

    Raises SearchFailed where no provider answered, UsageError for a query that holds a secret.
    """
    EgressFilter(secrets_of(settings), "").check(query)
    found = retriever.search(query)
    shorten = CorpusAddresses(str(find_corpus(settings) or "")).shorten_url
    docs = [
        {"title": hit.title, "url": shorten(hit.url), "snippet": hit.snippet}
        | {"provider": found.provider}
        | ({"date": hit.date} if hit.date else {})
        for hit in found.hits
    ]
    return {"docs": docs, "attempts": [one.model_dump(mode="json") for one in found.attempts]}
