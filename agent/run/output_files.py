"""Output that is written whole, or not at all: bytes to a stream, files next to the old ones."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import OutputFailed, PipeClosed, UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: What is wrong where standard output was closed before the process began, and what to do.
CLOSED = (
    "The output could not be written: standard output is closed.",
    "Open it, or send it to /dev/null.",
)
PAUSE_SECONDS = 0.01  # between two tries of a stream that would block


def write_all(write: Callable[[memoryview], int | None], data: ReadableBuffer) -> None:
    """Write every byte, however few `write` takes at once. Raises OSError.

    `write` returns how many bytes it took; None or BlockingIOError if it would block.
    """
    rest = memoryview(data).cast("B")
    while rest:
        try:
            count = write(rest)
        except BlockingIOError:
            count = None
        if count is None:
            time.sleep(PAUSE_SECONDS)
        elif not count:
            raise OSError(errno.EIO, "Nothing more is taken")
        rest = rest[count or 0 :]


def print_text(text: str | bytes) -> None:
    """Write to standard output, as UTF-8: every byte, or OutputFailed."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    stream: Any = sys.stdout
    if stream is None:
        raise OutputFailed(*CLOSED)
    try:
        stream.flush()
        write_all(getattr(stream, "buffer", stream).write, data)
        stream.flush()
    except OSError as error:
        raise output_failure("The output", error) from None


def output_failure(what: object, error: OSError) -> OutputFailed:
    """The error of what could not be written."""
    if isinstance(error, BrokenPipeError):
        return PipeClosed(f"{what} could not be written: its reader is gone.", "")
    remedy = "Free some space or name another place, then run the command again."
    return OutputFailed(f"{what} could not be written: {error.strerror}.", remedy)


def make_folder(folder: Path) -> None:
    """Make a folder of the user's own where there is none. Raises OutputFailed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise output_failure(folder, error) from None


#: What a directory says that lets its files be written, but none be made or renamed.
_NO_RENAME = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY}


def require_writable(path: Path | None) -> None:
    """Raises UsageError for a file that cannot be written, before a run spends anything."""
    if path is None:
        return
    if not path.parent.exists():
        raise UsageError(f"There is no folder {path.parent}.", f"Make it: mkdir -p {path.parent}")
    is_possible = path.parent.is_dir() and not path.is_dir()
    if not (is_possible and os.access(path if path.exists() else path.parent, os.W_OK)):
        raise UsageError(f"{path} cannot be written.", "Name a file in a writable directory.")


def write_file(path: Path, text: str | bytes, *, is_private: bool = False) -> None:
    """Write a file whole, as UTF-8, or leave what is there. Raises OutputFailed.

    A link stays, and its file is written. A device, a pipe and the file under a standard stream are
    written as they are. `is_private`: its owner alone can read the file afterwards.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    try:
        if _is_replaceable(path):
            _replace_file(Path(os.path.realpath(path)), data, is_private=is_private)
        else:
            with path.open("wb", buffering=0) as file:
                write_all(file.write, data)
    except OSError as error:
        raise output_failure(path, error) from None


def _is_replaceable(path: Path) -> bool:
    """Whether a path is of nothing yet, or of a regular file that is no standard stream."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and not any(
        os.path.samestat(found, os.fstat(stream)) for stream in (1, 2)
    )


def _replace_file(path: Path, data: bytes, *, is_private: bool) -> None:
    """Write a new file next to the old one, and rename it. Raises OSError."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    part = path.with_name(f".{os.urandom(8).hex()}.part")
    try:
        part.touch(0o600 if is_private else 0o666, exist_ok=False)
        with part.open("r+b", buffering=0) as file:
            write_all(file.write, data)
            if mode is not None and not is_private:
                part.chmod(mode)
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        if mode is None or is_private or error.errno not in _NO_RENAME:
            raise
        _overwrite_file(path, data)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _overwrite_file(path: Path, data: bytes) -> None:
    """Overwrite a file whose directory allows no other one, if space is left. Raises OSError."""
    with path.open("r+b", buffering=0) as file:
        if hasattr(os, "posix_fallocate"):  # macOS and Windows have none
            os.posix_fallocate(file.fileno(), 0, max(len(data), 1))
        write_all(file.write, data)
        file.truncate(len(data))
        os.fsync(file.fileno())
