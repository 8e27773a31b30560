"""What searches found and pages said, kept across runs for a while.

Only successes are kept, as JSON text, each under the SHA-256 of its request and of all that changes
the answer. What comes out is checked as if a stranger had sent it: it is valid, whole and fresh,
or it was never there. Model calls are not cached: a prompt hardly ever comes twice, and a resume
has its journal.

Two stores can keep them: a folder of this machine (`disk.py`), or a server that many machines share
(`server.py`). Their libraries are imported when first used.

A cache that fails costs nothing but itself: each use of it has `LONGEST` seconds, whatever a
library, a disk or a server does, and after the first failure it is not asked again in this run.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent.outside import within
from agent.outside.journal import digest
from agent.sources.cache.disk import OnDisk
from agent.sources.cache.server import Remote
from agent.sources.cache.store import Store, Unusable
from agent.state import Attempt, Found, Page
from agent.state.urls import canonical

VERSION = 1  # of what is kept: part of every key, so that another version's values are not found
LONGEST = 2.0  # seconds for one use: a disk takes milliseconds, a server gives up after NETWORK
SKEW = 300.0  # seconds by which the clocks of machines that share a cache may differ

Kept = TypeVar("Kept", Found, Page)
T = TypeVar("T")

#: Failures by the name of their class, since the libraries are not imported here.
WORDS = {
    "TimeoutError": "it did not answer in time",
    "ConnectionError": "it cannot be reached",
    "AuthenticationError": "it refuses the password",
    "ResponseError": "it refuses what it is asked",
    "OutOfMemoryError": "it is full",
    "ReadOnlyError": "it cannot be written",
    "Timeout": "it is locked",
}


class Cache:
    """Wraps the outside calls of one run; never raises an error of its own into it.

    `ttl` is in seconds, counted from when a search or a page was fetched. Threads may share it.
    """

    def __init__(self, store: Store, ttl: float, clock: Callable[[], float] = time.time) -> None:
        self.problem = ""  # why it is not used any more, in words for the user
        self._store = store
        self._ttl = ttl
        self._clock = clock

    def search(self, go: Callable[[str], Found], **also: Any) -> Callable[[str], Found]:
        """`go`, asked only for what is not kept. `also` is JSON: what else changes the answer.

        A kept search says so in its one attempt, with the time at which it was made.
        """

        def find(query: str) -> Found:
            key = digest("search", {"v": VERSION, "query": " ".join(query.split()), **also})
            kept = self._recall(Found, key)
            return _told(kept) if kept else self._keep(key, go(query))

        return find

    def read(self, go: Callable[[str], Page], **also: Any) -> Callable[[str], Page]:
        """`go`, asked only for pages that are not kept. `also` is JSON: what permits reading."""

        def read(url: str) -> Page:
            key = digest("read", {"v": VERSION, "url": canonical(url), **also})
            return self._recall(Page, key) or self._keep(key, go(url))

        return read

    def warm(self) -> None:
        """Import what it needs (0.1 s), before the first use."""
        self._tried(lambda: None)

    def close(self) -> None:
        """Let go of connections."""
        with suppress(Exception):  # the run has ended: there is nobody to tell
            self._store.close()

    def _recall(self, kind: type[Kept], key: str) -> Kept | None:
        """What is kept under a key, if it can be believed."""
        text = self._tried(lambda: self._store.get(key))
        if text is None:
            return None
        try:
            kept = kind.model_validate_json(text)
        except ValidationError:
            return None
        return kept if self._sound(kept) else None

    def _keep(self, key: str, fresh: Kept) -> Kept:
        if self._sound(fresh):
            with suppress(ValueError):  # a text that JSON cannot hold: half a surrogate pair
                text = fresh.model_dump_json()
                self._tried(lambda: self._store.set(key, text, self._ttl))
        return fresh

    def _sound(self, value: Found | Page) -> bool:
        """Whether a value may go in, or come out: a whole success, of the web, and fresh."""
        if isinstance(value, Found):
            return bool(value.hits) and self._fresh(value.at) and _web(h.url for h in value.hits)
        whole = value.sha256 == hashlib.sha256(value.text.encode("utf-8", "replace")).hexdigest()
        read = whole and value.via == "page" and _web([value.url])
        return read and self._fresh(value.retrieved_at)

    def _fresh(self, at: str) -> bool:
        try:
            then = datetime.strptime(at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            return False
        return -SKEW <= self._clock() - then.timestamp() <= self._ttl

    def _tried(self, work: Callable[[], T]) -> T | None:
        """What the store gives; None once it has failed."""
        if self.problem:
            return None
        try:
            self._store.load()  # not timed: on a cold disk an import may take seconds
            return within(LONGEST, work)
        except Exception as error:  # whatever it is, the run goes on without the cache
            why = f"{self._store.name} is not used in this run: {_words(error)}."
            self.problem = self.problem or why
            return None


def open_cache(url: str, folder: Path, ttl: float) -> Cache:
    """The cache that `url` names: "" for SQLite in `folder`, redis:// or rediss:// for a server.

    Nothing is opened, imported or written yet; a name that cannot be used is told as `problem`.
    `url` may hold a password: nothing of it is ever shown.
    """
    return Cache(Remote(url) if url else OnDisk(folder), ttl)


def _told(kept: Found) -> Found:
    attempt = Attempt(
        what="search", provider=kept.provider, outcome="ok", detail=f"from the cache, {kept.at}"
    )
    return kept.model_copy(update={"attempts": (attempt,)})


def _web(urls: Iterable[str]) -> bool:
    """Whether all are addresses of web pages: they become links in front of a reader."""
    try:
        return all(urlsplit(url).scheme in ("http", "https") for url in urls)
    except ValueError:
        return False


def _words(error: Exception) -> str:
    """Why a store failed. Of a message nothing is shown that may hold an address or a password."""
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    name = type(error).__name__
    return WORDS.get(name) or (str(error) if isinstance(error, sqlite3.Error) else name)
