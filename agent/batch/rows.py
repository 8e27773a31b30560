"""The file that a batch writes: a line for each topic that ended, whole or not at all.

A line is the answer object with the topic's `id` before it. Beside the file, `FILE.batch` holds
the batch's name, of which the names of its runs are made: a new file is a new batch, whose runs do
not go on with journals of an old one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from agent.errors import JournalError, UsageError
from agent.outside.budget import Spent
from agent.state.plain import plain

Json = dict[str, Any]


class Row(NamedTuple):
    """What is remembered of a row: its topic's digest, its state, and where it is, in bytes."""

    topic: bytes
    status: str
    start: int
    size: int


class Rows:
    """The rows of a batch. Nobody else may write the file as long as this is open.

    Raises UsageError for a file that cannot be written or is none of a batch, JournalError for one
    that another batch is writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, Row] = {}
        self.spent = Sum()
        self.statuses: Counter[str] = Counter()  # how many rows there are of each
        _fits(path)
        self.name = _name(path)
        self._file = _opened(path)
        self._end = self._load()
        os.ftruncate(self._file, self._end)  # a torn last line is dropped, and its topic done again

    def _load(self) -> int:
        """Read the rows that are there; where the last whole one ends, in bytes."""
        end = 0
        with os.fdopen(os.dup(self._file), "rb") as file:
            file.seek(0)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                self._remember(self._parsed(raw), end, len(raw))
                end += len(raw)
        return end

    def _parsed(self, raw: bytes) -> Json:
        try:
            row = json.loads(raw)
            if isinstance(row["id"], str | int) and isinstance(row["usage"], dict):
                return dict(row)
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise UsageError(f"{self.path} holds other things than rows.", "Name another --out.")

    def _remember(self, row: Json, start: int, size: int) -> None:
        if before := self.known.get(str(row["id"])):
            self.statuses[before.status] -= 1
        self.statuses[row["status"]] += 1
        self.known[str(row["id"])] = Row(digest(row["topic"]), row["status"], start, size)
        self.spent.add(row["usage"])

    def add(self, row: Json) -> None:
        """Append a row, whole and on the disk before this returns. Raises OSError."""
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
        raw = f"{text}\n".encode("utf-8", "backslashreplace")  # a lone surrogate: its JSON escape
        if os.write(self._file, raw) != len(raw):  # a full disk; the torn line is dropped next time
            raise OSError(28, "No space left on device", str(self.path))
        os.fsync(self._file)
        self._remember(row, self._end, len(raw))
        self._end += len(raw)

    def keep(self, ids: Iterable[str]) -> None:
        """Rewrite the file with these rows, in this order: as a whole or not at all.

        The lock goes on: the new file is locked before it takes the name.
        """
        part = self.path.with_name(f"{self.path.name}.part")
        new = locked(os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666), part)
        for row in (self.known[each] for each in ids):
            os.write(new, os.pread(self._file, row.size, row.start))
        os.fsync(new)
        part.replace(self.path)
        os.close(self._file)
        self._file, self.known, self.spent, self.statuses = new, {}, Sum(), Counter()
        self._end = self._load()

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


class Sum:
    """What rows took, all together. `usd` is None where a price is not known."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._usd: float | None = 0.0

    def add(self, usage: Json) -> None:
        """One row's `usage`."""
        self._counts.update({name: int(usage.get(name) or 0) for name in Spent.model_fields})
        usd = usage.get("usd")
        self._usd = None if usd is None or self._usd is None else self._usd + usd

    def total(self, more: Iterable[Spent] = ()) -> Spent:
        """The sum, with what runs under way have spent so far."""
        counts = Counter({name: self._counts[name] for name in Spent.model_fields if name != "usd"})
        prices = [self._usd]
        for each in more:
            counts.update(each.model_dump(exclude={"usd"}))
            prices.append(each.usd)
        known = [usd for usd in prices if usd is not None]
        return Spent(**counts, usd=round(sum(known), 6) if len(known) == len(prices) else None)


def digest(topic: str) -> bytes:
    """A topic in eight bytes; how it is spaced does not count."""
    return hashlib.sha256(plain(topic, 100_000).encode("utf-8", "surrogatepass")).digest()[:8]


def _fits(path: Path) -> None:
    """Raises UsageError for what is there and is no file: a directory, a device."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no file.", "Name a file in a directory of your own.")


def _opened(path: Path) -> int:
    try:
        return locked(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666), path)
    except OSError as error:
        fault = f"{path} cannot be written: {error.strerror}."
        raise UsageError(fault, "Name a file in a directory of your own.") from None


def locked(file: int, path: Path) -> int:
    """An open file that nobody else is writing. Raises JournalError; the file is closed then."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        remedy = "Wait for it to end, or name another --out."
        raise JournalError(f"{path} is being written by another batch.", remedy) from None
    return file


def _name(path: Path) -> str:
    """The batch's name; it is made before the file is, so that no file has the name of another."""
    beside = path.with_name(f"{path.name}.batch")
    try:
        if path.exists() and (name := beside.read_text("ascii").strip()):
            return name
    except (OSError, UnicodeDecodeError):
        pass  # it was removed: what is half done begins anew
    name = os.urandom(6).hex()
    with suppress(OSError):  # told when the file itself is opened
        beside.write_text(f"{name}\n", "ascii")
    return name
