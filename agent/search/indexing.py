"""Brings the index of a corpus up to date with its files."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import Any

from agent.search.documents import Document, FileReader, OutOfTime, UnreadableFile
from agent.search.files import FileScan
from agent.search.storage import (
    FileDocuments,
    let_read_while_writing,
    merge_lists,
    read_stamp,
    remove_file,
    write_file_row,
)

LOCK_TIMEOUT = 60.0  # seconds to wait for another process that writes the same index
LOCK_PAUSE = 0.1  # seconds between two tries to write
COMMIT_SECONDS, FIRST_COMMIT = 5.0, 2.0  # between two commits, and until the first one
ROUND_SECONDS = 60.0  # after which the folder is looked at again, however much is left to read
MERGED_AT_ONCE = 500  # pages of lists of words, while no query is answered
GROUP, GROUP_CHARS = 50, 1_000_000  # documents that are written at once, while no query is answered
UNFINISHED = "not all of it is read yet"
NO_TIME = "no time was left to read all of it"


class IndexUpdate:
    """Brings an index up to date with the files of a scan, while it is searched.

    All use one connection: `lock` is held while rows are written, and not while files are read. So
    what was written is found at once. It is committed every few seconds: a process that ends before
    the last file goes on the next time. Several processes may do it at once.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        lock: AbstractContextManager[Any],
        reader: FileReader,
        scan: FileScan,
    ) -> None:
        self.total = len(scan.stamps)
        self.done = 0  # of the files
        self._db = db
        self._lock = lock
        self._reader = reader
        self._scan = scan
        self._commit_at = time.monotonic() + FIRST_COMMIT
        self._changed: dict[str, str] = {}  # files with their stamps

    def run(self, seconds: float = ROUND_SECONDS) -> bool:
        """Remove files that are gone, and read those that have changed; whether all are.

        No file is begun after so many seconds. Raises sqlite3.Error, and ReadFailed once the
        reader is closed.
        """
        end = time.monotonic() + seconds
        gone, changes = self._compare(), self._db.total_changes
        self.done = self.total - len(self._changed)
        if gone or self._changed:
            let_read_while_writing(self._db)
        try:
            for path in gone:
                with self._writing():
                    remove_file(self._db, path)
            with closing(self._reader.read_files(self._scan, self._names(end))) as files:
                for path, documents in files:
                    self._replace_file(path, documents)
            self._merge_lists(self._db.total_changes - changes)
        finally:
            with self._lock:
                if self._db.in_transaction:
                    self._db.execute("COMMIT")
        return self.done == self.total

    def _merge_lists(self, pages: int) -> None:
        """Merge as many pages as rows have changed: none more, so that a small update is quick."""
        for done in range(0, pages, MERGED_AT_ONCE):
            if self._reader.is_over():
                return
            with self._writing():
                if not merge_lists(self._db, min(MERGED_AT_ONCE, pages - done)):
                    return

    def _compare(self) -> list[str]:
        """Find the files that have changed since they were read; returns those that are gone."""
        stamps = self._scan.stamps
        with self._lock:
            known = dict(self._db.execute("SELECT path, stamp FROM files").fetchall())
        self._changed = {path: stamp for path, stamp in stamps.items() if known.get(path) != stamp}
        return [path for path in known if path not in stamps]

    def _names(self, end: float) -> Iterator[str]:
        """The files that have changed, until the time is over."""
        for path in self._changed:
            if time.monotonic() > end or self._reader.is_over():
                return
            yield path

    def _replace_file(self, path: str, documents: Iterator[Document]) -> None:
        """Write the documents of a file in place of those that it had, some at a time."""
        groups = _Groups(documents)
        try:
            self._write_groups(path, groups)
        except OutOfTime:  # within a long document, of which nothing is kept
            groups.end_early()
            with self._writing():
                write_file_row(self._db, path, "", groups.describe_faults())
        self.done += groups.is_whole

    def _write_groups(self, path: str, groups: _Groups) -> None:
        stamp, file = self._changed[path], self._scan.path(path)
        written: FileDocuments | None = None
        while not groups.is_over:
            group = groups.take()
            with self._writing():
                if read_stamp(self._db, path) == stamp:  # another process has read it meanwhile
                    groups.is_over = groups.is_whole = True
                    return
                written = written or FileDocuments(self._db, path, file, self._reader.check_time)
                for document in group:
                    written.add(document)
                if groups.is_whole:
                    written.remove_old()
                is_read = stamp if groups.is_whole else ""
                write_file_row(self._db, path, is_read, groups.describe_faults())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock, in a transaction; commit from time to time.

        Raises sqlite3.OperationalError where another process writes for too long.
        """
        patient_until = time.monotonic() + LOCK_TIMEOUT
        while not self._begin(patient_until):
            time.sleep(LOCK_PAUSE)
        with self._lock:
            with ExitStack() as on_error:  # a document is in the index as a whole, or not at all
                on_error.callback(self._db.execute, "ROLLBACK")
                yield
                on_error.pop_all()
            is_due = time.monotonic() > self._commit_at
            if is_due:
                self._db.execute("COMMIT")
                self._commit_at = time.monotonic() + COMMIT_SECONDS
        if is_due:
            time.sleep(LOCK_PAUSE)  # so that other processes get their turn

    def _begin(self, patient_until: float) -> bool:
        """Begin a transaction where there is none; whether no other process was in the way."""
        with self._lock:
            if self._db.in_transaction:
                return True
            try:
                self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > patient_until:
                    raise
                return False
            return True


class _Groups:
    """The documents of a file, taken by groups, and why it has no more."""

    def __init__(self, documents: Iterator[Document]) -> None:
        self.is_over = False
        self.is_whole = False  # all of the file was read that can be
        self._documents = documents
        self._faults: list[str] = []

    def take(self) -> list[Document]:
        """The next documents: few enough to be written at once."""
        group: list[Document] = []
        chars = 0
        try:
            while len(group) < GROUP and chars < GROUP_CHARS:
                document = next(self._documents)
                group.append(document)
                chars += len(document.text)
        except StopIteration:
            self.is_over = self.is_whole = True
        except UnreadableFile as error:
            self.is_over = self.is_whole = True
            self._faults.append(str(error))
        except OutOfTime:
            self.end_early()
        return group

    def end_early(self) -> None:
        """Take no more, for want of time."""
        self.is_over, self.is_whole = True, False
        self._faults.append(NO_TIME)

    def describe_faults(self) -> str:
        """What of the file is not read, in words."""
        return "; ".join(self._faults) if self.is_over else UNFINISHED
