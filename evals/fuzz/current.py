"""The input that is being read, in a file that outlives the process which reads it."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

#: Executions begun and ended, seconds of the slowest, bytes of the input.
_HEAD = struct.Struct("<QQdQ")
MOST_BYTES = 1_000_000


class Progress(NamedTuple):
    """How far a process has come: what it was reading when it was last looked at."""

    executions: int = 0  # begun
    is_reading: bool = False
    slowest: float = 0.0  # seconds of processor time
    data: bytes = b""


class CurrentInput:
    """Written before each execution. A store into mapped memory survives any death."""

    def __init__(self, path: Path) -> None:
        with path.open("w+b") as file:
            file.truncate(_HEAD.size + MOST_BYTES)
            self._map = mmap.mmap(file.fileno(), 0)
        self._executions, self._slowest = 0, 0.0

    def begin(self, data: bytes) -> None:
        """Keep an input that is about to be read."""
        data = data[:MOST_BYTES]
        self._executions += 1
        self._map[_HEAD.size : _HEAD.size + len(data)] = data
        before = self._executions - 1
        _HEAD.pack_into(self._map, 0, self._executions, before, self._slowest, len(data))

    def end(self, seconds: float) -> None:
        """Keep that it was read, and how long the slowest input took."""
        self._slowest = max(self._slowest, seconds)
        _HEAD.pack_into(self._map, 0, self._executions, self._executions, self._slowest, 0)


def read_progress(path: Path, *, with_input: bool = True) -> Progress:
    """What the file says; nothing where the process has not begun its first input."""
    if not path.exists():
        return Progress()
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return Progress()
        begun, ended, slowest, size = _HEAD.unpack(head)
        return Progress(begun, begun > ended, slowest, file.read(size) if with_input else b"")
