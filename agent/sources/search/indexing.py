"""Brings the index of a corpus up to date with its files.

An update is one transaction: a process that starts meanwhile waits for it and finds it done.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
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
INDEX_VERSION = 2
CHUNK_CHARS = 1500  # a chunk is the part of a document that is matched and ranked on its own
BLOCK_CHARS = 200_000  # of a long document, which are cut into chunks at once

_SCHEMA = """
CREATE TABLE files (path TEXT PRIMARY KEY, stamp TEXT, skipped TEXT);
CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, url TEXT UNIQUE, title TEXT, text TEXT);
CREATE INDEX by_path ON documents (path);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, document INTEGER, start INTEGER, stop INTEGER);
CREATE INDEX by_document ON chunks (document);
CREATE VIRTUAL TABLE words USING fts5
    (title, body, content='', tokenize='porter unicode61 remove_diacritics 2');
"""


def is_up_to_date(db: sqlite3.Connection, stamps: dict[str, str]) -> bool:
    """Whether the index holds the files with these stamps (of `scan_files`), and no others.

    Raises DatabaseError for an index of another version.
    """
    return _has_index(db) and _read_stamps(db) == stamps


def update_index(db: sqlite3.Connection, scan: FileScan, reader: FileReader) -> None:
    """Create the index where there is none; remove and add the files whose stamps differ.

    Files for which the reader has no time are read the next time.
    """
    db.execute("BEGIN IMMEDIATE")
    if not _has_index(db):
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {INDEX_VERSION}")
    indexed = _read_stamps(db)
    unchanged = {path for path, stamp in scan.stamps.items() if indexed.get(path) == stamp}
    for path in indexed.keys() - unchanged:
        _remove_file(db, path)
    changed = [path for path in scan.stamps if path not in unchanged]
    bad_rows: list[int] = []
    files = reader.read_files((scan.files[path] for path in changed), bad_rows.append)
    for path, documents in zip(changed, files, strict=True):
        _add_file(db, scan, path, documents, bad_rows, reader.check_time)
    db.execute("COMMIT")


def _has_index(db: sqlite3.Connection) -> bool:
    """Whether the database holds an index. Raises DatabaseError for one of another version."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, INDEX_VERSION):
        raise sqlite3.DatabaseError("an index of another version")
    return bool(version)


def _read_stamps(db: sqlite3.Connection) -> dict[str, str]:
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


def _add_file(
    db: sqlite3.Connection,
    scan: FileScan,
    path: str,
    documents: Iterator[Document],
    bad_rows: list[int],
    check_time: Callable[[], None],
) -> None:
    """Add the documents of a file; `bad_rows` gets the number of its unusable rows, if any."""
    stamp, fault = scan.stamps[path], ""
    try:
        for document in documents:
            _add_document(db, scan.files[path], path, document, check_time)
    except UnreadableFile as error:
        fault = str(error)
    except OutOfTime:
        stamp, fault = "", "no time was left to read all of it"  # no file has this stamp
    faults = [*(f"{count} unusable rows" for count in bad_rows), *filter(None, [fault])]
    bad_rows.clear()
    db.execute("INSERT INTO files VALUES (?, ?, ?)", (path, stamp, "; ".join(faults)))


def _add_document(
    db: sqlite3.Connection,
    file: Path,
    path: str,
    document: Document,
    check_time: Callable[[], None],
) -> None:
    """Add a document under the first of its URLs that is free, so that none hides another.

    The URLs are its own, that of its file, and that of its file with a hash of the text. Where all
    are taken, it is a duplicate and left out.
    """
    title = " ".join(document.title.split())
    text = document.text
    key = quote(document.key, safe="?=", errors="replace")
    file_url = f"file://{quote(os.fsencode(file.as_posix()))}{key}"
    urls = (strip_unstorable(document.url.strip()), file_url, f"{file_url}#{hash_text(text)[:16]}")
    for url in filter(None, urls):
        cursor = db.execute(
            "INSERT OR IGNORE INTO documents (path, url, title, text) VALUES (?, ?, ?, ?)",
            (path, url, title, text),
        )
        if cursor.rowcount:
            _add_chunks(db, cursor.lastrowid, title, text, check_time)
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
