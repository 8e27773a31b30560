"""The indexes that are open in a process: each once, however many runs search it."""

from __future__ import annotations

import os
import threading
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
        self, root: Path, file: Path | None, deadline: float, rescan_seconds: float
    ) -> CorpusIndex:
        """The index of a folder, as `CorpusIndex` makes it; of deadlines the last one counts."""
        with self._lock:
            if index := self._open.get((root, file)):
                index.reopen(deadline)
            else:
                index = self._open[root, file] = CorpusIndex(root, file, deadline, rescan_seconds)
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
