"""The output file of a batch: JSON Lines with one row per finished topic, appended atomically.

The file is also the checkpoint of the batch: a topic that has a row is not researched again.
A row is the answer object, preceded by the `id` of its topic. `FILE.batch`, next to the file, holds
the name of the batch, which is part of the names of its runs. So a new output file starts a new
batch, whose runs do not resume the journals of an old one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic import ConfigDict, InstanceOf

from agent.calls.budget import CallUsage, round_dollars, sum_usages
from agent.calls.file_lock import lock_file
from agent.calls.input_file import read_at, read_lines, unreadable
from agent.errors import JournalError, UsageError
from agent.run.output_files import output_failure, write_all
from agent.state import Frozen, Json, parse_json, sanitize_line

OWN_FOLDER = "Name a file in a writable directory."
_LENIENT = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)


class _RowUsage(CallUsage):
    """What is summed of the usage of a row."""

    model_config = _LENIENT


class _RowFields(Frozen):
    """What a row must have to be indexed."""

    model_config = _LENIENT

    id: InstanceOf[str] | int  # a text may hold half of a surrogate pair
    topic: InstanceOf[str]
    status: str
    usage: _RowUsage


class BatchRow(NamedTuple):
    """The index entry of one row."""

    topic_digest: bytes
    status: str
    offset: int  # in bytes
    size: int  # in bytes


class OutputFile:
    """The rows of a batch, in a file that has one writer while this is open.

    Raises UsageError if the file cannot be written or is not the output of a batch, JournalError
    if another batch is writing it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a file.", OWN_FOLDER)
        with ExitStack() as opened:
            try:
                name_file = open_name_file(path, opened)
                self.batch_name = _load_batch_name(name_file, is_new=not path.exists())
                self._file = path.open("a+b", buffering=0)
            except OSError as error:
                raise UsageError(
                    f"{path} cannot be written: {error.strerror}.", OWN_FOLDER
                ) from None
            opened.callback(lambda: self._file.close())
            self._load_rows()
            self.close = opened.pop_all().close  # closes and unlocks the file

    def _load_rows(self) -> None:
        """Index the rows, and cut off a torn last line: its topic is done again.

        Raises UsageError if a complete line is not a row.
        """
        self.index: dict[str, BatchRow] = {}  # by topic id, in the order of the file
        self.usage = CallUsage()
        self.status_counts: Counter[str] = Counter()  # rows by the status of their answer
        self._end = 0  # of the last complete row, in bytes
        self._file.seek(0)
        with open(self._file.fileno(), "rb", closefd=False) as file:
            for n, raw in enumerate(self._read_lines(file), 1):
                if raw.endswith(b"\n"):
                    self._index_row(self._parse_row(raw, n), len(raw))
        self._file.truncate(self._end)

    def _read_lines(self, file: BinaryIO) -> Iterator[bytes]:
        try:
            yield from read_lines(file)
        except OSError as error:
            raise unreadable(self.path, error) from None

    def _parse_row(self, raw: bytes, n: int) -> _RowFields:
        """The row of line `n`. Raises UsageError if it is none."""
        try:
            return _RowFields.model_validate(parse_json(raw))
        except ValueError:
            fault = f"{self.path} contains something other than rows (line {n})."
            raise UsageError(fault, "Name another --out.") from None

    def _index_row(self, row: _RowFields, size: int) -> None:
        topic_id = str(row.id)
        if replaced := self.index.get(topic_id):
            self.status_counts[replaced.status] -= 1
        self.status_counts[row.status] += 1
        self.index[topic_id] = BatchRow(topic_digest(row.topic), row.status, self._end, size)
        self.usage = round_dollars(sum_usages([self.usage, row.usage]))
        self._end += size

    def append(self, row: Json) -> None:
        """Append a row and sync it to the disk, or leave the file as it was. Raises OSError."""
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
        # a lone surrogate, which UTF-8 cannot encode, is written as its JSON escape
        raw = f"{text}\n".encode("utf-8", "backslashreplace")
        try:
            _write_synced(self._file, [raw])
        except OSError:
            with suppress(OSError):  # else it is cut off when the file is opened again
                self._file.truncate(self._end)
            raise
        self._index_row(_RowFields.model_validate(row), len(raw))

    def read_row(self, topic_id: str) -> Json:
        """The row of a topic. Raises OSError, and KeyError where there is none."""
        row = self.index[topic_id]
        return dict(parse_json(read_at(self._file.fileno(), row.size, row.offset)))

    def rewrite(self, ids: Iterable[str]) -> None:
        """Replace the file atomically by one with the rows of these ids only, in this order.

        Raises OutputFailed, and the file is as it was.
        """
        part = self.path.with_name(f"{self.path.name}.part")
        rows = [self.index[topic_id] for topic_id in ids]
        try:
            with part.open("wb", buffering=0) as new:
                old = self._file.fileno()
                _write_synced(new, (read_at(old, row.size, row.offset) for row in rows))
            part.replace(self.path)
            new = self.path.open("a+b", buffering=0)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise output_failure(self.path, error) from None
        self._file.close()
        self._file = new
        self._load_rows()


def topic_digest(topic: str) -> bytes:
    """Eight bytes that identify a topic, whatever its white space."""
    text = sanitize_line(topic, 100_000)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]


def open_name_file(path: Path, opened: ExitStack) -> FileIO:
    """Open the file with the name of a batch and lock it: so the output has one writer.

    Raises OSError, JournalError if another process has the lock.
    """
    name_path = path.with_name(f"{path.name}.batch")
    file = opened.enter_context(name_path.open("a+b", buffering=0))
    release = lock_file(file.fileno(), name_path)
    if release is None:
        remedy = "Wait for it to end, or name another --out."
        raise JournalError(f"{path} is being written by another batch.", remedy)
    opened.callback(release)
    return file


def _load_batch_name(file: FileIO, *, is_new: bool) -> str:
    """The name of the batch. A new output file has a new random one, as one whose name is lost.

    It is written before the output file is made, so that no output file ever has the name of an
    earlier one.
    """
    file.seek(0)
    name = file.read(100).decode("utf-8", "replace").strip()
    if is_new or not (name.isascii() and name.isalnum()):
        name = os.urandom(6).hex()
        file.truncate(0)
        _write_synced(file, [f"{name}\n".encode()])
    return name


def _write_synced(file: FileIO, pieces: Iterable[bytes]) -> None:
    """Write all bytes to a file and to the disk. Raises OSError."""
    for piece in pieces:
        write_all(file.write, piece)
    os.fsync(file.fileno())
