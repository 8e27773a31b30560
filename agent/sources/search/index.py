"""A full-text index of a user's files in SQLite: built once, stored, updated when files change.

The index is a cache: a damaged one is built again, and where none can be stored (a read-only
container) it is in memory.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.sources.pages.worker_pool import BodyReader
from agent.sources.search.documents import FileReader, scan_files
from agent.sources.search.indexing import is_up_to_date, update_index

LOCK_TIMEOUT = 60.0  # seconds to wait for another process that is building the same index


class Match(NamedTuple):
    """A chunk of a document that matches a query, with its score (higher is better)."""

    url: str
    title: str
    text: str
    score: float


class CorpusIndex:
    """The index of a folder or a file. `file` is where it is stored; None: in memory.

    `deadline`: on the monotonic clock, after which no more files are read. Thread-safe. Raises
    OSError when the folder itself cannot be listed.
    """

    def __init__(self, root: Path, file: Path | None, deadline: float = float("inf")) -> None:
        self._root = root
        self._file = file
        self._deadline = deadline
        self.unknown_files: tuple[str, ...] = ()  # files of the folder that are no documents
        self._lock = threading.Lock()
        self._db = self._open()

    @property
    def skipped_files(self) -> tuple[str, ...]:
        """The files that are left out in whole or in part, each with the reason."""
        rows = self._fetch("SELECT path, skipped FROM files WHERE skipped <> '' ORDER BY path")
        return tuple(f"{path or self._root.name}: {reason}" for path, reason in rows)

    @property
    def size(self) -> int:
        """The number of documents."""
        return int(self._fetch("SELECT count(*) FROM documents")[0][0])

    def count_chunks(self, term: str) -> int:
        """The number of chunks that contain a term."""
        return int(self._fetch("SELECT count(*) FROM words WHERE words MATCH ?", term)[0][0])

    def search(self, terms: Sequence[str], title_weight: float, limit: int) -> list[Match]:
        """The documents among the `limit` best chunks for any of the terms, best first, by BM25.

        Each document comes once, with its best chunk. `title_weight` is the weight of a word of the
        title; a word of the text weighs 1.
        """
        rows = self._fetch(
            "SELECT d.url, d.title, substr(d.text, c.start + 1, c.stop - c.start), w.score FROM "
            "(SELECT rowid AS id, -bm25(words, ?, 1.0) AS score FROM words WHERE words MATCH ? "
            "ORDER BY score DESC, rowid LIMIT ?) w "
            "JOIN chunks c ON c.id = w.id JOIN documents d ON d.id = c.document "
            "ORDER BY w.score DESC, w.id",
            title_weight,
            " OR ".join(terms),
            limit,
        )
        best: dict[str, Match] = {}
        for row in rows:
            best.setdefault(row[0], Match(*row))
        return list(best.values())

    def find_document(self, url: str) -> tuple[str, str] | None:
        """Title and text of a document; None for an unknown URL."""
        rows = self._fetch("SELECT title, text FROM documents WHERE url = ?", url)
        return (rows[0][0], rows[0][1]) if rows else None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _fetch(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a query. An index that turns out to be damaged is built again, once."""
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:  # damage in a part that opening did not read
                self._db.close()
                self._delete_file()
                self._db = self._open()
                return self._db.execute(sql, values).fetchall()

    def _open(self) -> sqlite3.Connection:
        for _ in (1, 2):  # twice: a damaged or outdated file is deleted once
            try:
                return self._update(self._connect(self._file))
            except (sqlite3.OperationalError, OSError):
                break  # no permission, no space, or locked by another process for too long
            except sqlite3.DatabaseError:
                self._delete_file()
        return self._update(self._connect(None))

    def _connect(self, file: Path | None) -> sqlite3.Connection:
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        name = ":memory:" if file is None else str(file)
        return sqlite3.connect(
            name, timeout=LOCK_TIMEOUT, isolation_level=None, check_same_thread=False
        )

    def _delete_file(self) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)
            self._file.with_name(f"{self._file.name}-journal").unlink(missing_ok=True)

    def _update(self, db: sqlite3.Connection) -> sqlite3.Connection:
        """The connection, with the index up to date; closed on any failure."""
        try:
            scan = scan_files(self._root)
            self.unknown_files = scan.unknown
            if not is_up_to_date(db, scan.stamps):
                update_index(db, scan, FileReader(BodyReader(), self._deadline))
        except BaseException:
            db.close()
            raise
        return db
