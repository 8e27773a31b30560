"""A user's files as documents: the list of files, and title and text of each document.

A worker reads the files (`agent/sources/pages/worker_pool.py`), rows of .jsonl files aside. This
module translates every failure to read a file (a broken PDF, a binary file) to `UnreadableFile`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from agent.characters import strip_controls
from agent.sources.formats.body_text import BodyText, Mark, UnreadablePage
from agent.sources.formats.registry import SUFFIXES
from agent.sources.pages.worker_pool import Body, BodyReader

MAX_BYTES = 50_000_000  # of a file; of one line where it is a .jsonl file, which has no limit
MAX_TITLE = 1000  # characters; a title is stored with each part of a long document
MAX_FALLBACK_TITLE = 80  # characters of a row's text, where the row has no title
MAX_ADDRESS = 2000  # characters of a URL, or of the `id` of a row; a longer one counts as none
MAX_BATCH, MAX_BATCH_BYTES = 1000, 4_000_000  # files and bytes that a worker gets at once


class Document(NamedTuple):
    """A document. `key` identifies it in a file of many (`?row=7`); `url` is "" if it has none.

    `marks` say where its parts stand. `note` is what of it was not read, in words.
    """

    title: str
    text: str
    url: str = ""
    key: str = ""
    marks: tuple[Mark, ...] = ()
    note: str = ""


class UnreadableFile(Exception):
    """A file that is left out of the corpus, with the reason."""


#: A file's bytes for a worker, or why it has none; None for a file of rows, which is read in place.
Content = Body | UnreadableFile | None


class OutOfTime(Exception):
    """The time for the corpus was over before all of a file was read."""


class FileScan(NamedTuple):
    """The files of a corpus, by a name that can be stored: the path relative to the folder."""

    files: dict[str, Path]
    stamps: dict[str, str]  # size and change time
    unknown: tuple[str, ...]  # files that are no documents, by their suffix or their kind


def scan_files(root: Path) -> FileScan:
    """The files under a folder, in order.

    A `root` that is a file has the name "". Hidden files and folders are left out, and so are
    symbolic links to files outside the folder.
    """
    if root.is_file():
        return FileScan({"": root}, {"": _stamp_of(root)}, ())
    scan = FileScan({}, {}, ())
    unknown: list[str] = []
    real_root = os.path.realpath(root)
    for file in _walk_files(root):
        name = storable_name(file.relative_to(root))
        if stamp := _stamp_of(file) if _is_supported(file, real_root) else "":
            scan.files[name], scan.stamps[name] = file, stamp
        else:
            unknown.append(name)
    return scan._replace(unknown=tuple(unknown))


def _walk_files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def storable_name(path: Path) -> str:
    """A path as text; bytes of a name that is not UTF-8 are written as `\\xff`."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def _is_supported(file: Path, real_root: str) -> bool:
    """Whether a file is of a kind that is read, and not a link to a file outside the folder."""
    if file.suffix.lower() not in SUFFIXES:
        return False
    if not file.is_symlink():
        return True
    return Path(os.path.realpath(file)).is_relative_to(real_root)


def _stamp_of(file: Path) -> str:
    """Size and change time of a regular file; "" for anything else, or if it cannot be asked."""
    try:
        status = file.stat()
    except OSError:  # it has just gone, or is a link to nowhere
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}" if stat.S_ISREG(status.st_mode) else ""


class FileReader(NamedTuple):
    """Reads the files of a corpus, until a time on the monotonic clock."""

    bodies: BodyReader
    deadline: float = float("inf")

    def read_files(
        self, files: Iterable[Path], report_bad_rows: Callable[[int], None]
    ) -> Iterator[Iterator[Document]]:
        """The documents of each file, in order. Each iterator raises UnreadableFile, OutOfTime.

        A worker reads the files, a batch at a time. `report_bad_rows` is called with the number of
        unusable lines of a .jsonl file, if any.
        """
        for batch in self._load_batches(files):
            contents = [content for _, content in batch if isinstance(content, Body)]
            outcomes = self.bodies.read_all(contents, self.deadline)
            for file, content in batch:
                yield self._read_documents(file, content, outcomes, report_bad_rows)

    def _load_batches(self, files: Iterable[Path]) -> Iterator[list[tuple[Path, Content]]]:
        batch: list[tuple[Path, Content]] = []
        size = 0
        for file in files:
            content = None if self._is_over() else _load(file)
            batch.append((file, content))
            size += len(content.data) if isinstance(content, Body) else 0
            if size > MAX_BATCH_BYTES or len(batch) >= MAX_BATCH:
                yield batch
                batch, size = [], 0
        yield batch

    def _read_documents(
        self,
        file: Path,
        content: Content,
        outcomes: Iterator[BodyText | UnreadablePage],
        report_bad_rows: Callable[[int], None],
    ) -> Iterator[Document]:
        """The documents of one file; `outcomes` begins with its own, if it has one."""
        self.check_time()
        if isinstance(content, UnreadableFile):
            raise content
        if isinstance(content, Body):
            yield _make_document(file, next(outcomes))
            return
        yield from _read_rows(file, report_bad_rows, self.check_time)

    def _is_over(self) -> bool:
        return time.monotonic() > self.deadline

    def check_time(self) -> None:
        """Raises OutOfTime after the deadline."""
        if self._is_over():
            raise OutOfTime


