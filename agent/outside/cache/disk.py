"""The store on disk: `diskcache-community`, the maintained fork of `diskcache`.

It is SQLite with expiry, a size limit, and safety among threads and processes. `diskcache` itself
had its last release in 2023 and unpickles what it reads (CVE-2025-69872). This store reads and
writes text only, all of it in one SQLite file.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from diskcache_community import Cache as DiskCache
    from diskcache_community import Disk

MAX_BYTES = 2**30  # on disk; beyond, the oldest entries are evicted
LOCK_TIMEOUT = 1  # seconds to wait for the write of another process
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)  # SQLite's codes for a damaged file

T = TypeVar("T")


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

    def close(self) -> None:
        """Nothing to close: each use closes the connection of its thread."""

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
