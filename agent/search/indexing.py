"""Brings the index of a corpus up to date with its files."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import Any

from agent.search.corpus_documents import Document, FileReader, OutOfTime, UnreadableFile
from agent.search.corpus_files import FileScan
from agent.search.storage import (
    FileDocuments,
    let_read_while_writing,
    merge_lists,
    read_stamp,
    remove_file,
    write_file_row,
)

LOCK_PAUSE = 0.1  # seconds after a commit, so that other processes get their turn
COMMIT_SECONDS, FIRST_COMMIT = 5.0, 2.0  # between two commits, and until the first one
GROUP, GROUP_CHARS = 50, 1_000_000  # documents that are written at once, while no query is answered
UNFINISHED = "not all of it is read yet"
NO_TIME = "no time was left to read all of it"


class IndexUpdate:
    """Brings an index up to date with the files of a scan, while it is searched.

    `lock` is held while rows are written, not while files are read. Rows are committed every few
    seconds, so an update that was broken off goes on the next time. Processes may share an index.
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

    def run(self) -> None:
        """Remove files that are gone, and read those that have changed, as long as there is time.

        Raises sqlite3.Error, and ReadFailed once the
        reader is closed.
        """
        gone, changes = self._compare(), self._db.total_changes
        self.done = self.total - len(self._changed)
        if gone or self._changed:
            let_read_while_writing(self._db)
        try:
            for path in gone:
                with self._writing():
                    remove_file(self._db, path)
            with closing(self._reader.read_files(self._scan, self._names())) as files:
                for path, documents in files:
                    self._replace_file(path, documents)
            if changed := self._db.total_changes - changes:
                with self._writing():
                    merge_lists(self._db, changed)
        finally:
            with self._lock:
                if self._db.in_transaction:
                    self._db.execute("COMMIT")

    def _compare(self) -> list[str]:
        """Find the files that have changed since they were read; returns those that are gone."""
        stamps = self._scan.stamps
        with self._lock:
            stored = dict(self._db.execute("SELECT path, stamp FROM files").fetchall())
        self._changed = {path: stamp for path, stamp in stamps.items() if stored.get(path) != stamp}
        return [path for path in stored if path not in stamps]

    def _names(self) -> Iterator[str]:
        for path in self._changed:
            if self._reader.is_over():
                return
            yield path

    def _replace_file(self, path: str, documents: Iterator[Document]) -> None:
        written: FileDocuments | None = None
        fault: str | None = None
        while fault is None:
            group, fault = _take_group(documents)
            is_whole = fault not in (None, NO_TIME)
            with self._writing():
                if read_stamp(self._db, path) == self._changed[path]:  # another process has read it
                    is_whole = True
                    break
                written = written or FileDocuments(self._db, path, self._scan.path(path))
                for document in group:
                    written.add(document)
                if is_whole:
                    written.remove_old()
                stamp = self._changed[path] if is_whole else ""
                write_file_row(self._db, path, stamp, UNFINISHED if fault is None else fault)
        self.done += is_whole

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock, in a transaction; commit from time to time.

        Raises sqlite3.OperationalError where another process writes for too long.
        """
        with self._lock:
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            with ExitStack() as on_error:  # a document is in the index as a whole, or not at all
                on_error.callback(self._db.execute, "ROLLBACK")
                yield
                on_error.pop_all()
            is_due = time.monotonic() > self._commit_at
            if is_due:
                self._db.execute("COMMIT")
                self._commit_at = time.monotonic() + COMMIT_SECONDS
        if is_due:
            time.sleep(LOCK_PAUSE)


def _take_group(documents: Iterator[Document]) -> tuple[list[Document], str | None]:
    """Documents of a file, few enough to be written at once; and why there are no more.

    The reason is None where there may be more, "" where all were read.
    """
    group: list[Document] = []
    chars = 0
    try:
        for document in documents:
            group.append(document)
            chars += len(document.text)
            if len(group) >= GROUP or chars >= GROUP_CHARS:
                return group, None
    except UnreadableFile as error:
        return group, str(error)
    except OutOfTime:
        return group, NO_TIME
    return group, ""
