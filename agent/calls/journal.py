"""The journal: the durable record of a run's external calls.

Each call is written as one line when it ends (`journal_lines.py` has the format) and flushed at
once, so it survives a crash of the process. The file is synced to the disk after the header, each
model call and the answer, which is the last line.

Resume runs the same code again and takes known calls from the journal. Replay does the same and
forbids every other call. No key of a service is ever in a journal.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal

from agent.calls.file_lock import Release, lock_file
from agent.calls.input_file import MAX_LINE_BYTES, require_regular
from agent.calls.journal_lines import VERSION, is_of_parent
from agent.calls.journal_reader import read_journal
from agent.errors import JournalBusy, JournalError
from agent.state import Json


class Journal:
    """The calls of one run, in memory and, where a file can be written, on disk.

    Made by `begin`, `resume` or `replay`. The constructor alone makes a journal without a file.
    """

    def __init__(
        self, header: Json, calls: Mapping[str, Json] | None = None, elapsed: float = 0.0
    ) -> None:
        """`calls`: those of earlier parts of the run, by key; `elapsed`: their seconds."""
        self.header = header
        self.path: Path | None = None  # of the file that is written; None: no file
        self.problem = ""  # why there is no file, in words for the user
        self.is_replay = False  # a call that the journal does not hold is an error
        self.halt_reason = ""  # why gathering ended early, in words
        self.late_keys: set[str] = set()  # calls under way at that moment: a replay ignores them
        self.stop = threading.Event()  # set: no new call is made
        self.calls: list[Json] = []  # every call that this run used, in the order they ended
        self.recalled_count = 0  # how many of them were answered from the file
        self.recalled_external_count = 0  # and how many of these an earlier part made
        self.in_flight: dict[str, Future[Any]] = {}  # calls by key, ended ones too
        self.start_times: dict[str, float] = {}  # by key, in `elapsed_seconds`
        self.subjects: dict[str, str] = {}  # by key: the call in words
        self.lock = threading.Lock()
        self._held_calls: Mapping[str, Json] = calls or {}
        self._zero = time.monotonic() - elapsed
        self._ended_keys: set[str] = set()
        self.is_closed = False
        self._is_answered = False  # the last line of the file is an answer
        self._file: TextIOWrapper | None = None
        self._release: Release = lambda: None

    @classmethod
    def begin(cls, path: Path, header: Json) -> Journal:
        """A new journal. If the path cannot be written, `problem` says so and the run goes on.

        Raises JournalError if the file exists.
        """
        journal = cls({"journal": VERSION, **header})
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # texts of pages are private
            with ExitStack() as undo:
                file = undo.enter_context(_open_file(path, "x"))
                release = _lock_file(file, path)
                undo.pop_all()
        except OSError as error:
            if os.path.exists(path):  # noqa: PTH110  perhaps another process made it a moment ago
                remedy = "Resume it when no other run writes it, or name another."
                raise JournalError(f"{path} exists already.", remedy) from None
            journal._give_up_file(path, error)
        else:
            journal._take_file(path, file, release)
            journal._write_line(journal.header, sync=True)
        return journal

    @classmethod
    def resume(cls, path: Path, header: Json, *, retry_failed: bool = False) -> Journal:
        """Go on with a journal: it answers the calls that it holds, and new calls are added.

        An incomplete last line is cut off. A file that does not exist is begun, with `header`.
        Calls that failed for want of a key or of credit are made again; with `retry_failed`, all
        that failed. Raises JournalError if the file is no journal, of a newer version, or in use by
        another process.
        """
        if not os.path.exists(path):  # noqa: PTH110  (`Path.exists` raises for a long name)
            return cls.begin(path, header)
        with ExitStack() as undo:
            file = undo.enter_context(_open_existing(path))
            release = _lock_file(file, path)
            undo.callback(release)
            recording = read_journal(path, {"journal": VERSION, **header})
            _cut_off(file, path, recording.end)
            undo.pop_all()
        elapsed = recording.ended_at
        recording.forget("failed" if retry_failed else "refused")
        journal = cls(recording.header, recording.calls, elapsed)
        journal._take_file(path, file, release)
        journal._is_answered = recording.is_answered
        if not recording.end:
            journal._write_line(journal.header, sync=True)
        if recording.halt:
            journal._write_line({"halt": ""}, sync=False)  # late calls count from now on
        return journal

    @classmethod
    def replay(cls, path: Path) -> Journal:
        """A journal that answers the calls that it holds. Any other call raises JournalError."""
        recording = read_journal(path)
        recording.forget("late")
        journal = cls(recording.header, recording.calls, recording.ended_at)
        journal.is_replay = True
        journal.halt_reason = recording.halt
        return journal

    def waited_for(self) -> list[tuple[str, float]]:
        """The calls that are under way: each in words, and for how many seconds. Thread-safe."""
        with self.lock:
            flights = dict(self.in_flight)
        now = self.elapsed_seconds()
        keys = [key for key, future in flights.items() if not future.done()]
        return [(self.subjects[k], now - self.start_times[k]) for k in keys if k in self.subjects]

    def _take_file(self, path: Path, file: TextIOWrapper, release: Release) -> None:
        self.path, self._file, self._release = path, file, release

    def _give_up_file(self, path: Path | None, error: OSError) -> None:
        """Go on without a file, and keep the reason for the user."""
        self.problem = f"The journal cannot be written ({error.strerror}: {path})."
        self.path = None
        self._close_file()

    def _close_file(self) -> None:
        if self._file:
            with suppress(OSError):
                self._file.close()
            self._release()
        self._file = None

    def elapsed_seconds(self) -> float:
        """Seconds that the run has taken, to the millisecond, earlier parts of it included."""
        return round(time.monotonic() - self._zero, 3)

    def find_call(self, key: str) -> Json | None:
        """The line of a call that an earlier part of the run made."""
        return self._held_calls.get(key)

    def has_ended_in_time(self, key: str) -> bool:
        """Whether a call ended before gathering did."""
        with self.lock:
            return key in self._ended_keys and key not in self.late_keys

    def record(self, line: Json, write: bool) -> bool:
        """Add a call that ended, to the file too if `write`; False if it had already ended."""
        with self.lock:
            if line["key"] in self._ended_keys:
                return False
            self._ended_keys.add(line["key"])
            if self.is_closed:
                return True  # it is not in the file, so it must not be in the usage either
            if line["key"] in self.late_keys:
                line = {**line, "late": True}
            self.calls.append(line)
            if write or line["key"] not in self._held_calls:  # else it is in the file
                self._write_line(line, sync=line["call"] == "ask")
            if not write:
                self.recalled_count += 1
                self.recalled_external_count += not is_of_parent(line)
        return True

    def halt(self, reason: str, keys: Iterable[str]) -> str:
        """Record that gathering ended early; returns why it first did, as a replay reports it.

        `keys` are the calls that nobody waits for any longer. Those among them that end later are
        recorded as late, since they were paid for; only a resume uses them.
        """
        with self.lock:
            self.late_keys |= set(keys) - self._ended_keys
            if not (self.is_replay or self.halt_reason):
                self.halt_reason = reason
                self._write_line({"halt": reason}, sync=True)
            return self.halt_reason or reason

    def _write_line(self, line: Json, *, sync: bool) -> None:
        if self._file is None:
            return
        self._is_answered = "answer" in line
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            self._give_up_file(self.path, error)

    def end(self) -> None:
        """Allow no new call, and record none of those under way: they are abandoned."""
        self.stop.set()
        with self.lock:
            self.is_closed = True

    def write_answer(self, answer: Json) -> str:
        """Write the answer as the last line, after `end`; returns why that failed, else "".

        Where there is no file, the user knows already; where nothing was added since the last
        answer, that still holds.
        """
        if self._file is None or self._is_answered:
            return ""
        if len(json.dumps(answer)) > MAX_LINE_BYTES:
            return f"The answer is too long to be kept in {self.path}."
        with self.lock:
            self._write_line({"answer": answer}, sync=True)
        return self.problem

    def close(self) -> None:
        """As `end`; and close the file."""
        self.end()
        with self.lock:
            if self._file:
                with suppress(OSError):
                    os.fsync(self._file.fileno())
            self._close_file()


def _open_file(path: Path, mode: Literal["x", "r+"]) -> TextIOWrapper:
    """Open a journal file; a lone surrogate is written as the JSON escape that it came from."""
    return path.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n")


def _open_existing(path: Path) -> TextIOWrapper:
    """Open a journal file to go on with it. Raises JournalError if it cannot be written."""
    try:
        require_regular(path)
        return _open_file(path, "r+")
    except OSError as error:
        raise _unwritable(path, error) from None


def _cut_off(file: TextIOWrapper, path: Path, end: int) -> None:
    """Cut a journal off after its last complete line. Raises JournalError."""
    try:
        file.truncate(end)
        file.seek(0, os.SEEK_END)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> JournalError:
    fault = f"{path} cannot be written: {error.strerror}."
    return JournalError(fault, "To look at it only, use --replay.")


def _lock_file(file: TextIOWrapper, path: Path) -> Release:
    """Lock a journal for this process. Raises JournalBusy if another process writes it."""
    if release := lock_file(file.fileno(), path):
        return release
    raise JournalBusy(
        f"{path} is being written by another run.", "Wait for it to end, or name another run."
    )


def call_key(kind: str, request: Json) -> str:
    """The key of a call: SHA-256 of its kind and its request as canonical JSON."""
    text = json.dumps([kind, request], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
