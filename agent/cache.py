"""What searches found and pages said, kept across runs for a while.

Only successes are kept, as JSON text, each under the SHA-256 of its request and of all that changes
the answer. What comes out is checked as if a stranger had sent it: it is valid, whole and fresh,
or it was never there. Model calls are not cached: a prompt hardly ever comes twice, and a resume
has its journal.

On disk: `diskcache-community`, the maintained fork of `diskcache`: SQLite with expiry, a bound on
size, and safety among threads and processes. `diskcache` itself had its last release in 2023 and
unpickles what it reads (CVE-2025-69872); this store takes and gives text, in its one SQLite file,
and nothing else. For many machines: Redis, by `redis-py`. Both are imported when first used.

A cache that fails costs nothing but itself: each use of it has `LONGEST` seconds, whatever a
library, a disk or a server does, and after the first failure it is not asked again in this run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent.journal import digest
from agent.outside import within
from agent.research import Attempt, Found, Page
from agent.urls import canonical

if TYPE_CHECKING:
    from diskcache_community import Cache as DiskCache
    from diskcache_community import Disk
    from redis import Redis

VERSION = 1  # of what is kept: part of every key, so that another version's values are not found
SIZE = 2**30  # bytes on disk; beyond, the oldest go
LONGEST = 2.0  # seconds for one use: a disk takes milliseconds, a server gives up after NETWORK
NETWORK = 1.0  # seconds to connect to a server, and for each of its answers
LOCKED = 1  # seconds to wait for another process's write
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


class Store(Protocol):
    """Texts under keys, for a time. Any call may raise anything, and come from any thread."""

    name: str

    def load(self) -> None:
        """Import what it needs."""
        ...

    def get(self, key: str) -> str | bytes | None:
        """What is kept under a key, if it has not expired."""
        ...

    def set(self, key: str, text: str, seconds: float) -> None:
        """Keep a text, for so long."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


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


class Unusable(Exception):
    """A store that cannot be used as it is set, in words for the user."""


# --- on disk -----------------------------------------------------------------------------------


class OnDisk:
    """SQLite in a folder of its own, at most `size` bytes; the oldest go first. Owner only."""

    def __init__(self, folder: Path, size: int = SIZE) -> None:
        self.name = f"The cache in {folder}"
        self._folder = folder
        self._size = size
        self._lock = threading.Lock()
        self._cache: DiskCache | None = None

    def load(self) -> None:
        import diskcache_community  # noqa: F401  (40 ms)

    def get(self, key: str) -> str | None:
        found = self._mended(lambda cache: cache.get(key))
        return found if isinstance(found, str) else None

    def set(self, key: str, text: str, seconds: float) -> None:
        self._mended(lambda cache: cache.set(key, text, expire=seconds))

    def close(self) -> None:
        """Nothing is left open: each use closes the connection of its thread."""

    def _mended(self, use: Callable[[DiskCache], T]) -> T:
        """Use the cache; one whose file is broken is thrown away and begun anew, once."""
        before = self._cache
        try:
            return self._used(use)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) not in BROKEN:
                raise
            self._throw_away(before)
            return self._used(use)

    def _used(self, use: Callable[[DiskCache], T]) -> T:
        with self._lock:
            if self._cache is None:
                self._cache = _disk_cache(self._folder, self._size)
            cache = self._cache
        with cache:
            return use(cache)

    def _throw_away(self, broken: DiskCache | None) -> None:
        """Move the folder aside, all its files at once: other processes may be at work in it."""
        with self._lock:
            if self._cache is not broken:  # another thread has begun anew
                return
            self._cache = None
            aside = Path(mkdtemp(prefix="broken-", dir=self._folder.parent))
            with suppress(OSError):  # another process was faster
                self._folder.rename(aside / self._folder.name)
            shutil.rmtree(aside, ignore_errors=True)


#: What SQLite says of a file that is damaged, or none of its own.
BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _disk_cache(folder: Path, size: int) -> DiskCache:
    from diskcache_community import Cache as DiskCache

    return DiskCache(
        folder,
        timeout=LOCKED,
        disk=_text_only(),
        size_limit=size,
        sqlite_synchronous=0,  # 20 ms less a page; a power cut may cost the cache, which is mended
    )


def _text_only() -> type[Disk]:
    """Values in and out of the database as text: nothing is unpickled, no file name followed."""
    from diskcache_community import Disk
    from diskcache_community.core import MODE_RAW, UNKNOWN

    class TextOnly(Disk):
        def store(self, value: Any, read: bool, key: Any = UNKNOWN) -> Any:
            return 0, MODE_RAW, None, value

        def fetch(self, mode: Any, filename: Any, value: Any, read: bool) -> Any:
            return value if mode == MODE_RAW else None

        def remove(self, file_path: Any) -> None:
            """No value of ours has a file."""

    return TextOnly


# --- on a server -------------------------------------------------------------------------------


class Remote:
    """Redis. How much it keeps, and what goes first when it is full, is set on the server."""

    name = "The cache that CACHE_URL names"

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._redis: Redis | None = None

    def load(self) -> None:
        try:
            import redis  # noqa: F401  (100 ms)
        except ImportError:
            raise Unusable("it needs `pip install 'llm-research-agent[redis]'`") from None

    def get(self, key: str) -> str | bytes | None:
        found = self._client().get(PREFIX + key)
        return found if isinstance(found, (str, bytes)) else None

    def set(self, key: str, text: str, seconds: float) -> None:
        self._client().set(PREFIX + key, text, px=max(1, round(seconds * 1000)))

    def close(self) -> None:
        if self._redis:
            self._redis.close()

    def _client(self) -> Redis:
        with self._lock:
            if self._redis is None:
                self._redis = _redis(self._url)
            return self._redis


PREFIX = "research-agent:"  # a server may serve others too


def _redis(url: str) -> Redis:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    if not url.startswith(("redis://", "rediss://")):
        raise Unusable("it has to begin with redis:// or rediss://")
    once = Retry(NoBackoff(), 0)  # the page is a second away: asking the web beats asking again
    try:
        client = Redis.from_url(
            url, socket_connect_timeout=NETWORK, socket_timeout=NETWORK, retry=once
        )
    except ValueError:
        raise Unusable("it is no address of a Redis server") from None
    return client
