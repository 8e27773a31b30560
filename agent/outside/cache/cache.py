"""The cache of searches and pages, shared by all runs.

The cache key is the SHA-256 of the request (a query, a URL) and of all settings that affect its
result. The entry is the result as JSON; only successes are stored. An entry that is read back is
untrusted input: one that is invalid, altered or expired counts as a miss. Calls of models are not
cached, but for those that ask what a model is worth (`Task.is_remembered`): another prompt hardly
ever comes twice, and a resumed run has its journal.

There are two stores: a folder of this machine (`disk.py`), and a server that many machines share
(`server.py`). Their libraries are imported on first use. Eviction is theirs.

A failing cache never fails a run. Each use of the store has `STORE_TIMEOUT` seconds, whatever the
library, disk or server does. After the first failure the cache is off for the rest of the run.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent.outside import AnswerT, Ask, Reply, Task, run_with_timeout
from agent.outside.cache.disk import DiskStore
from agent.outside.cache.server import RedisStore
from agent.outside.cache.store import CacheStore, UnusableStore
from agent.outside.journal import call_key
from agent.state import Attempt, Page, SearchResults
from agent.state.clock import parse_utc
from agent.state.urls import canonical_url
from agent.state.values import hash_text

KEY_VERSION = 1  # of the entries' format. It is part of every key: other versions are misses
STORE_TIMEOUT = 2.0  # seconds: a disk takes milliseconds, a server gives up after NETWORK_TIMEOUT
MAX_CLOCK_SKEW = 300.0  # seconds between the clocks of machines that share a cache

Entry = TypeVar("Entry", SearchResults, Page)
T = TypeVar("T")

#: Class name of an exception -> text for the user. By name, since the libraries are not imported
#: here.
ERROR_TEXTS = {
    "TimeoutError": "it did not answer in time",
    "ConnectionError": "it cannot be reached",
    "AuthenticationError": "it refuses the password",
    "ResponseError": "it refuses what it is asked",
    "OutOfMemoryError": "it is full",
    "ReadOnlyError": "it cannot be written",
    "Timeout": "it is locked",
}


class Cache:
    """Wraps the functions with which a run searches and reads. Raises no error of its own.

    `ttl` is the time to live in seconds, counted from when a search was made or a page was read.
    Thread-safe.
    """

    def __init__(
        self, store: CacheStore, ttl: float, clock: Callable[[], float] = time.time
    ) -> None:
        self.problem = ""  # why the cache is off, in words for the user; empty while it is on
        self._store = store
        self._ttl = ttl
        self._clock = clock

    def wrap_search(
        self, fetch: Callable[[str], SearchResults], /, **key_fields: Any
    ) -> Callable[[str], SearchResults]:
        """A search function that calls `fetch` only on a miss.

        `key_fields`, which must be JSON, are what affects the results besides the query. On a hit,
        the only attempt of the results says so, with the time of the search.
        """

        def search(query: str) -> SearchResults:
            fields = {"v": KEY_VERSION, "query": " ".join(query.split()), **key_fields}
            key = call_key("search", fields)
            cached = self._get(SearchResults, key)
            return _mark_cached(cached) if cached else self._put(key, fetch(query))

        return search

    def wrap_read(
        self, fetch: Callable[[str], Page], /, **key_fields: Any
    ) -> Callable[[str], Page]:
        """A read function that calls `fetch` only on a miss.

        `key_fields`, which must be JSON, are the settings that permit reading.
        """

        def read(url: str) -> Page:
            key = call_key("read", {"v": KEY_VERSION, "url": canonical_url(url), **key_fields})
            return self._get(Page, key) or self._put(key, fetch(url))

        return read

    def wrap_ask(self, ask: Ask, /, **key_fields: Any) -> Ask:
        """An `ask` that makes the calls whose replies are remembered only on a miss.

        A reply that is remembered costs nothing, and has no attempts.
        """

        def answer(task: Task[AnswerT]) -> Reply[AnswerT]:
            if not task.is_remembered:
                return ask(task)
            asked = {"system": task.system_prompt(), "prompt": task.prompt(), "avoid": task.avoid}
            key = call_key("ask", {"v": KEY_VERSION, **asked, **key_fields})
            if text := self._try_store(lambda: self._store.get(key)):
                with suppress(ValidationError):
                    return Reply[task.answer_type].model_validate_json(text)  # type: ignore[name-defined]
            reply = ask(task)
            free = reply.model_copy(update={"input_tokens": 0, "output_tokens": 0, "usd": 0.0})
            free = free.model_copy(update={"attempts": (), "costs": ()})
            self._try_store(lambda: self._store.set(key, free.model_dump_json(), self._ttl))
            return reply

        return answer

    def warm(self) -> None:
        """Import the store's library (0.1 s) before the first use."""
        self._try_store(lambda: None)

    def close(self) -> None:
        """Close the store's connections."""
        with suppress(Exception):  # the run has ended, so a failure does not matter
            self._store.close()

    def _get(self, kind: type[Entry], key: str) -> Entry | None:
        """The entry of a key; None on a miss."""
        text = self._try_store(lambda: self._store.get(key))
        if text is None:
            return None
        try:
            entry = kind.model_validate_json(text)
        except ValidationError:
            return None
        return entry if self._is_valid(entry) else None

    def _put(self, key: str, value: Entry) -> Entry:
        """Store a value if it is a success; return it in any case."""
        if self._is_valid(value):
            with suppress(ValueError):  # JSON cannot hold half a surrogate pair
                text = value.model_dump_json()
                self._try_store(lambda: self._store.set(key, text, self._ttl))
        return value

    def _is_valid(self, entry: SearchResults | Page) -> bool:
        """Whether an entry is a success, complete, about web pages only, and not expired."""
        if isinstance(entry, SearchResults):
            urls = (hit.url for hit in entry.hits)
            return bool(entry.hits) and self._is_fresh(entry.at) and _are_web_urls(urls)
        is_complete = entry.sha256 == hash_text(entry.text, "replace")
        is_page = is_complete and entry.via == "page" and _are_web_urls([entry.url])
        return is_page and self._is_fresh(entry.retrieved_at)

    def _is_fresh(self, at: str) -> bool:
        """Whether a UTC time is within the time to live."""
        try:
            age = self._clock() - parse_utc(at).timestamp()
        except ValueError:
            return False
        return -MAX_CLOCK_SKEW <= age <= self._ttl

    def _try_store(self, operation: Callable[[], T]) -> T | None:
        """The result of a store operation; None if it fails, or an earlier one has failed."""
        if self.problem:
            return None
        try:
            self._store.load()  # without a timeout: on a cold disk an import may take seconds
            return run_with_timeout(STORE_TIMEOUT, operation)
        except Exception as error:  # of any class: the run goes on without the cache
            problem = f"{self._store.name} is not used in this run: {_describe_error(error)}."
            self.problem = self.problem or problem
            return None


