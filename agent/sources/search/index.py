"""A full-text index of a user's files in SQLite: built once, kept, updated when files change.

The index is a cache: one that cannot be read is built again, and where none can be kept (a
read-only container) it lives in memory.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote as percent

from agent.evidence import CJK, passages
from agent.sources.search.documents import Document, Unreadable, documents, stamps

VERSION = (
    1  # of everything that an index file holds: raise it with any change of cutting or folding
)
CHUNK = 1500  # characters: a part of a document that is found and ranked on its own
PATIENCE = 60.0  # seconds that a process waits for another one that is building the same index

_SCHEMA = """
CREATE TABLE files (path TEXT PRIMARY KEY, stamp TEXT, skipped TEXT);
CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, url TEXT UNIQUE, title TEXT, text TEXT);
CREATE INDEX by_path ON documents (path);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, document INTEGER, start INTEGER, stop INTEGER);
CREATE INDEX by_document ON chunks (document);
CREATE VIRTUAL TABLE words USING fts5
    (title, body, content='', tokenize='porter unicode61 remove_diacritics 2');
"""


class Match(NamedTuple):
    """A chunk that fits a query: where it stands, and its score (higher is better)."""

    url: str
    title: str
    text: str
    score: float


class Index:
    """The index of a folder or a file. `file` is where it is kept; None: in memory.

    May be used from several threads. Raises OSError when the folder itself cannot be listed.
    """

    def __init__(self, root: Path, file: Path | None) -> None:
        self._root = root
        self._file = file
        self._lock = threading.Lock()
        self._db = self._opened()

    @property
    def skipped(self) -> tuple[str, ...]:
        """The files that are left out, each with the reason."""
        rows = self._rows("SELECT path, skipped FROM files WHERE skipped <> '' ORDER BY path")
        return tuple(f"{path or self._root.name}: {reason}" for path, reason in rows)

    @property
    def size(self) -> int:
        """How many documents there are."""
        return int(self._rows("SELECT count(*) FROM documents")[0][0])

    def holding(self, term: str) -> int:
        """How many chunks hold a term."""
        return int(self._rows("SELECT count(*) FROM words WHERE words MATCH ?", term)[0][0])

    def matches(self, terms: Sequence[str], title: float, limit: int) -> list[Match]:
        """The best chunks for any of the terms, by BM25; a word of the title counts `title`-fold.

        Each document comes once, by its best chunk.
        """
        rows = self._rows(
            "SELECT d.url, d.title, substr(d.text, c.start + 1, c.stop - c.start), w.score FROM "
            "(SELECT rowid AS id, -bm25(words, ?, 1.0) AS score FROM words WHERE words MATCH ? "
            "ORDER BY score DESC, rowid LIMIT ?) w "
            "JOIN chunks c ON c.id = w.id JOIN documents d ON d.id = c.document "
            "ORDER BY w.score DESC, w.id",
            title,
            " OR ".join(terms),
            limit,
        )
        best: dict[str, Match] = {}
        for row in rows:
            best.setdefault(row[0], Match(*row))
        return list(best.values())

    def document(self, url: str) -> tuple[str, str] | None:
        """Title and text of a document; None if there is none of that address."""
        rows = self._rows("SELECT title, text FROM documents WHERE url = ?", url)
        return (rows[0][0], rows[0][1]) if rows else None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:  # damage that opening did not touch
                self._db.close()
                self._discard()
                self._db = self._opened()
                return self._db.execute(sql, values).fetchall()

    # --- opening ---------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        for _ in (1, 2):  # twice: a damaged or outdated file is thrown away once
            try:
                return self._current(self._connected(self._file))
            except (sqlite3.OperationalError, OSError):
                break  # nowhere to write, no room, or another process holds it for too long
            except sqlite3.DatabaseError:
                self._discard()
        return self._current(self._connected(None))

    def _connected(self, file: Path | None) -> sqlite3.Connection:
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        name = ":memory:" if file is None else str(file)
        return sqlite3.connect(
            name, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )

    def _discard(self) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)
            self._file.with_name(f"{self._file.name}-journal").unlink(missing_ok=True)

    def _current(self, db: sqlite3.Connection) -> sqlite3.Connection:
        """The connection, once the index says what the files say now."""
        try:
            found = stamps(self._root)
            if not (_version(db) and _known(db) == found):
                _update(db, self._root, found)
        except BaseException:
            db.close()
            raise
        return db


def _version(db: sqlite3.Connection) -> bool:
    """Whether there is an index. Raises DatabaseError for one that another version made."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, VERSION):
        raise sqlite3.DatabaseError("an index of another version")
    return bool(version)


