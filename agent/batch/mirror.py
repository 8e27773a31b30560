"""A batch whose file has a URL: worked on in files here, and copied there.

An object store can neither append nor lock. So rows and journals are files of this machine, as
always, and copies of them lie under the URL: FILE, FILE.batch, and the journals in FILE.runs/. The
journal of a topic is copied when the topic ends, before its row is written: no row lies there
without its journal. Rows, and journals of what is under way, follow every few seconds. At the
start what lies there counts: rows are replaced by it, of a journal the longer one is taken.
Nothing keeps two machines from writing to one URL at once: that is the user's care.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from agent.batch.rows import Rows, locked
from agent.errors import AgentError, JournalError, UsageError
from agent.outside import spawn
from agent.settings import Settings, user_folder

EVERY = 10.0  # seconds between two rounds of copying
SHARE = 10  # ... or so many times as long as a round took: rows are copied as a whole
LONGEST = 600.0  # seconds for one copy

Json = dict[str, Any]
T = TypeVar("T")


class Mirror:
    """The copies under a URL. Any number of processes may copy journals, one the rows."""

    def __init__(self, url: str, settings: Settings) -> None:
        """Rows are worked on beside the cache. Raises UsageError for a URL that cannot be used."""
        self.url = url
        self._files, self._root = _opened(url)
        folder = (settings.cache_dir or user_folder("cache")) / "batches"
        own = hashlib.sha256(url.encode()).hexdigest()[:16]
        self._out = folder / own / url.rpartition("/")[2]
        self._name = self._out.with_name(f"{self._out.name}.batch")
        self._growing: set[Path] = set()
        self._copied: dict[Path, tuple[int, int]] = {}
        self._over = threading.Event()
        spawn(self._rounds)

    def rows(self) -> Rows:
        """The rows that lie there, open here. Raises UsageError where they cannot be read or
        written there, JournalError where another process here is writing them."""
        self._out.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._fetch_rows()
            rows = Rows(self._out)
            self._copy(self._name)
            self._copy(self._out)
        except _CopyError as error:
            raise UsageError(error.message, "Check --out, and your rights there.") from None
        self._growing.add(self._out)
        return rows

    def _fetch_rows(self) -> None:
        """Where nothing lies there, nothing is here: it is a new batch."""
        file = locked(os.open(self._out, os.O_RDWR | os.O_CREAT, 0o600), self._out)
        with os.fdopen(file, "r+b") as rows, self._name.open("wb") as name:
            rows.truncate()
            _within(lambda: self._read(self._out, rows))
            _within(lambda: self._read(self._name, name))

    def _rounds(self) -> None:
        """Copy what has grown, every few seconds until the end. What fails is tried again."""
        rest = EVERY
        while not self._over.wait(rest):
            begun = time.monotonic()
            self._round()
            rest = max(EVERY, SHARE * (time.monotonic() - begun))

    def _round(self) -> list[str]:
        return [fault for path in list(self._growing) for fault in self._tried(self._copy, path)]

    def end(self) -> None:
        """Copy all that has grown. Raises JournalError where that fails."""
        self._over.set()
        if faults := self._round():
            remedy = f"The rows are in {self._out}; the same command copies what is missing."
            raise JournalError(faults[-1], remedy)

    def kept(self, journal: Path, work: Callable[[], Json]) -> Json:
        """The row that `work` makes, with its journal brought here before and copied after.

        A copy that fails costs no answer: it is told in the row's warnings.
        """
        faults = self._tried(self._fetch, journal)
        self._growing.add(journal)
        try:
            row = work()
        finally:
            self._growing.discard(journal)
        faults += self._tried(self._copy, journal)
        self._copied.pop(journal, None)
        return {**row, "warnings": [*row["warnings"], *faults]}

    def _tried(self, do: Callable[[Path], None], path: Path) -> list[str]:
        try:
            do(path)
        except _CopyError as error:
            return [error.message]
        return []

    def _fetch(self, journal: Path) -> None:
        """Bring a journal here where more of it lies there."""
        part = journal.with_name(f"{journal.name}.part")
        part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with part.open("wb") as file:
            _within(lambda: self._read(journal, file))
        if part.stat().st_size > (journal.stat().st_size if journal.exists() else 0):
            part.replace(journal)
        else:
            part.unlink()

    def _copy(self, path: Path) -> None:
        """Copy a file there, unless it is as it was when it was last copied."""
        if not path.exists():
            return  # a run that could not begin
        state = path.stat()
        now = state.st_size, state.st_mtime_ns
        if self._copied.get(path) != now:
            _within(lambda: self._files.put_file(str(path), self._there(path)))
            self._copied[path] = now

    def _there(self, path: Path) -> str:
        """Where the copy of a file lies."""
        beside = {self._out: "", self._name: ".batch"}.get(path, f".runs/{path.name}")
        return f"{self._root}{beside}"

    def _read(self, path: Path, into: BinaryIO) -> None:
        """What lies there of a file, if anything does."""
        with suppress(FileNotFoundError), self._files.open(self._there(path), "rb") as file:
            shutil.copyfileobj(file, into)


class _CopyError(AgentError):
    """Something could not be copied."""


def _opened(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    if url.endswith("/"):
        raise UsageError(f"{url} names no file.", "Name one in it, like answers.jsonl.")
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        remedy = "Install it: pip install 'llm-research-agent[fsspec]', and s3fs for s3://."
        raise UsageError("An --out with a URL needs fsspec.", remedy) from None
    try:
        files, root = url_to_fs(url)
    except (ImportError, ValueError) as error:  # which say what to install
        raise UsageError(f"{url} cannot be used: {error}", "Or name a path.") from None
    files.auto_mkdir = True  # of file://; others have no folders
    return files, root


def _within(copy: Callable[[], T]) -> T:
    """Do it, for LONGEST at most. Of what a service of others raises only the type is told, unless
    it is an error of files: other texts may hold a key. Raises _CopyError."""
    flight = spawn(copy)
    wait([flight], LONGEST)
    if not flight.done():
        raise _CopyError(f"A copy to --out was given up after {LONGEST:g} s.")
    if error := flight.exception():
        text = f": {str(error)[:200]}" if isinstance(error, OSError) else ""
        raise _CopyError(f"A copy to --out failed ({type(error).__name__}{text}).")
    return flight.result()
