"""Brings the index of a corpus up to date with its files."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agent.evidence import split_passages
from agent.sources.search.documents import (
    Document,
    FileReader,
    FileScan,
    OutOfTime,
    UnreadableFile,
)
from agent.sources.search.terms import add_bigrams, strip_unstorable
from agent.state.values import hash_text

#: Of all that an index file holds. Raise it with any change to how text is cut or normalized.
INDEX_VERSION = 3
LOCK_TIMEOUT = 60.0  # seconds to wait for another process that writes the same index
LOCK_PAUSE = 0.1  # seconds between two tries to write
COMMIT_SECONDS = 2.0
GROUP = 50  # documents that are written at once, while no query is answered
UNFINISHED = "not all of it is read yet"
CHUNK_CHARS = 1500  # a chunk is the part of a document that is matched and ranked on its own
BLOCK_CHARS = 200_000  # of a long document, which are cut into chunks at once

_SCHEMA = """
CREATE TABLE files (path TEXT PRIMARY KEY, stamp TEXT, skipped TEXT);
CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, url TEXT UNIQUE, title TEXT, text TEXT,
    marks TEXT);
CREATE INDEX by_path ON documents (path);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, document INTEGER, start INTEGER, stop INTEGER);
CREATE INDEX by_document ON chunks (document);
CREATE VIRTUAL TABLE words USING fts5
    (title, body, content='', tokenize='porter unicode61 remove_diacritics 2');
"""


class IndexUpdate:
    """Brings an index up to date with the files of a scan, while it is searched.

    All use one connection: `lock` is held while rows are written, and not while files are read. So
    what was written is found at once. It is committed every few seconds: a process that ends before
    the last file goes on the next time. Several processes may do it at once.
    """

    def __init__(
        self, db: sqlite3.Connection, lock: AbstractContextManager[Any], reader: FileReader
    ) -> None:
        self.done = 0  # of the files that have changed
        self.total = 0
        self._db = db
        self._lock = lock
        self._reader = reader
        self._committed_at = time.monotonic()

    def run(self, scan: FileScan) -> None:
        """Remove and add the files whose stamps differ from those of the scan.

        Files for which the reader has no time are read the next time. Raises sqlite3.Error.
        """
        with self._writing():
            indexed = read_stamps(self._db)
            unchanged = {path for path, stamp in scan.stamps.items() if indexed.get(path) == stamp}
            for path in indexed.keys() - unchanged:
                _remove_file(self._db, path)
        changed = [path for path in scan.stamps if path not in unchanged]
        self.total = len(changed)
        bad_rows: list[int] = []
        files = self._reader.read_files((scan.files[path] for path in changed), bad_rows.append)
        try:
            for path, documents in zip(changed, files, strict=True):
                self._add_file(scan, path, documents, bad_rows)
                self.done += 1
        finally:
            with self._lock:
                if self._db.in_transaction:
                    self._db.execute("COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock, in a transaction; commit from time to time.

        Raises sqlite3.OperationalError where another process writes for too long.
        """
        patient_until = time.monotonic() + LOCK_TIMEOUT
        while not self._begin(patient_until):
            time.sleep(LOCK_PAUSE)
        with self._lock:
            yield
            is_due = time.monotonic() - self._committed_at > COMMIT_SECONDS
            if is_due:
                self._db.execute("COMMIT")
                self._committed_at = time.monotonic()
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

    def _add_file(
        self, scan: FileScan, path: str, documents: Iterator[Document], bad_rows: list[int]
    ) -> None:
        """Add the documents of a file; `bad_rows` gets the number of its unusable rows, if any."""
        stamp, faults = scan.stamps[path], list[str]()
        with self._writing():
            is_done = read_stamps(self._db, path).get(path) == stamp  # by another process
            if not is_done:
                _remove_file(self._db, path)
                self._write_file_row(path, "", UNFINISHED)
        if is_done:
            with suppress(UnreadableFile, OutOfTime):
                for _ in documents:  # the next file's are behind them
                    pass
            bad_rows.clear()
            return
        try:
            while group := list(islice(documents, GROUP)):
                with self._writing():
                    for document in group:
                        _add_document(self._db, scan.files[path], path, document, self._reader)
                faults += filter(None, (document.note for document in group))
        except UnreadableFile as error:
            faults.append(str(error))
        except OutOfTime:
            stamp = ""  # no file has this stamp
            faults.append("no time was left to read all of it")
        faults = [*(f"{count} unusable rows" for count in bad_rows), *faults]
        bad_rows.clear()
        with self._writing():
            self._write_file_row(path, stamp, "; ".join(faults))

    def _write_file_row(self, path: str, stamp: str, skipped: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (path, stamp, skipped))


