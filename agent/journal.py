"""The journal: the durable record of a run's outside calls.

A file of JSON lines. The first is the header: the format's version, what was asked of the run and
when. Each other one is a finished call: its kind, its key (SHA-256 of kind and canonical request),
the request, the response or the error, seconds. It is written and handed to the system as the run
goes, so it survives the process however that ends; it is synced to the disk at the end of the
header and of the run, and after each model call, which is what costs money.

Running the same code again with the journal answering what it knows is a resume; with going
outside forbidden, a replay. No key of a service is ever in a request, a response or an error.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agent.errors import JournalError

VERSION = 1
Json = dict[str, Any]


class Recording(NamedTuple):
    """What a journal file holds; `end` is where its last whole line ends, in bytes."""

    header: Json
    calls: dict[str, Json]
    halt: str  # why gathering last ended early; empty: it did not
    end: int


class Journal:
    """The calls of one run, in memory and, where a file can be written, on disk.

    The constructors are `begin`, `resume` and `replay`.
    """

    def __init__(self, header: Json, calls: dict[str, Json] | None = None) -> None:
        self.header = header
        self.path: Path | None = None  # the file that is written; None: none
        self.problem = ""  # why there is no file, in words for the user
        self.closed_world = False  # a call that is not known is an error
        self.halted = ""  # why gathering ended early, in words
        self.late: set[str] = set()  # calls that were under way then: a replay must not see them
        self.stop = threading.Event()  # set: no new call goes outside
        self.calls: list[Json] = []  # every call that this run used, in the order they ended
        self.recalled = 0  # how many of them the file knew
        self.flights: dict[str, Future[Any]] = {}
        self.lock = threading.Lock()
        self.began: dict[str, float] = {}  # when a call went outside, as `elapsed` says
        self._known = calls or {}
        self._zero = time.monotonic() - max(map(_until, self._known.values()), default=0.0)
        self._ended: set[str] = set()
        self._file: TextIOWrapper | None = None

    @classmethod
    def begin(cls, path: Path, header: Json) -> Journal:
        """A new journal. A path that cannot be written costs the journal, not the run."""
        journal = cls({"journal": VERSION, **header})
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds what was read
            with ExitStack() as undo:
                file = undo.enter_context(_file(path, "x"))
                _lock(file, path)
                undo.pop_all()
        except OSError as error:
            if path.exists():  # perhaps another process made it a moment ago
                remedy = "Resume it when no other run writes it, or name another."
                raise JournalError(f"{path} exists already.", remedy) from None
            journal._give_up(path, error)
        else:
            journal.path, journal._file = path, file
            journal._write(journal.header, sync=True)
        return journal

    @classmethod
    def resume(cls, path: Path, header: Json, *, retry_failed: bool = False) -> Journal:
        """Go on with a journal: what it knows is answered, what is new is added to it.

        A torn last line is dropped; a file that does not exist is begun, with `header`.
        `retry_failed`: calls that failed are made again. Raises JournalError if the file is no
        journal, of a newer version, or in use by another process.
        """
        if not path.exists():
            return cls.begin(path, header)
        with ExitStack() as undo:
            file = undo.enter_context(_opened(path))
            _lock(file, path)
            recording = read(path, {"journal": VERSION, **header})
            file.truncate(recording.end)
            file.seek(0, os.SEEK_END)
            undo.pop_all()
        calls = recording.calls
        if retry_failed:
            calls = {key: line for key, line in calls.items() if "error" not in line}
        journal = cls(recording.header, calls)
        journal.path, journal._file = path, file
        if not recording.end:
            journal._write(journal.header, sync=True)
        if recording.halt:
            journal._write({"halt": ""}, sync=False)  # it is over: from now on all calls count
        return journal

    @classmethod
    def replay(cls, path: Path) -> Journal:
        """A journal that answers what it knows; any other call is a JournalError."""
        recording = read(path)
        in_time = {key: line for key, line in recording.calls.items() if not line.get("late")}
        journal = cls(recording.header, in_time)
        journal.closed_world = True
        journal.halted = recording.halt
        return journal

    def _give_up(self, path: Path | None, error: OSError) -> None:
        self.problem = f"The journal cannot be written ({error.strerror}: {path})."
        self.path = None
        self._drop()

    def _drop(self) -> None:
        """Close the file; what could not be written stays unwritten."""
        if self._file:
            with suppress(OSError):
                self._file.close()
        self._file = None

    def elapsed(self) -> float:
        """Seconds that the run has taken, to the millisecond; a resumed run goes on counting."""
        return round(time.monotonic() - self._zero, 3)

    def known(self, key: str) -> Json | None:
        """What the journal holds of a call."""
        return self._known.get(key)

    def ended_in_time(self, key: str) -> bool:
        """Whether a call ended before gathering did."""
        with self.lock:
            return key in self._ended and key not in self.late

    def record(self, line: Json, write: bool) -> bool:
        """Remember a call that ended, on disk too if it is to `write`; False if it had ended."""
        with self.lock:
            if line["key"] in self._ended:
                return False
            self._ended.add(line["key"])
            if line["key"] in self.late:
                line = {**line, "late": True}
            self.calls.append(line)
            if write:
                self._write(line, sync=line["call"] == "ask")
            else:
                self.recalled += 1
        return True

    def halt(self, message: str, keys: Iterable[str]) -> None:
        """Remember that gathering ended early, and which calls were no longer waited for.

        What they bring is recorded, since it was paid for; but only a resume uses it.
        """
        with self.lock:
            self.late |= set(keys) - self._ended
            if not (self.closed_world or self.halted):
                self.halted = message
                self._write({"halt": message}, sync=True)

    def _write(self, line: Json, *, sync: bool) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            self._give_up(self.path, error)

    def close(self) -> None:
        """Let nothing more go outside, and close the file. Calls under way are abandoned."""
        self.stop.set()
        with self.lock:
            if self._file:
                with suppress(OSError):
                    os.fsync(self._file.fileno())
            self._drop()


def read(path: Path, header: Json | None = None) -> Recording:
    """What a journal file holds; a last line that was not written whole is left out.

    `header` stands in where not even the first line was written whole. Raises JournalError if it
    cannot be read, is no journal, or is of a newer version.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    end = data.rfind(b"\n") + 1
    if not end and header:
        return Recording(header, {}, "", 0)
    try:
        header, *lines = [json.loads(line) for line in data[:end].splitlines()]
        known, halt = _told(lines)
        version = header["journal"]
    except (ValueError, TypeError, KeyError):
        raise JournalError(f"{path} is not a journal of a run.", "Name another file.") from None
    if version > VERSION:
        fault = f"{path} was written by a newer version of this program (format {version})."
        raise JournalError(fault, "Update this program.")
    return Recording(header, known, halt, end)


