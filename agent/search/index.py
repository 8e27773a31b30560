"""A full-text index of a user's files in SQLite: built once, stored, updated when files change.

The index is a cache: a damaged one is built again, and where none can be stored (a read-only
container) it is in memory.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from agent.calls import spawn
from agent.documents.body_reader import BodyReader
from agent.errors import ReadFailed
from agent.search.corpus_documents import Document, FileReader
from agent.search.corpus_files import FileScan, scan_files
from agent.search.indexing import UNFINISHED, IndexUpdate
from agent.search.storage import close_index, create_index

WRITE_TIMEOUT = 60.0  # seconds for which a write waits for another process
RESCAN_SECONDS = 2.0  # between two looks at the files of a folder,
SLOW_SCAN, SCAN_PAUSES = 0.2, 10  # and so many times as long as a look took that takes longer
CLOSE_TIMEOUT = 5.0  # seconds for the last commit of an update that is stopped
MAX_PATIENCE = 1e6  # seconds; more is no limit
#: Ranking costs by the chunk: the rarest terms choose so many chunks, and at least two terms do.
MAX_CANDIDATES, LEAST_RARE = 8_000, 2
MOST_COUNTED = 20_000  # chunks with a term; terms with more count as equally common
AWAY = "it is not there, or holds no document any more; its index is kept"


class Match(NamedTuple):
    """The chunk of a document that matches a query best, with its score (higher is better)."""

    url: str
    title: str
    start: int
    stop: int
    score: float


class CorpusIndex:
    """The index of a folder or a file. `file` is where it is stored; None: in memory.

    `refresh` updates it in a thread of its own. `deadline`: on the monotonic clock, after which no
    more files are read. `rescan_seconds`: between two looks at the files. Thread-safe.
    """

    def __init__(
        self,
        root: Path,
        file: Path | None,
        deadline: float = float("inf"),
        rescan_seconds: float = RESCAN_SECONDS,
    ) -> None:
        self.unknown_files: tuple[str, ...] = ()  # files of the folder that are no documents
        self._root = root
        self._file = file
        self._deadline = deadline
        self._rescan_seconds = rescan_seconds
        self._lock = threading.RLock()
        self._db = self._open()
        self._rescan_at = -math.inf
        self._scan_seconds = 0.0  # that the last look at the files took
        self._folder_faults: tuple[tuple[str, str], ...] = ()
        self._is_away = False
        self._update_began = -math.inf
        self._reader: BodyReader | None = None
        self._is_closed = False
        self._update: IndexUpdate | None = None  # the last one
        self._updating: Future[None] = Future()
        self._updating.set_result(None)

    def reopen(self, deadline: float) -> None:
        """Look at the files at the next refresh, and read them until a later deadline."""
        with self._lock:
            self._deadline = max(self._deadline, deadline)
            if self._scan_seconds < SLOW_SCAN:
                self._rescan_at = -math.inf

    def refresh(self, patience: float = math.inf) -> bool:
        """Bring the index up to date with the files; whether it is, after so many seconds.

        What is not done in time goes on.
        """
        with self._lock:
            now = time.monotonic()
            can_read = now < self._deadline or self._rescan_at == -math.inf
            if now >= self._rescan_at and can_read and self._updating.done():
                self._update_began = now
                self._updating = spawn(self._run_update)
        try:
            self._updating.result(patience if patience < MAX_PATIENCE else None)
        except TimeoutError:
            return False
        return True

    @property
    def update_seconds(self) -> float:
        """How long the update that is going on has taken so far."""
        return time.monotonic() - self._update_began

    @property
    def progress(self) -> tuple[int, int] | None:
        """How many of the files are in the index; None where all are that can be read."""
        update = self._update
        return (update.done, update.total) if update and update.done < update.total else None

    @property
    def skipped_files(self) -> tuple[tuple[str, str], ...]:
        """The files and folders that are left out in whole or in part, each with the reason."""
        if self._is_away:
            return (*self._folder_faults, (self._root.name, AWAY))
        left_out = "SELECT path, skipped FROM files WHERE skipped NOT IN ('', ?) ORDER BY path"
        rows = self._fetch(left_out, UNFINISHED)
        return (*self._folder_faults, *((path or self._root.name, fault) for path, fault in rows))

    @property
    def partial_files(self) -> tuple[str, ...]:
        """The files of whose documents not all is read."""
        rows = self._fetch("SELECT DISTINCT path FROM documents WHERE note != '' ORDER BY path")
        return tuple(path or self._root.name for (path,) in rows)

    @property
    def size(self) -> int:
        """The number of documents."""
        return 0 if self._is_away else int(self._fetch("SELECT count(*) FROM documents")[0][0])

    def search(self, terms: Sequence[str], title_weight: float, limit: int) -> list[Match]:
        """The documents among the `limit` best chunks for any of the terms, best first, by BM25.

        Each document comes once, with its best chunk. `title_weight`: of a word of the title; one
        of the text weighs 1. A chunk that has only common terms is skipped where there are rarer
        ones.
        """
        queries = [] if self._is_away else self._write_queries(terms)
        if not queries:
            return []
        ranked = (
            "SELECT * FROM (SELECT rowid AS id, -bm25(words, ?, 1.0) AS score FROM words "
            "WHERE words MATCH ? ORDER BY score DESC, rowid LIMIT ?)"
        )
        best = (
            "SELECT d.url, d.title, c.start, c.stop, max(w.score) AS score "
            f"FROM ({' UNION ALL '.join([ranked] * len(queries))}) w "
            "JOIN chunks c ON c.id = w.id JOIN documents d ON d.id = c.document "
            "GROUP BY d.id ORDER BY score DESC, w.id"
        )
        values = (value for query in queries for value in (title_weight, query, limit))
        return [*map(Match._make, self._fetch(best, *values))]

    def _write_queries(self, terms: Sequence[str]) -> list[str]:
        counts = {term: self._count_chunks(term) for term in terms}
        by_rarity = sorted((term for term in terms if counts[term]), key=counts.__getitem__)
        totals = accumulate(counts[term] for term in by_rarity)
        at = max(LEAST_RARE, sum(total <= MAX_CANDIDATES for total in totals))
        rare, common = " OR ".join(by_rarity[:at]), " OR ".join(by_rarity[at:])
        return [one for one in (rare, common and f"({rare}) AND ({common})") if one]

    def _count_chunks(self, term: str) -> int:
        some = "SELECT 1 FROM words WHERE words MATCH ? LIMIT ?"
        return int(self._fetch(f"SELECT count(*) FROM ({some})", term, MOST_COUNTED)[0][0])

    def read_text(self, match: Match) -> str:
        """The text of the chunk of a match; empty where the document is gone meanwhile."""
        select = "SELECT substr(text, ? + 1, ? - ?) FROM documents WHERE url = ?"
        rows = self._fetch(select, match.start, match.stop, match.start, match.url)
        return str(rows[0][0]) if rows else ""

    def find_document(self, url: str) -> Document | None:
        """A document without its key; None for an unknown URL."""
        columns = "title, text, url, marks, note, date"
        rows = self._fetch(f"SELECT {columns} FROM documents WHERE url = ?", url)
        if not rows:
            return None
        title, text, url, marks, note, date = rows[0]
        places = tuple(map(tuple, json.loads(marks or "[]")))
        return Document(title, text, url, marks=places, note=note, date=date)

    def find_urls(self, part: str) -> list[str]:
        """The URLs of the documents whose URL has this in it."""
        rows = self._fetch("SELECT url FROM documents WHERE instr(url, ?) ORDER BY url", part)
        return [url for (url,) in rows]

    def close(self) -> None:
        """Stop reading files and close the index; what was read is kept."""
        self._is_closed = True
        if self._reader:
            self._reader.close()
        wait([self._updating], timeout=CLOSE_TIMEOUT)
        with self._lock:
            close_index(self._db)

    def _run_update(self) -> None:
        """Read the files that have changed. A damaged index is built again; else in memory."""
        for is_last in (False, True):
            try:
                self._update_files()
                break
            except (ReadFailed, sqlite3.ProgrammingError):  # it was closed
                break
            except sqlite3.DatabaseError as error:
                if is_last:
                    raise
                self._replace_index(is_damaged=not isinstance(error, sqlite3.OperationalError))

    def _update_files(self) -> None:
        """Look for files and read those that have changed.

        A folder that holds no document may be one that is not mounted: its index is kept.
        """
        self._reader = reader = BodyReader()
        if self._is_closed:
            return
        scan = self._scan_files()
        self._is_away = not scan.stamps and bool(self._fetch("SELECT 1 FROM files LIMIT 1"))
        if not self._is_away:
            files = self.make_reader(reader, self._deadline)
            self._update = update = IndexUpdate(self._db, self._lock, files, scan)
            update.run()

    def _scan_files(self) -> FileScan:
        start = time.monotonic()
        scan = self.find_files(self._root)
        self._scan_seconds = time.monotonic() - start
        pause = SCAN_PAUSES * self._scan_seconds if self._scan_seconds > SLOW_SCAN else 0.0
        self._rescan_at = start + max(self._rescan_seconds, pause)
        self.unknown_files, self._folder_faults = scan.unknown, scan.faults
        return scan

    def find_files(self, root: Path) -> FileScan:
        """The files of the folder as they are."""
        return scan_files(root)

    def make_reader(self, bodies: BodyReader, deadline: float) -> FileReader:
        """What reads the files until a time on the monotonic clock."""
        return FileReader(bodies, deadline)

    def _replace_index(self, *, is_damaged: bool) -> None:
        """Begin anew: in the same file where that was damaged, else in memory."""
        with self._lock:
            self._db.close()
            self._file = self._file if is_damaged else None
            self._delete_file()
            self._db = self._open()

    def _fetch(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a query. An index that turns out to be damaged is built again, once."""
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except (sqlite3.OperationalError, sqlite3.ProgrammingError):
                raise
            except sqlite3.DatabaseError:  # damage in a part that opening did not read
                self._replace_index(is_damaged=True)
        wait([self._updating])
        self._rescan_at = -math.inf
        self.refresh()
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def _open(self) -> sqlite3.Connection:
        for _ in (1, 2):  # twice: a damaged or outdated file is deleted once
            try:
                return self._connect(self._file)
            except (sqlite3.OperationalError, OSError):
                break  # no permission, no space, or locked by another process for too long
            except sqlite3.DatabaseError:
                self._delete_file()
        return self._connect(None)

    def _connect(self, file: Path | None) -> sqlite3.Connection:
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(
            file or ":memory:", WRITE_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        with ExitStack() as on_error:
            on_error.callback(db.close)
            create_index(db)
            on_error.pop_all()
        return db

    def _delete_file(self) -> None:
        if self._file is not None:
            delete_index(self._file)


def delete_index(file: Path) -> None:
    """Delete a stored index, if there is one, with what SQLite keeps beside it."""
    for end in ("", "-journal", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
