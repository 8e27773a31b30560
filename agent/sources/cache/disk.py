"""The cache in a folder: `diskcache-community`, the maintained fork of `diskcache`.

It is SQLite with expiry, a bound on size, and safety among threads and processes. `diskcache`
itself had its last release in 2023 and unpickles what it reads (CVE-2025-69872); this store takes
and gives text, in its one SQLite file, and nothing else.
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

SIZE = 2**30  # bytes on disk; beyond, the oldest go
LOCKED = 1  # seconds to wait for another process's write

T = TypeVar("T")


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