def _load(file: Path) -> Content:
    """What a worker needs of a file; None for a file of rows."""
    if file.name.lower().endswith((".jsonl", ".jsonl.gz")):
        return None
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        return UnreadableFile("is of no type that is read; see python -m agent.doctor")
    try:
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > MAX_BYTES:
                return UnreadableFile(f"is larger than {MAX_BYTES // 1_000_000} MB")
            return Body(stream.read(size), suffix=suffix)
    except OSError as error:
        return UnreadableFile(error.strerror or "cannot be read")


def _make_document(file: Path, outcome: BodyText | UnreadablePage) -> Document:
    if isinstance(outcome, UnreadablePage):
        raise UnreadableFile(str(outcome))
    text = strip_controls(outcome.text)
    if not text.strip():
        raise UnreadableFile("holds no text")
    marks = outcome.marks if text == outcome.text else ()  # a worker has done it already
    title = strip_controls(outcome.title[:MAX_TITLE]).strip()
    return Document(
        title or _title_of(file.stem),
        text,
        _short_address(outcome.url),
        marks=marks,
        note=strip_controls(outcome.note),
    )


def _title_of(name: str) -> str:
    """A file name as a title: `travel_policy-2024` is `travel policy 2024`."""
    return re.sub(r"[_\-]+", " ", storable_name(Path(name))).strip() or name


# --- .jsonl: a document a row ------------------------------------------------------------------


def _read_rows(
    file: Path, report_bad_rows: Callable[[int], None], check_time: Callable[[], None]
) -> Iterator[Document]:
    bad_rows = number = 0
    try:
        with _open_rows(file) as stream:
            for line in _read_lines(stream, check_time):
                number += 1
                if document := _parse_row(line, number):
                    yield document
                elif line.strip():
                    bad_rows += 1
    except (
        OSError,
        EOFError,
        zlib.error,
    ) as error:  # a cut or broken .gz: the rows before are used
        if number == 0:
            raise UnreadableFile(str(error) or "cannot be read") from None
        bad_rows += 1
    if bad_rows:
        report_bad_rows(bad_rows)


def _open_rows(file: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file) if file.name.lower().endswith(".gz") else file.open("rb"))


def _read_lines(stream: BinaryIO, check_time: Callable[[], None]) -> Iterator[bytes]:
    """The lines of a file; of one that is too long only the beginning, which is no row."""
    while line := stream.readline(MAX_BYTES):
        check_time()
        yield line
        while len(line) == MAX_BYTES and not line.endswith(b"\n"):
            check_time()
            line = stream.readline(MAX_BYTES)


def _parse_row(line: bytes, number: int) -> Document | None:
    try:
        row: Any = json.loads(line)
        text = row["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    text = strip_controls(text) if isinstance(text, str) else ""
    if not text.strip():
        return None
    given_id, title = row.get("id"), row.get("title")
    name = _short_address(str(given_id)) if isinstance(given_id, str | int) else ""
    title = strip_controls(title[:MAX_TITLE]) if isinstance(title, str) else ""
    if not title.strip():
        title = text.strip().split("\n")[0][:MAX_FALLBACK_TITLE]
    key = f"?id={name}" if name else f"?row={number}"
    return Document(title, text, _short_address(row.get("url")), key)


def _short_address(value: object) -> str:
    """A URL or a name in one; "" for anything else and for one that is too long."""
    return value if isinstance(value, str) and len(value) <= MAX_ADDRESS else ""