def _known(db: sqlite3.Connection) -> dict[str, str]:
    return dict(db.execute("SELECT path, stamp FROM files ORDER BY rowid"))


# --- updating: one transaction, so that who starts meanwhile waits and finds it done ----


def _update(db: sqlite3.Connection, root: Path, found: dict[str, str]) -> None:
    db.execute("BEGIN IMMEDIATE")
    if not _version(db):
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")
    known = _known(db)
    kept = {path for path, stamp in found.items() if known.get(path) == stamp}
    for path in known.keys() - kept:
        _forget(db, path)
    for path, stamp in found.items():
        if path not in kept:
            _learn(db, root, path, stamp)
    db.execute("COMMIT")


def _forget(db: sqlite3.Connection, path: str) -> None:
    rows = db.execute("SELECT id, title, text FROM documents WHERE path = ?", (path,)).fetchall()
    for document, title, text in rows:
        chunks = db.execute("SELECT id, start, stop FROM chunks WHERE document = ?", (document,))
        for chunk, start, stop in chunks.fetchall():
            # the table keeps no text of its own: what was indexed has to be told again
            db.execute(
                "INSERT INTO words(words, rowid, title, body) VALUES ('delete', ?, ?, ?)",
                (chunk, spaced(title), spaced(text[start:stop])),
            )
        db.execute("DELETE FROM chunks WHERE document = ?", (document,))
    db.execute("DELETE FROM documents WHERE path = ?", (path,))
    db.execute("DELETE FROM files WHERE path = ?", (path,))


def _learn(db: sqlite3.Connection, root: Path, path: str, stamp: str) -> None:
    file = root / path if path else root
    reasons: list[str] = []
    try:
        found = documents(file, lambda wrong: reasons.append(f"{wrong} unusable rows"))
        for document in found:
            _add(db, file, path, document)
    except Unreadable as error:
        reasons.append(str(error))
    db.execute("INSERT INTO files VALUES (?, ?, ?)", (path, stamp, "; ".join(reasons)))


def _add(db: sqlite3.Connection, file: Path, path: str, document: Document) -> None:
    title, text = _storable(" ".join(document.title.split())), _storable(document.text)
    own = f"file://{percent(file.as_posix())}{percent(document.key, safe='?=')}"
    for url in filter(None, (_storable(document.url.strip()), own, f"{own}#{_hash(text)}")):
        # a second document of one address keeps that of its file, so that none hides another
        cursor = db.execute(
            "INSERT OR IGNORE INTO documents (path, url, title, text) VALUES (?, ?, ?, ?)",
            (path, url, title, text),
        )
        if cursor.rowcount:
            break
    else:
        return
    number = cursor.lastrowid
    for start, stop in passages(text, CHUNK) if len(text) > CHUNK else ((0, len(text)),):
        chunk = db.execute(
            "INSERT INTO chunks (document, start, stop) VALUES (?, ?, ?)", (number, start, stop)
        ).lastrowid
        db.execute(
            "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
            (chunk, spaced(title), spaced(text[start:stop])),
        )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _storable(text: str) -> str:
    """A text without what UTF-8 or SQLite cannot hold: lone surrogates and NUL."""
    return text.encode("utf-8", "ignore").decode("utf-8").replace("\0", " ")


# --- words as the index holds them -----------------------------------------------------------

_RUN = re.compile(f"[{CJK}]+")


def spaced(text: str) -> str:
    """A text with each run of Chinese, Japanese or Korean as bigrams and its last character.

    The tokenizer takes such a run for one word. The last character alone makes every character
    the beginning of a token, so that one of them can be asked for by prefix.
    """
    return _RUN.sub(
        lambda run: f" {' '.join(_pairs(run[0]))} ", unicodedata.normalize("NFKC", text)
    )


def _pairs(run: str) -> Iterator[str]:
    return (run[i : i + 2] for i in range(len(run)))


def terms(query: str, stop: frozenset[str]) -> list[str]:
    """What to look for: each content word, quoted, so that no syntax can come out of a query.

    Stop words are kept only where there is nothing else ("The Who").
    """
    text = unicodedata.normalize("NFKC", _storable(query)).casefold()
    found: dict[str, bool] = {}
    for match in re.finditer(rf"[{CJK}]+|(?:(?![{CJK}])[^\W_])+", text):
        word = match[0]
        if not _RUN.match(word):
            found[f'"{word}"'] = word in stop
        elif len(word) == 1:
            found[f'"{word}"*'] = False
        else:
            found |= {f'"{word[i : i + 2]}"': False for i in range(len(word) - 1)}
    return [term for term, common in found.items() if not common] or list(found)
