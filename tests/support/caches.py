"""Caches on disk and the web behind them, for the tests of the cache."""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.calls.cache import Cache, DiskStore
from agent.state import Attempt, Hit, Page, SearchResults

DAY = 86_400.0
URL = "https://example.org/page"


def utc_text(at: float | None = None) -> str:
    return datetime.fromtimestamp(at or time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_page(url: str = URL, text: str = "Lego was founded in 1932.", **other: Any) -> Page:
    sha256 = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    known = {"title": "Lego", "sha256": sha256, "retrieved_at": utc_text()}
    return Page.model_validate({"url": url, "text": text, **known, **other})


def make_results(query: str = "lego", url: str = URL, **other: Any) -> SearchResults:
    tried = (Attempt(what="search", provider="exa", outcome="no_key"),)
    known = {"hits": (Hit(url=url, title="Lego"),), "provider": "wikipedia", "attempts": tried}
    return SearchResults.model_validate({"query": query, "at": utc_text(), **known, **other})


class FakeWeb:
    """Answers every request with one answer, or one made of the request; keeps the requests."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def __call__(self, request: str) -> Any:
        self.asked.append(request)
        answer = self.answer(request) if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        return answer


def new_cache(folder: Path) -> Cache:
    """The cache in a folder, as another run would open it."""
    return Cache(DiskStore(folder), DAY)


def check_failing_cache(cache: Cache) -> str:
    """The problem of a cache that fails, once it is sure that the web answers all the same."""
    web = FakeWeb(lambda url: make_page(url))
    read = cache.wrap_read(web)
    for n in range(5):
        assert read(f"{URL}/{n}").url == f"{URL}/{n}"
    assert len(web.asked) == 5
    assert cache.problem.endswith(".")
    return cache.problem
