"""A user's files as documents, each with its title and text.

Workers read the files (`agent/documents/body_reader.py`), rows of .jsonl files aside. This
module translates every failure to read a file (a broken PDF, a binary file) to `UnreadableFile`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import time
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from agent.calls import spawn
from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body, BodyText, Mark, UnreadablePage
from agent.documents.format_registry import SUFFIXES
from agent.search.corpus_files import FileScan, storable_name
from agent.state import bound_values
from agent.state.characters import strip_controls

MAX_BYTES = 50_000_000  # of a file; of one line where it is a .jsonl file, which has no limit
MAX_TITLE = 1000  # characters; a title is stored with each part of a long document
MAX_FALLBACK_TITLE = 80  # characters of a row's text, where the row has no title
MAX_ADDRESS = 2000  # characters of a URL, or of the `id` of a row; a longer one counts as none
MAX_WAIT = 600.0  # seconds for a worker to become free, while others read pages
MAX_BATCH, MAX_BATCH_BYTES = 50, 1_000_000  # files and bytes that a worker gets at once


class Document(NamedTuple):
    """A document. `key` identifies it in a file of many (`?row=7`); `url` is "" if it has none.

    `marks` are the places of its parts. `note` is what of it was not read, in words. `date` is its
    own, as YYYY-MM-DD.
    """

    title: str
    text: str
    url: str = ""
    key: str = ""
    marks: tuple[Mark, ...] = ()
    note: str = ""
    date: str = ""


class UnreadableFile(Exception):
    """A file that is left out of the corpus, or the rest of it, with the reason."""


#: What a worker has read of a file, or why it got none; None for a file of rows, read in place.
FileOutcome = BodyText | UnreadablePage | UnreadableFile | None


class OutOfTime(Exception):
    """The time for the corpus was over before all of a file was read."""


class FileReader(NamedTuple):
    """Reads the files of a corpus in workers, until a time on the monotonic clock."""

    bodies: BodyReader
    deadline: float = float("inf")

    def read_files(
        self, scan: FileScan, names: Iterable[str]
    ) -> Generator[tuple[str, Iterator[Document]], None, None]:
        """Each file with its documents, in order, while the next ones are read.

        Each iterator raises UnreadableFile, after the documents that are used all the same, and
        OutOfTime. Raises ReadFailed once the reader of bodies is closed.
        """
        underway: deque[Future[list[tuple[str, FileOutcome]]]] = deque()
        for batch in chain(_split_batches(scan, names), repeat([], self.bodies.width)):
            done = underway.popleft().result() if len(underway) >= self.bodies.width else []
            underway.append(spawn(partial(self._read_batch, scan, batch)))
            for name, outcome in done:
                yield name, self._read_documents(scan.path(name), outcome)

    def _read_batch(self, scan: FileScan, names: Sequence[str]) -> list[tuple[str, FileOutcome]]:
        contents = [None if self.is_over() else _load(scan.path(name)) for name in names]
        bodies = [content for content in contents if isinstance(content, Body)]
        read = self.bodies.read_all(bodies, self.deadline, MAX_WAIT)
        outcomes = (next(read) if isinstance(content, Body) else content for content in contents)
        return list(zip(names, outcomes, strict=True))

    def _read_documents(self, file: Path, outcome: FileOutcome) -> Iterator[Document]:
        self.check_time()
        if isinstance(outcome, UnreadableFile):
            raise outcome
        if outcome is None:
            yield from _read_rows(file, self._check_going_on)
        else:
            yield _make_document(file, outcome)

    def _check_going_on(self) -> None:
        """Raises OutOfTime after the deadline, ReadFailed once the reader of bodies is closed."""
        self.check_time()
        self.bodies.check_open()

    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline

    def check_time(self) -> None:
        """Raises OutOfTime after the deadline."""
        if self.is_over():
            raise OutOfTime


def _split_batches(scan: FileScan, names: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        batch.append(name)
        size += scan.size(name)
        if size >= MAX_BATCH_BYTES or len(batch) >= MAX_BATCH:
            yield batch
            batch, size = [], 0
    yield from [batch] if batch else []


def _load(file: Path) -> Body | UnreadableFile | None:
    if file.name.lower().endswith((".jsonl", ".jsonl.gz")):
        return None
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        return UnreadableFile("is not a supported type; see research-agent doctor -v")
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
        title or " ".join(re.split(r"[_\- ]+", storable_name(file.stem))).strip() or file.stem,
        text,
        _short_address(outcome.url),
        marks=marks,
        note=strip_controls(outcome.note),
        date=outcome.date,
    )


# --- .jsonl: a document a row ------------------------------------------------------------------


def _read_rows(file: Path, check_time: Callable[[], None]) -> Iterator[Document]:
    """The documents of a file of rows; at its end UnreadableFile, where some are unusable."""
    bad_rows = number = 0
    try:
        is_packed = file.name.lower().endswith(".gz")
        with cast(BinaryIO, gzip.open(file) if is_packed else file.open("rb")) as stream:
            for number, line in enumerate(_read_lines(stream, check_time), 1):
                if document := _parse_row(line, number):
                    yield document
                elif line.strip():
                    bad_rows += 1
    except (OSError, EOFError, zlib.error) as error:  # a cut or broken .gz: the rows before count
        if number == 0:
            raise UnreadableFile(str(error) or "cannot be read") from None
        bad_rows += 1
    if bad_rows:
        raise UnreadableFile(f"{bad_rows} unusable rows")


def _read_lines(stream: BinaryIO, check_time: Callable[[], None]) -> Iterator[bytes]:
    while line := stream.readline(MAX_BYTES):
        check_time()
        yield line
        while len(line) == MAX_BYTES and not line.endswith(b"\n"):
            check_time()
            line = stream.readline(MAX_BYTES)


def _parse_row(line: bytes, number: int) -> Document | None:
    try:
        row: Any = json.loads(bound_values(line.decode("utf-8-sig", "surrogatepass")))
        text = row["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    text = strip_controls(text) if isinstance(text, str) else ""
    if not text.strip():
        return None
    given_id, title = row.get("id"), row.get("title")
    name = _short_address(str(given_id)) if isinstance(given_id, str | int) else ""
    title = strip_controls(title[:MAX_TITLE]) if isinstance(title, str) else ""
    title = title if title.strip() else text.strip().split("\n")[0][:MAX_FALLBACK_TITLE]
    key = f"?id={name}" if name else f"?row={number}"
    return Document(title, text, _short_address(row.get("url")), key)


def _short_address(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= MAX_ADDRESS else ""
