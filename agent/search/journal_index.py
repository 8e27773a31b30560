"""The index of the pages in the journals of earlier runs, for a search in them (`run_pages.py`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import unquote

from agent.calls.journal_reader import read_journal
from agent.documents.body_reader import BodyReader
from agent.errors import JournalError
from agent.search.corpus_documents import Document, FileReader, UnreadableFile
from agent.search.corpus_files import FileScan, stamp_of
from agent.search.index import WRITE_TIMEOUT, CorpusIndex, Match
from agent.search.open_indexes import index_file
from agent.search.parent_pages import pages_of
from agent.search.storage import remove_file
from agent.settings.fields import RUN_SOURCES
from agent.state import Hit, Page

MAX_JOURNAL_BYTES = 2_000_000_000  # of the journals that are searched, the newest first


class JournalIndex(CorpusIndex):
    """The index of the pages in the journals of a folder."""

    def find_files(self, root: Path) -> FileScan:
        """The newest journals that have not too many bytes together."""
        stamps, left = dict[str, str](), MAX_JOURNAL_BYTES
        with suppress(OSError):
            dated = ((f.stat().st_mtime, f.name, stamp_of(f)) for f in root.glob("*.jsonl"))
            for _, name, stamp in sorted(dated, reverse=True):
                left -= int(stamp.partition(":")[0] or 0)
                if stamp and left >= 0:
                    stamps[name] = stamp
        return FileScan(root, stamps)

    def make_reader(self, bodies: BodyReader, deadline: float) -> FileReader:
        """What reads journals: no worker is needed."""
        return JournalReader(bodies, deadline)


class JournalReader(FileReader):
    """Reads the pages of journals, documents of a corpus too."""

    def read_files(
        self, scan: FileScan, names: Iterable[str]
    ) -> Generator[tuple[str, Iterator[Document]], None, None]:
        """Each journal with its pages."""
        for name in names:
            yield name, self._read_pages(scan.path(name))

    def _read_pages(self, journal: Path) -> Iterator[Document]:
        try:
            for page in read_journal_pages(journal):
                key = make_key(page.url, page.retrieved_at)
                if page.via == "page" and page.text.strip():
                    yield Document(page.title or page.url, page.text, key=key)
        except JournalError as error:
            raise UnreadableFile(error.message) from None


def read_journal_pages(journal: Path) -> Iterator[Page]:
    return (page for page, _ in pages_of(list(read_journal(journal).calls.values())))


def make_key(url: str, retrieved_at: str) -> str:
    return f"?at={retrieved_at}&id={url}"


def journal_name(place: str) -> str:
    return unquote(place.partition("?")[0]).rpartition("/")[2]


def to_hit(match: Match) -> Hit:
    at, _, url = unquote(match.url.partition("?at=")[2].partition("#")[0]).partition("&id=")
    return Hit(url=url, title=match.title, retrieved_at=at)


def forget_run(folder: Path, cache_dir: Path, journal: str) -> None:
    """Remove what the stored indexes have of a journal. One in use for long is left: it sees that.

    The next search removes it from there.
    """
    for name in RUN_SOURCES:
        file = index_file(folder, cache_dir, name)
        if not file.is_file():
            continue
        with suppress(sqlite3.Error), closing(sqlite3.connect(file, WRITE_TIMEOUT)) as db:
            db.execute("PRAGMA secure_delete = ON")
            with db:
                remove_file(db, journal)
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
            db.commit()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