def create_index(db: sqlite3.Connection) -> None:
    """Create the tables where there are none. Raises DatabaseError for another version."""
    if _has_index(db):
        return
    db.execute("BEGIN IMMEDIATE")
    if not _has_index(db):
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {INDEX_VERSION}")
    db.execute("COMMIT")


def _has_index(db: sqlite3.Connection) -> bool:
    """Whether the database holds an index. Raises DatabaseError for one of another version."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, INDEX_VERSION):
        raise sqlite3.DatabaseError("an index of another version")
    return bool(version)


def read_stamps(db: sqlite3.Connection, path: str | None = None) -> dict[str, str]:
    """The stamp of each file that the index holds, or of one of them."""
    if path is not None:
        return dict(db.execute("SELECT path, stamp FROM files WHERE path = ?", (path,)))
    return dict(db.execute("SELECT path, stamp FROM files ORDER BY rowid"))


def _remove_file(db: sqlite3.Connection, path: str) -> None:
    rows = db.execute("SELECT id, title, text FROM documents WHERE path = ?", (path,)).fetchall()
    for document, title, text in rows:
        chunks = db.execute("SELECT id, start, stop FROM chunks WHERE document = ?", (document,))
        for chunk, start, stop in chunks.fetchall():
            # the FTS table stores no text (content=''): to delete a row, it needs the same text
            db.execute(
                "INSERT INTO words(words, rowid, title, body) VALUES ('delete', ?, ?, ?)",
                (chunk, add_bigrams(title), add_bigrams(text[start:stop])),
            )
        db.execute("DELETE FROM chunks WHERE document = ?", (document,))
    db.execute("DELETE FROM documents WHERE path = ?", (path,))
    db.execute("DELETE FROM files WHERE path = ?", (path,))


def _add_document(
    db: sqlite3.Connection,
    file: Path,
    path: str,
    document: Document,
    reader: FileReader,
) -> None:
    """Add a document under the first of its URLs that is free, so that none hides another.

    The URLs are its own, that of its file, and that of its file with a hash of the text. Where all
    are taken, it is a duplicate and left out.
    """
    title = " ".join(document.title.split())
    text = document.text
    marks = json.dumps(document.marks, ensure_ascii=False) if document.marks else ""
    key = quote(document.key, safe="?=", errors="replace")
    file_url = f"file://{quote(os.fsencode(file.as_posix()))}{key}"
    urls = (strip_unstorable(document.url.strip()), file_url, f"{file_url}#{hash_text(text)[:16]}")
    for url in filter(None, urls):
        cursor = db.execute(
            "INSERT OR IGNORE INTO documents (path, url, title, text, marks) "
            "VALUES (?, ?, ?, ?, ?)",
            (path, url, title, text, marks),
        )
        if cursor.rowcount:
            _add_chunks(db, cursor.lastrowid, title, text, reader.check_time)
            return


def _add_chunks(
    db: sqlite3.Connection,
    document: int | None,
    title: str,
    text: str,
    check_time: Callable[[], None],
) -> None:
    for start, stop in _split_chunks(text):
        check_time()
        chunk = db.execute(
            "INSERT INTO chunks (document, start, stop) VALUES (?, ?, ?)", (document, start, stop)
        ).lastrowid
        db.execute(
            "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
            (chunk, add_bigrams(title), add_bigrams(text[start:stop])),
        )


def _split_chunks(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the chunks of a text, one block after the other: a file may have megabytes."""
    if len(text) <= CHUNK_CHARS:
        yield 0, len(text)
        return
    for block in range(0, len(text), BLOCK_CHARS):
        spans = split_passages(text[block : block + BLOCK_CHARS], CHUNK_CHARS)
        yield from ((block + start, block + stop) for start, stop in spans)
