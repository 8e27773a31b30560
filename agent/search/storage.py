"""The tables of an index file: which files it holds, their documents, the words of these."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from agent.evidence import split_passages
from agent.search.corpus_documents import Document
from agent.search.terms import add_bigrams, strip_unstorable
from agent.state import hash_text

#: Of all that an index file holds. Raise it with any change to how text is read, cut or normalized.
INDEX_VERSION = 7
CHUNK_CHARS = 1500  # a chunk is the part of a document that is matched and ranked on its own
BLOCK_CHARS = 200_000  # of a long document, which are cut into chunks at once
MOST_MERGED = 2000  # pages of lists of words, while no query is answered
#: Bytes of new words that are sorted in memory, and how many lists of words are merged at once.
WORD_BUFFER, MERGED_LISTS = 16_000_000, 16

_SCHEMA = f"""
CREATE TABLE files (path TEXT PRIMARY KEY, stamp TEXT, skipped TEXT);
CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, url TEXT UNIQUE, title TEXT, text TEXT,
    marks TEXT, note TEXT, date TEXT);
CREATE INDEX by_path ON documents (path);
CREATE INDEX in_part ON documents (path) WHERE note != '';
CREATE TABLE chunks (id INTEGER PRIMARY KEY, document INTEGER, start INTEGER, stop INTEGER);
CREATE INDEX by_document ON chunks (document);
CREATE VIRTUAL TABLE words USING fts5
    (title, body, content='', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('hashsize', {WORD_BUFFER});
INSERT INTO words (words, rank) VALUES ('automerge', {MERGED_LISTS});
"""


def create_index(db: sqlite3.Connection) -> None:
    """Create the tables where there are none. Raises DatabaseError for another version."""
    if _has_index(db):
        db.execute("SELECT path FROM files LIMIT 1").fetchone()  # raises where it is damaged
        return
    let_read_while_writing(db)
    db.execute("BEGIN IMMEDIATE")
    if not _has_index(db):
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {INDEX_VERSION}")
    db.execute("COMMIT")


def let_read_while_writing(db: sqlite3.Connection) -> None:
    """Keep a log beside the file, so that other processes search it while it is written."""
    with suppress(sqlite3.OperationalError):  # not where it lies, or not now
        if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
            db.execute("PRAGMA synchronous = NORMAL")


def merge_lists(db: sqlite3.Connection, changes: int) -> None:
    """Merge the lists of words by as much as has changed, so that a small update is quick.

    A word of a document that was removed stays in its list, and is passed over by each search,
    until that is merged. https://www.sqlite.org/fts5.html#the_merge_command
    """
    pages = min(changes, MOST_MERGED)
    db.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (-pages,))


def close_index(db: sqlite3.Connection) -> None:
    """Close it as one file, which can be read where nothing can be written."""
    with suppress(sqlite3.Error):  # another process has it open
        db.execute("PRAGMA busy_timeout = 0")
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()


def _has_index(db: sqlite3.Connection) -> bool:
    """Whether the database holds an index. Raises DatabaseError for one of another version."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, INDEX_VERSION):
        raise sqlite3.DatabaseError("an index of another version")
    return bool(version)


def read_stamp(db: sqlite3.Connection, path: str) -> str | None:
    """The stamp of a file; None where the index does not know it."""
    row = db.execute("SELECT stamp FROM files WHERE path = ?", (path,)).fetchone()
    return str(row[0]) if row else None


def write_file_row(db: sqlite3.Connection, path: str, stamp: str, skipped: str) -> None:
    """Note a file with its stamp, and what of it is left out, in words."""
    db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (path, stamp, skipped))


def remove_file(db: sqlite3.Connection, path: str) -> None:
    """Remove a file and its documents."""
    remove_documents(db, path, find_documents(db, path))
    db.execute("DELETE FROM files WHERE path = ?", (path,))


def find_documents(db: sqlite3.Connection, path: str) -> set[int]:
    """The numbers of the documents of a file."""
    return {row[0] for row in db.execute("SELECT id FROM documents WHERE path = ?", (path,))}