def open_cache(url: str, folder: Path, ttl: float) -> Cache:
    """The cache at `url`: redis:// or rediss:// for a server, "" for SQLite in `folder`.

    Nothing is opened, imported or written yet. A URL that cannot be used becomes the `problem` of
    the cache. It may contain a password, so no text shows any of it.
    """
    return Cache(RedisStore(url) if url else DiskStore(folder), ttl)


def _mark_cached(results: SearchResults) -> SearchResults:
    """The results at no cost, with one attempt, which says that they are from the cache."""
    attempt = Attempt(
        what="search",
        provider=results.provider,
        outcome="ok",
        detail=f"from the cache, {results.at}",
    )
    free = {"input_tokens": 0, "output_tokens": 0, "usd": 0.0}
    return results.model_copy(update={"attempts": (attempt,), **free})


def _are_web_urls(urls: Iterable[str]) -> bool:
    """Whether all are URLs of web pages. They become links in answers."""
    try:
        return all(urlsplit(url).scheme in ("http", "https") for url in urls)
    except ValueError:
        return False


def _describe_error(error: Exception) -> str:
    """Why a store failed. Texts that may contain a URL or a password are not shown."""
    if isinstance(error, UnusableStore):
        return str(error)
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    name = type(error).__name__
    return ERROR_TEXTS.get(name) or (str(error) if isinstance(error, sqlite3.Error) else name)
