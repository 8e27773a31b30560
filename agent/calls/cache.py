"""The cache of searches and pages, shared by all runs.

The key is the SHA-256 of the request (a query, a URL) and of all settings that affect its result.
The entry is the result as JSON; only successes are stored. An entry is untrusted: one that is
invalid, altered or expired is a miss. Calls of models are not cached: prompts hardly ever repeat.

A failing cache never fails a run: each use of the store has `STORE_TIMEOUT` seconds, and after the
first failure the cache is off for the rest of the run.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent.calls import run_with_timeout
from agent.calls.journal import call_key
from agent.state import Attempt, Page, SearchResults, canonical_url, hash_text, parse_utc

if TYPE_CHECKING:
    from diskcache_community import Cache as DiskCache
    from diskcache_community import Disk

KEY_VERSION = 1  # of the entries' format. It is part of every key: other versions are misses
STORE_TIMEOUT = 2.0  # seconds: a disk takes milliseconds
MAX_CLOCK_SKEW = 300.0  # seconds by which a clock may have been set back

Entry = TypeVar("Entry", SearchResults, Page)
T = TypeVar("T")

#: Class name of an exception -> text for the user. By name, since the libraries are not imported
#: here.
ERROR_TEXTS = {
    "TimeoutError": "it did not answer in time",
    "ReadOnlyError": "it cannot be written",
    "Timeout": "it is locked",
}


class Cache:
    """Wraps the functions with which a run searches and reads. Raises no error of its own.

    `ttl` is the time to live in seconds, counted from when a search was made or a page was read.
    Thread-safe.
    """

    def __init__(
        self, store: DiskStore, ttl: float, clock: Callable[[], float] = time.time
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

    def warm(self) -> None:
        """Import the store's library (0.1 s) before the first use."""
        self._try_store(lambda: None)

    def _get(self, kind: type[Entry], key: str) -> Entry | None:
        text = self._try_store(lambda: self._store.get(key))
        if text is None:
            return None
        try:
            entry = kind.model_validate_json(text)
        except ValidationError:
            return None
        return entry if self._is_valid(entry) else None

    def _put(self, key: str, value: Entry) -> Entry:
        if self._is_valid(value):
            with suppress(ValueError):  # JSON cannot hold half a surrogate pair
                text = value.model_dump_json()
                self._try_store(lambda: self._store.set(key, text, self._ttl))
        return value

    def _is_valid(self, entry: SearchResults | Page) -> bool:
        if isinstance(entry, SearchResults):
            urls = (hit.url for hit in entry.hits)
            return bool(entry.hits) and self._is_fresh(entry.at) and _are_web_urls(urls)
        is_complete = entry.sha256 == hash_text(entry.text, "replace")
        is_page = is_complete and entry.via == "page" and _are_web_urls([entry.url])
        return is_page and self._is_fresh(entry.retrieved_at)

    def _is_fresh(self, at: str) -> bool:
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


def _mark_cached(results: SearchResults) -> SearchResults:
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
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    name = type(error).__name__
    return ERROR_TEXTS.get(name) or (str(error) if isinstance(error, sqlite3.Error) else name)


# --- the store: texts under keys, with a time to live ---------------------------------------------


# `diskcache-community`, the maintained fork of `diskcache`, is SQLite with expiry, a size limit,
# and safety among threads and processes. `diskcache` itself had its last release in
# 2023 and unpickles what it reads (CVE-2025-69872). What is stored here is text, all in one file.
MAX_BYTES = 2**30  # on disk; beyond, the oldest entries are evicted
LOCK_TIMEOUT = 1  # seconds to wait for the write of another process
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)  # SQLite's codes for a damaged file


class DiskStore:
    """SQLite in a folder of its own, of at most `max_bytes`. Only the owner can read it."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self.name = f"The cache in {folder}"
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._cache: DiskCache | None = None

    def load(self) -> None:
        import diskcache_community  # noqa: F401  (40 ms)

    def get(self, key: str) -> str | None:
        value = self._use_or_rebuild(lambda cache: cache.get(key))
        return value if isinstance(value, str) else None

    def set(self, key: str, text: str, ttl: float) -> None:
        self._use_or_rebuild(lambda cache: cache.set(key, text, expire=ttl))

    def _use_or_rebuild(self, operation: Callable[[DiskCache], T]) -> T:
        """Run an operation. If the file is damaged, discard it and try once with a new one."""
        before = self._cache
        try:
            return self._use(operation)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) not in DAMAGED:
                raise
            self._discard(before)
            return self._use(operation)

    def _use(self, operation: Callable[[DiskCache], T]) -> T:
        with self._lock:
            if self._cache is None:
                self._cache = _open_disk_cache(self._folder, self._max_bytes)
            cache = self._cache
        with cache:
            return operation(cache)

    def _discard(self, damaged: DiskCache | None) -> None:
        """Delete the folder. It is moved first, all files at once: other processes may use it."""
        with self._lock:
            if self._cache is not damaged:  # another thread has replaced it
                return
            self._cache = None
            trash = Path(mkdtemp(prefix="broken-", dir=self._folder.parent))
            with suppress(OSError):  # another process has moved it
                self._folder.rename(trash / self._folder.name)
            shutil.rmtree(trash, ignore_errors=True)


def _open_disk_cache(folder: Path, max_bytes: int) -> DiskCache:
    from diskcache_community import Cache as DiskCache

    return DiskCache(
        folder,
        timeout=LOCK_TIMEOUT,
        disk=_text_disk(),
        size_limit=max_bytes,
        # no fsync: saves 20 ms a page. A power cut may damage the file, which is then rebuilt
        sqlite_synchronous=0,
    )


def _text_disk() -> type[Disk]:
    """The class that stores values as text: it unpickles nothing and opens no other file."""
    from diskcache_community import Disk
    from diskcache_community.core import MODE_RAW, UNKNOWN

    class TextDisk(Disk):
        def store(self, value: Any, read: bool, key: Any = UNKNOWN) -> Any:
            return 0, MODE_RAW, None, value

        def fetch(self, mode: Any, filename: Any, value: Any, read: bool) -> Any:
            return value if mode == MODE_RAW else None

        def remove(self, file_path: Any) -> None:
            """Nothing to remove: no value has a file."""

    return TextDisk
