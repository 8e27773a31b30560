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
import weakref
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from agent.errors import FINAL, JournalBusy, JournalError

VERSION = 1
Json = dict[str, Any]


class Place(NamedTuple):
    """Where in a file a call is told, in bytes, and what must be known of it at once."""

    start: int
    size: int
    failed: bool
    refused: bool  # for want of a key or of credit, which the user may have mended since
    late: bool  # it ended after gathering had, and the run has not gone on since
    until: float  # when it had ended, in seconds of the run


class Calls(Mapping[str, Json]):
    """The calls of a journal file by key, each read again when it is asked for.

    Ten thousand calls can be 100 MB of text and four times that as objects; this is 4 MB. The file
    stays open as long as this is used, whatever becomes of its name.
    """

    def __init__(self, file: int, places: dict[str, Place]) -> None:
        self._file = os.dup(file)
        self.places = places
        weakref.finalize(self, os.close, self._file)

    def __getitem__(self, key: str) -> Json:
        place = self.places[key]
        line: Json = json.loads(os.pread(self._file, place.size, place.start))
        return line

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


class Recording(NamedTuple):
    """What a journal file holds; `end` is where its last whole line ends, in bytes."""

    header: Json
    calls: Calls
    halt: str  # why gathering last ended early; empty: it did not, or the run has gone on since
    went_on: bool  # gathering had ended early once, and the run went on
    end: int

    @property
    def until(self) -> float:
        """When the last call had ended, in seconds of the run."""
        return max((place.until for place in self.calls.places.values()), default=0.0)

    def forget(self, *kinds: Literal["failed", "refused", "late"]) -> None:
        """Leave out calls that failed, were refused, or were late."""
        places = self.calls.places
        for key, place in list(places.items()):
            if any(getattr(place, kind) for kind in kinds):
                del places[key]


class Journal:
    """The calls of one run, in memory and, where a file can be written, on disk.

    The constructors are `begin`, `resume` and `replay`.
    """

    def __init__(
        self, header: Json, calls: Mapping[str, Json] | None = None, elapsed: float = 0.0
    ) -> None:
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
        self._known: Mapping[str, Json] = calls or {}
        self._zero = time.monotonic() - elapsed
        self._ended: set[str] = set()
        self._closed = False
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

        A torn last line is dropped; a file that does not exist is begun, with `header`. Calls that
        were refused for want of a key or of credit are made again; with `retry_failed` all that
        failed. Raises JournalError if the file is no journal, of a newer version, or in use by
        another process.
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
        until = recording.until
        recording.forget("failed" if retry_failed else "refused")
        journal = cls(recording.header, recording.calls, until)
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
        recording.forget("late")
        journal = cls(recording.header, recording.calls, recording.until)
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
            if self._closed:
                return True  # too late for the file, so that no sum tells of it either
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
            self._closed = True
            if self._file:
                with suppress(OSError):
                    os.fsync(self._file.fileno())
            self._drop()


def is_begun(path: Path) -> bool:
    """Whether a file holds at least the header of a run."""
    try:
        with path.open("rb") as file:
            return file.readline().endswith(b"\n")
    except OSError:
        return False


def read(path: Path, header: Json | None = None) -> Recording:
    """What a journal file holds; a last line that was not written whole is left out.

    `header` stands in where not even the first line was written whole. Raises JournalError if it
    cannot be read, is no journal, or is of a newer version.
    """
    try:
        with path.open("rb") as file:
            recording = _recording(file, header)
            version = recording.header["journal"]
            newer = version > VERSION
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    except (ValueError, TypeError, KeyError):
        raise JournalError(f"{path} is not a journal of a run.", "Name another file.") from None
    if newer:
        fault = f"{path} was written by a newer version of this program (format {version})."
        raise JournalError(fault, "Update this program.")
    return recording


def _recording(file: BinaryIO, header: Json | None) -> Recording:
    """Reads line by line, so that no more than one of them is in memory."""
    places: dict[str, Place] = {}
    halt, went_on, end, found = "", False, 0, None
    for raw in file:
        if not raw.endswith(b"\n"):
            break
        line = json.loads(raw)
        if found is None:
            found = line
        elif "halt" not in line:
            places[line["key"]] = _place(line, end, len(raw))
        elif not (halt := line["halt"]):  # the run goes on: what was late is in time now
            went_on = True
            places = {key: place._replace(late=False) for key, place in places.items()}
        end += len(raw)
    found = header if found is None else found
    if found is None:
        raise ValueError("an empty file")
    return Recording(found, Calls(file.fileno(), places), halt, went_on, end)


def _place(line: Json, start: int, size: int) -> Place:
    until = float(line.get("began", 0.0)) + float(line.get("seconds", 0.0))
    error = line.get("error")
    refused = isinstance(error, dict) and error.get("outcome") in FINAL
    return Place(start, size, "error" in line, refused, bool(line.get("late")), until)


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
        raise JournalBusy(
            f"{path} is being written by another run.", "Wait for it to end, or name another run."
        ) from None


def digest(kind: str, request: Json) -> str:
    """The key of a call: SHA-256 of its kind and its request as canonical JSON."""
    text = json.dumps([kind, request], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