def remove_documents(db: sqlite3.Connection, path: str, documents: Iterable[int]) -> None:
    """Remove documents of a file; numbers that another process has given to others are left."""
    select = "SELECT title, text FROM documents WHERE id = ? AND path = ?"
    for document in sorted(documents):
        for title, text in db.execute(select, (document, path)).fetchall():
            _remove_chunks(db, document, title, text)
            db.execute("DELETE FROM documents WHERE id = ?", (document,))


def _remove_chunks(db: sqlite3.Connection, document: int, title: str, text: str) -> None:
    # the FTS table stores no text (content=''): to delete a row, it needs the same text
    delete = "INSERT INTO words(words, rowid, title, body) VALUES ('delete', ?, ?, ?)"
    chunks = db.execute("SELECT id, start, stop FROM chunks WHERE document = ?", (document,))
    for chunk, start, stop in chunks.fetchall():
        db.execute(delete, (chunk, add_bigrams(title), add_bigrams(text[start:stop])))
    db.execute("DELETE FROM chunks WHERE document = ?", (document,))


class FileDocuments:
    """The documents of one file, as they are written: those that are as before stay untouched.

    Rows that are added to a file cost only themselves. Two processes may write the same file.
    """

    def __init__(self, db: sqlite3.Connection, path: str, file: Path) -> None:
        self._db = db
        self._path = path
        self._address = f"file://{quote(os.fsencode(file.as_posix()))}"
        self._old = find_documents(db, path)  # and not met again so far

    def add(self, document: Document) -> None:
        """Add a document under the first of its URLs that is free, so that none hides another.

        Where all are taken, it is a duplicate and left out.
        """
        title = " ".join(document.title.split())
        marks = json.dumps(document.marks, ensure_ascii=False) if document.marks else ""
        content = (title, document.text, marks, document.note, document.date)
        for url in self._urls(document):
            if self._put(url, *content):
                return

    def _urls(self, document: Document) -> Iterator[str]:
        if own := strip_unstorable(document.url.strip()):
            yield own
        url = self._address + quote(document.key, safe="?=", errors="replace")
        yield url
        yield f"{url}#{hash_text(document.text)[:16]}"

    def _put(self, url: str, *content: str) -> bool:
        """Whether a document is now under a URL: a new one, the same as before, or a newer one."""
        if self._insert(url, *content):
            return True
        select = "SELECT id, path, title, text, marks, note, date FROM documents WHERE url = ?"
        row = self._db.execute(select, (url,)).fetchone()
        if row[1] != self._path:
            return False
        is_old, is_same = row[0] in self._old, row[2:] == content
        self._old.discard(row[0])
        if is_same or not is_old:
            return bool(is_same)
        remove_documents(self._db, self._path, [row[0]])
        return self._insert(url, *content)

    def _insert(self, url: str, title: str, text: str, *details: str) -> bool:
        columns, values = "path, url, title, text, marks, note, date", "?, ?, ?, ?, ?, ?, ?"
        insert = f"INSERT OR IGNORE INTO documents ({columns}) VALUES ({values})"
        cursor = self._db.execute(insert, (self._path, url, title, text, *details))
        if cursor.rowcount and cursor.lastrowid:
            self._add_chunks(cursor.lastrowid, title, text)
        return bool(cursor.rowcount)

    def _add_chunks(self, document: int, title: str, text: str) -> None:
        insert = "INSERT INTO chunks (document, start, stop) VALUES (?, ?, ?)"
        insert_words = "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)"
        title = add_bigrams(title)
        for start, stop in _split_chunks(text):
            chunk = self._db.execute(insert, (document, start, stop)).lastrowid
            self._db.execute(insert_words, (chunk, title, add_bigrams(text[start:stop])))

    def remove_old(self) -> None:
        """Remove the documents that the file had before and has no more."""
        remove_documents(self._db, self._path, self._old)


def _split_chunks(text: str) -> Iterator[tuple[int, int]]:
    if len(text) <= CHUNK_CHARS:
        yield 0, len(text)
        return
    for block in range(0, len(text), BLOCK_CHARS):
        spans = split_passages(text[block : block + BLOCK_CHARS], CHUNK_CHARS)
        yield from ((block + start, block + stop) for start, stop in spans)
