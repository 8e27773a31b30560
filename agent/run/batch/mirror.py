"""A mirror of a batch under a URL, such as an object store: local files, uploaded as they grow.

An object store can neither append nor lock. So the output file and the journals are local files,
as in any batch, and are uploaded to the URL as FILE, FILE.batch, and FILE.runs/ with the journals.
The journal of a topic is uploaded when its run ends, before its row is written, so that there is
no row without its journal. The output file, and journals of runs in flight, are uploaded every few
seconds. At the start the remote copy wins: the local output file is replaced by it, and of each
journal the longer version is kept.
Nothing prevents two machines from writing to one URL at once: the user must see to that.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from agent.errors import AgentError, JournalError, UsageError
from agent.outside import spawn
from agent.run.batch.output import OutputFile, open_name_file
from agent.settings import Settings, user_folder
from agent.state.json_data import Json

SYNC_INTERVAL = 10.0  # seconds between two uploads of what has changed, at least
INTERVAL_FACTOR = 10  # the interval is this many times the last upload: files are sent whole
COPY_TIMEOUT = 600.0  # seconds for one file

T = TypeVar("T")


class Mirror:
    """Synchronizes the files of a batch with their remote copies.

    Any number of processes may upload journals, but only one the output file.
    """

    def __init__(self, url: str, settings: Settings) -> None:
        """The local files are kept beside the cache. Raises UsageError for an unusable URL."""
        self.url = url
        self._filesystem, self._remote_root = _open_filesystem(url)
        folder = (settings.cache_dir or user_folder("cache")) / "batches"
        url_digest = hashlib.sha256(url.encode()).hexdigest()[:16]
        self._output_path = folder / url_digest / url.rpartition("/")[2]
        self._name_path = self._output_path.with_name(f"{self._output_path.name}.batch")
        self._growing: set[Path] = set()  # local files to upload again and again
        self._uploaded: dict[Path, tuple[int, int]] = {}  # size and time of the uploaded version
        self._closing = threading.Event()
        spawn(self._sync_until_closed)

    def open_output(self) -> OutputFile:
        """Download the output file and open the local copy.

        Raises UsageError if it cannot be read or written under the URL, JournalError if another
        process of this machine is writing it.
        """
        self._output_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._download_output()
            output = OutputFile(self._output_path)
            self._upload(self._name_path)
            self._upload(self._output_path)
        except _CopyError as error:
            raise UsageError(error.message, "Check --out, and your rights there.") from None
        self._growing.add(self._output_path)
        return output

    def _download_output(self) -> None:
        """Replace the local output file and batch name; empty if there is no remote copy, which
        makes it a new batch."""
        with ExitStack() as ends:
            name = open_name_file(self._output_path, ends)
            name.truncate(0)
            output = ends.enter_context(self._output_path.open("wb"))
            _run_within_timeout(lambda: self._download(self._output_path, output))
            _run_within_timeout(lambda: self._download(self._name_path, name))

    def _sync_until_closed(self) -> None:
        """Upload what has grown, every few seconds. A failed upload is tried again."""
        interval = SYNC_INTERVAL
        while not self._closing.wait(interval):
            started = time.monotonic()
            self._upload_growing()
            interval = max(SYNC_INTERVAL, INTERVAL_FACTOR * (time.monotonic() - started))

    def _upload_growing(self) -> list[str]:
        """Upload each growing file that has changed; return the messages of failed uploads."""
        return [
            fault
            for path in list(self._growing)
            for fault in self._collect_faults(self._upload, path)
        ]

    def close(self) -> None:
        """Stop the synchronization after a last upload. Raises JournalError if that fails."""
        self._closing.set()
        if faults := self._upload_growing():
            remedy = (
                f"The rows are in {self._output_path}; the same command copies what is missing."
            )
            raise JournalError(faults[-1], remedy)

    def run_with_journal(self, journal: Path, work: Callable[[], Json]) -> Json:
        """Download a journal, do the work that writes it, and upload it. Return the row of `work`.

        A failed copy does not fail the run: it adds a warning to the row.
        """
        faults = self._collect_faults(self._download_journal, journal)
        self._growing.add(journal)
        try:
            row = work()
        finally:
            self._growing.discard(journal)
        faults += self._collect_faults(self._upload, journal)
        self._uploaded.pop(journal, None)
        return {**row, "warnings": [*row["warnings"], *faults]}

    def _collect_faults(self, copy: Callable[[Path], None], path: Path) -> list[str]:
        """Copy a file; return the message of the error, if it fails."""
        try:
            copy(path)
        except _CopyError as error:
            return [error.message]
        return []

    def _download_journal(self, journal: Path) -> None:
        """Replace a journal by its remote copy if that is longer."""
        part = journal.with_name(f"{journal.name}.part")
        part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with part.open("wb") as file:
            _run_within_timeout(lambda: self._download(journal, file))
        if part.stat().st_size > (journal.stat().st_size if journal.exists() else 0):
            part.replace(journal)
        else:
            part.unlink()

    def _upload(self, path: Path) -> None:
        """Upload a file unless it is unchanged since its last upload."""
        if not path.exists():
            return  # the journal of a run that could not start
        status = path.stat()
        version = status.st_size, status.st_mtime_ns
        if self._uploaded.get(path) != version:
            _run_within_timeout(
                lambda: self._filesystem.put_file(str(path), self._remote_path(path))
            )
            self._uploaded[path] = version

    def _remote_path(self, path: Path) -> str:
        suffixes = {self._output_path: "", self._name_path: ".batch"}
        return f"{self._remote_root}{suffixes.get(path, f'.runs/{path.name}')}"

    def _download(self, path: Path, target: BinaryIO) -> None:
        """Copy the remote copy of a file into `target`; write nothing if there is none."""
        remote_path = self._remote_path(path)
        with suppress(FileNotFoundError), self._filesystem.open(remote_path, "rb") as file:
            shutil.copyfileobj(file, target)


class _CopyError(AgentError):
    """A file could not be uploaded or downloaded."""


def _open_filesystem(url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it. Raises UsageError."""
    if url.endswith("/"):
        raise UsageError(f"{url} names no file.", "Name one in it, like answers.jsonl.")
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        remedy = "Install it: pip install 'llm-research-agent[fsspec]', and s3fs for s3://."
        raise UsageError("An --out with a URL needs fsspec.", remedy) from None
    try:
        filesystem, root = url_to_fs(url)
    except (ImportError, ValueError) as error:  # the message says what to install
        raise UsageError(f"{url} cannot be used: {error}", "Or name a path.") from None
    filesystem.auto_mkdir = True  # for file://; object stores have no folders
    return filesystem, root


def _run_within_timeout(copy: Callable[[], T]) -> T:
    """Run `copy` for COPY_TIMEOUT at most. Raises _CopyError.

    The message has the text of an OSError only: the text of a service's error may hold a key.
    """
    future = spawn(copy)
    wait([future], COPY_TIMEOUT)
    if not future.done():
        raise _CopyError(f"A copy to --out was given up after {COPY_TIMEOUT:g} s.")
    if error := future.exception():
        text = f": {str(error)[:200]}" if isinstance(error, OSError) else ""
        raise _CopyError(f"A copy to --out failed ({type(error).__name__}{text}).")
    return future.result()
