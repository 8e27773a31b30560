"""The indexes that are open in a process: each once, however many runs search it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

from agent.search.index import CorpusIndex


class OpenIndexes:
    """Indexes by folder and file. So the runs of a server read each file once. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[Path, Path | None], CorpusIndex] = {}
        self._users: dict[CorpusIndex, int] = {}

    def open(
        self,
        root: Path,
        file: Path | None,
        deadline: float,
        rescan_seconds: float,
        make: Callable[[Path, Path | None, float, float], CorpusIndex] = CorpusIndex,
    ) -> CorpusIndex:
        """The index of a folder, as `make` makes it; of deadlines the last one counts."""
        with self._lock:
            if index := self._open.get((root, file)):
                index.reopen(deadline)
            else:
                index = self._open[root, file] = make(root, file, deadline, rescan_seconds)
            self._users[index] = self._users.get(index, 0) + 1
            return index

    def close(self, index: CorpusIndex) -> None:
        """Close an index, once each of its users has done so."""
        with self._lock:
            self._users[index] -= 1
            if self._users[index]:
                return
            del self._users[index]
            self._open = {key: other for key, other in self._open.items() if other is not index}
        index.close()


def shared_indexes() -> OpenIndexes:
    """Those of this process; a forked process gets its own."""
    return _make_indexes(os.getpid())


@cache
def _make_indexes(_: int) -> OpenIndexes:
    return OpenIndexes()


def index_file(root: Path, cache_dir: Path, name: str = "corpus") -> Path:
    """Where the index of a folder of documents, or of the journals in it, is stored."""
    path = os.path.abspath(root)  # noqa: PTH100 - links stay unresolved
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return cache_dir / f"{name.replace(':', '-')}-{digest}.sqlite"
