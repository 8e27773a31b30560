"""Files that users send to a server: each is a corpus of its own, for runs that name it.

A document is a folder of the cache, which a hash of its id names: who sees a folder or an address
does not know the id. Its age is that of the folder, so a server that starts again keeps it until it
expires. Several that one run names are linked into a folder of their own.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from posixpath import splitext
from typing import BinaryIO

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body, BodyText, Mark, UnreadablePage
from agent.documents.format_registry import SUFFIXES
from agent.errors import Busy, UsageError
from agent.run.output_files import make_folder
from agent.search.corpus_documents import MAX_WAIT
from agent.search.index import delete_index
from agent.search.open_indexes import index_file
from agent.settings import Settings, user_folder
from agent.state import Frozen, format_utc, sanitize_line

LIFETIME = 86_400.0  # seconds
MAX_TOTAL_BYTES = 1_000_000_000  # of all documents
MAX_NAME = 150  # characters, and bytes before the suffix
_PAGE = re.compile(r"(?:page|slide) (\d+)")


class NotRead(Frozen):
    """What was seen of a document and not read, how much, and why."""

    what: str
    count: int
    why: str


class StoredDocument(Frozen):
    """A document that a server keeps. `pages` is null where it has none; `expires` is UTC."""

    id: str
    name: str
    pages: int | None
    expires: str
    not_read: tuple[NotRead, ...]


class DocumentStore:
    """The documents of a server, on disk. Thread-safe; processes may share the folder."""

    def __init__(
        self, settings: Settings, lifetime: float = LIFETIME, max_bytes: int = MAX_TOTAL_BYTES
    ) -> None:
        self._lifetime, self._max_bytes = lifetime, max_bytes
        self._cache = settings.cache_dir or user_folder("cache")
        self._root = self._cache / "documents"
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._sweep()

    def add(self, name: str, stream: BinaryIO) -> StoredDocument:
        """Read a file in a worker and keep it. Raises UsageError, Busy."""
        name, data = _clean_name(name), stream.read()
        found = _read_file(name, data)
        document = secrets.token_urlsafe(24)
        with self._lock:
            self._require_room(len(data))
            folder = self._folder_of(document)
            make_folder(folder)
            (folder / name).write_bytes(data)
            expires = datetime.fromtimestamp(self._expiry(folder), UTC)
        self._sweep()
        return StoredDocument(
            id=document,
            name=name,
            pages=_count_pages(found.marks),
            expires=format_utc(expires),
            not_read=tuple(NotRead(what=a, count=n, why=b) for a, n, b in found.not_read),
        )

    def open(self, documents: Sequence[str]) -> Path:
        """The folder that holds these documents and no other. Raises UsageError."""
        folders = [self._folder_of(one) for one in dict.fromkeys(documents)]
        with self._lock:
            if not all(one.is_dir() and self._expiry(one) > time.time() for one in folders):
                remedy = "It was deleted or has expired: send it again."
                raise UsageError("There is no such document.", remedy)
            folders.sort(key=lambda one: (one.stat().st_mtime_ns, one.name))  # one set, one index
            return folders[0] if len(folders) == 1 else self._link(folders)

    def delete(self, document: str) -> bool:
        """Delete a document; returns whether there was one."""
        folder = self._folder_of(document)
        with self._lock:
            is_known = folder.is_dir()
            self._remove(folder.name)
        return is_known

    def _require_room(self, size: int) -> None:
        """Raises Busy where so many bytes more are too many: of documents and of their indexes."""
        names = {index_file(one, self._cache).name for one in self._root.glob("*")}
        files = [*self._root.rglob("*"), *(self._cache / name for name in names)]
        known = {one.st_ino: one.st_size for file in files if (one := _status(file))}
        if sum(known.values()) + size > self._max_bytes:
            raise Busy("There is no space left for documents: delete some, or wait.")

    def _folder_of(self, document: str) -> Path:
        return self._root / hashlib.sha256(document.encode()).hexdigest()[:24]

    def _folders(self) -> Iterator[Path]:
        """Those of single documents."""
        with suppress(OSError):  # there is none, or none that can be seen
            yield from (one for one in list(self._root.iterdir()) if "+" not in one.name)

    def _expiry(self, folder: Path) -> float:
        return folder.stat().st_mtime + self._lifetime

    def _link(self, folders: Sequence[Path]) -> Path:
        """A folder with the files of others, each below its number."""
        together = self._root / "+".join(one.name for one in folders)
        if not together.exists():
            self._require_room(
                sum(file.stat().st_size for one in folders for file in one.iterdir())
            )
        for n, folder in enumerate(folders, 1):
            (together / str(n)).mkdir(mode=0o700, parents=True, exist_ok=True)
            for file in folder.iterdir():
                target = together / str(n) / file.name
                if not target.exists():
                    try:
                        os.link(file, target)
                    except OSError:  # a file system without links
                        shutil.copyfile(file, target)
        return together

    def _remove(self, name: str) -> None:
        """Delete a document wherever it is, with the indexes that hold its text."""
        for folder in list(self._root.glob("*")):
            if name in folder.name.split("+"):
                shutil.rmtree(folder, ignore_errors=True)
                delete_index(index_file(folder, self._cache))

    def _sweep(self) -> None:
        """Delete what has expired: now, and when the next one will have."""
        with self._lock:
            for folder in self._folders():
                if self._expiry(folder) <= time.time():
                    self._remove(folder.name)
            if self._timer:
                self._timer.cancel()
            left = [self._expiry(one) - time.time() for one in self._folders()]
            self._timer = threading.Timer(max(0.1, min(left)), self._sweep) if left else None
            if self._timer:
                self._timer.daemon = True
                self._timer.start()


def _status(file: Path) -> os.stat_result | None:
    """What is known of a regular file; None for anything else."""
    with suppress(FileNotFoundError):
        status = file.lstat()
        return status if stat.S_ISREG(status.st_mode) else None
    return None


def _clean_name(name: str) -> str:
    """The name of a file without folders, control characters and dots at its beginning."""
    last = sanitize_line(re.split(r"[/\\]", name)[-1], MAX_NAME).lstrip(".")
    stem, suffix = splitext(last)
    return f"{stem.encode()[:MAX_NAME].decode(errors='ignore') or 'document'}{suffix}"


def _read_file(name: str, data: bytes) -> BodyText:
    """What a worker reads of a file. Raises UsageError, with what to do."""
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{name} is not a supported type.", "Send PDF, DOCX, HTML or text.")
    with closing(BodyReader()) as reader:
        [found] = reader.read_all([Body(data, suffix=suffix)], max_wait=MAX_WAIT)
    if isinstance(found, BodyText) and found.text.strip():
        return found
    fault = str(found) if isinstance(found, UnreadablePage) else "it holds no text"
    raise UsageError(f"{name}: {fault}.", "Save it again as PDF or text, and send that.")


def _count_pages(marks: Sequence[Mark]) -> int | None:
    """The number of the last page or slide with text; None where a document has none."""
    pages = (_PAGE.fullmatch(name) for _, name, _ in marks)
    return max((int(page[1]) for page in pages if page), default=None)