def _told(lines: list[Json]) -> tuple[dict[str, Json], str]:
    """The calls by key, and why gathering ended early, unless the run has gone on since."""
    known: dict[str, Json] = {}
    halt = ""
    for line in lines:
        if "halt" not in line:
            known[line["key"]] = line
        elif not (halt := line["halt"]):
            for call in known.values():
                call.pop("late", None)
    return known, halt


def _until(line: Json) -> float:
    """When a call had ended, in seconds of the run; 0 where an older version wrote it."""
    return float(line.get("began", 0.0)) + float(line.get("seconds", 0.0))


def _file(path: Path, mode: Literal["x", "r+"]) -> TextIOWrapper:
    """A lone surrogate is written as the JSON escape that it came from."""
    return path.open(mode, encoding="utf-8", errors="backslashreplace")


def _opened(path: Path) -> TextIOWrapper:
    try:
        return _file(path, "r+")
    except OSError as error:
        fault = f"{path} cannot be written: {error.strerror}."
        raise JournalError(fault, "To look at it only, use --replay.") from None


def _lock(file: TextIOWrapper, path: Path) -> None:
    """Two processes cannot write one journal; the system lets go of it when its owner dies."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalError(
            f"{path} is being written by another run.", "Wait for it to end, or name another run."
        ) from None


def digest(kind: str, request: Json) -> str:
    """The key of a call: SHA-256 of its kind and its request as canonical JSON."""
    text = json.dumps([kind, request], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
