"""The output file of a batch: JSON Lines with one row per finished topic, appended atomically.

The file is also the checkpoint of the batch: a topic that has a row is not researched again.
A row is the answer object, preceded by the `id` of its topic. `FILE.batch`, beside the file, holds
the name of the batch, which is part of the names of its runs. So a new output file starts a new
batch, whose runs do not resume the journals of an old one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic import ConfigDict, InstanceOf

from agent.errors import JournalError, OutputFailed, UsageError
from agent.outside.budget import COUNTS, CallUsage, sum_by_model
from agent.outside.file_lock import Release, lock_file
from agent.outside.input_file import BINARY, read_at, read_bytes, read_lines, unreadable
from agent.shell import output_failure, write_all, write_file
from agent.state import Frozen
from agent.state.json_data import Json, parse_json
from agent.state.sanitizing import sanitize_line

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
    """The rows of a batch, in a file that is locked against other writers while this is open.

    Raises UsageError if the file cannot be written or is not the output of a batch, JournalError
    if another batch is writing it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index: dict[str, BatchRow] = {}  # by topic id, in the order of the file
        self.usage = CallUsage()
        self.status_counts: Counter[str] = Counter()  # rows by the status of their answer
        _check_regular_file(path)
        self.batch_name = _load_batch_name(path)
        self._locks: list[Release] = []
        self._file = self._open_locked()
        self._end = self._load_rows()
        os.ftruncate(self._file, self._end)  # drops a torn last line: its topic is done again

    def _load_rows(self) -> int:
        """Index the rows of the file. Return the offset in bytes where the last complete one ends.

        Raises UsageError if a complete line is not a row.
        """
        end = 0
        with os.fdopen(os.dup(self._file), "rb") as file:
            file.seek(0)
            for n, raw in enumerate(self._read_lines(file), 1):
                if not raw.endswith(b"\n"):
                    break
                self._index_row(self._parse_row(raw, n), end, len(raw))
                end += len(raw)
        return end

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
            fault = f"{self.path} holds other things than rows (line {n})."
            raise UsageError(fault, "Name another --out.") from None

    def _index_row(self, row: _RowFields, offset: int, size: int) -> None:
        topic_id = str(row.id)
        if replaced := self.index.get(topic_id):
            self.status_counts[replaced.status] -= 1
        self.status_counts[row.status] += 1
        self.index[topic_id] = BatchRow(topic_digest(row.topic), row.status, offset, size)
        self.usage = sum_usages([self.usage, row.usage])

    def append(self, row: Json) -> None:
        """Append a row and sync it to the disk, or leave the file as it was. Raises OSError."""
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
        # a lone surrogate, which UTF-8 cannot encode, is written as its JSON escape
        raw = f"{text}\n".encode("utf-8", "backslashreplace")
        with ExitStack() as undo:
            undo.callback(_cut_file, self._file, self._end)
            _write_synced(self._file, [raw])
            undo.pop_all()
        self._index_row(_RowFields.model_validate(row), self._end, len(raw))
        self._end += len(raw)

    def rewrite(self, ids: Iterable[str]) -> None:
        """Replace the file atomically by one with the rows of these ids only, in this order.

        The file stays locked throughout: the new one is locked before it is renamed. Raises
        OutputFailed, and the file is as it was.
        """
        part = self.path.with_name(f"{self.path.name}.part")
        try:
            new = self._write_part(part, [self.index[topic_id] for topic_id in ids])
        except OSError as error:
            raise output_failure(self.path, error) from None
        os.close(self._file)
        self._file, self.index, self.usage, self.status_counts = new, {}, CallUsage(), Counter()
        self._end = self._load_rows()

    def _write_part(self, part: Path, rows: Iterable[BatchRow]) -> int:
        """Write a new file with these rows, and put it in the place of this one."""
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        with ExitStack() as undo:
            new = os.open(part, flags | BINARY, 0o666)
            undo.callback(os.close, new)
            self._locks.append(require_lock(new, part))
            undo.callback(part.unlink, missing_ok=True)
            _write_synced(new, (read_at(self._file, row.size, row.offset) for row in rows))
            part.replace(self.path)
            undo.pop_all()
        return new

    def close(self) -> None:
        """Close and unlock the file."""
        os.close(self._file)
        for release in self._locks:
            release()

    def _open_locked(self) -> int:
        """Raises UsageError for a file that cannot be written, JournalError for one in use."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY
        try:
            file = os.open(self.path, flags, 0o666)
        except OSError as error:
            fault = f"{self.path} cannot be written: {error.strerror}."
            raise UsageError(fault, "Name a file in a directory of your own.") from None
        with ExitStack() as undo:
            undo.callback(os.close, file)
            self._locks.append(require_lock(file, self.path))
            undo.pop_all()
        return file


def sum_usages(parts: Sequence[CallUsage]) -> CallUsage:
    """The sum of usages. Its `usd` is None as soon as one price is not known."""
    prices = [part.usd for part in parts]
    known = [usd for usd in prices if usd is not None]
    models = (row for part in parts for row in part.model_dump()["by_model"].items())
    return CallUsage(
        **{name: sum(getattr(part, name) for part in parts) for name in COUNTS},
        usd=round(sum(known), 6) if len(known) == len(prices) else None,
        by_model=sum_by_model(models),
    )


def topic_digest(topic: str) -> bytes:
    """Eight bytes that identify a topic, whatever its white space."""
    text = sanitize_line(topic, 100_000)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]


def _check_regular_file(path: Path) -> None:
    """Raise UsageError if the path exists and is not a regular file: a directory, a device."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no file.", "Name a file in a directory of your own.")


def require_lock(file: int, path: Path) -> Release:
    """Lock an open file against other writers. Raises JournalError if another process does it."""
    if release := lock_file(file, path):
        return release
    remedy = "Wait for it to end, or name another --out."
    raise JournalError(f"{path} is being written by another batch.", remedy)


def _write_synced(file: int, pieces: Iterable[bytes]) -> None:
    """Write all bytes to a file descriptor and to the disk. Raises OSError."""
    for piece in pieces:
        write_all(lambda rest: os.write(file, rest), piece)
    os.fsync(file)


def _cut_file(file: int, end: int) -> None:
    """Cut a torn last line off; where that fails too, the file is cut when it is opened again."""
    with suppress(OSError):
        os.ftruncate(file, end)


def _load_batch_name(path: Path) -> str:
    """The name of the batch, or a new random one, which is written to `FILE.batch`.

    A new name is written before the output file is made, so that no output file ever has the name
    of an earlier one.
    """
    name_file = path.with_name(f"{path.name}.batch")
    try:
        if path.exists() and (name := read_bytes(name_file, 100).decode("ascii").strip()):
            return name
    except (OSError, UnicodeDecodeError):
        pass  # the name is lost: unfinished topics start anew
    name = os.urandom(6).hex()
    with suppress(OutputFailed):  # the same error is reported when the output file is opened
        write_file(name_file, f"{name}\n")
    return name
