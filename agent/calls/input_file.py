"""Files that are untrusted: regular files only, of bounded size, read without a wait.

A path from a command line, or from a file, may name a pipe, a device or a
file of /proc. Opening a pipe waits, /dev/zero has no end, and the size of a file of /proc is 0.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel

from agent.errors import UsageError
from agent.state import InvalidJson, parse_json

BINARY: int = getattr(os, "O_BINARY", 0)  # a flag that Windows needs, else it changes line feeds
#: Never to wait, and to be no terminal's child; systems that lack a flag need it not.
_FLAGS = [getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY")]
_SEEKING = threading.Lock()
ModelT = TypeVar("ModelT", bound=BaseModel)
MAX_LINE_BYTES = 16_000_000  # a page has 1 M characters, each of at most 6 bytes in JSON
MAX_JSON_BYTES = 50_000_000  # of a file that is one JSON value: an answer, prices, a schema


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; never waits. Raises OSError that says what else it is."""
    try:
        _require_regular(path.stat(), path)  # first: to open a device can do something to it
        file = os.open(path, os.O_RDONLY | BINARY | sum(_FLAGS))
    except ValueError:  # a NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "It is not the name of a file", str(path)) from None
    try:
        _require_regular(os.fstat(file), path)
    except OSError:
        os.close(file)
        raise
    return os.fdopen(file, "rb")


def require_regular(path: Path) -> None:
    """Raises OSError where a path is that of anything but a regular file."""
    _require_regular(path.stat(), path)


_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def _require_regular(status: os.stat_result, path: Path) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        fault = f"It is {_KINDS.get(kind, 'something else')}, not a file"
        raise OSError(errno.EINVAL, fault, str(path))


def read_at(file: int, size: int, start: int) -> bytes:
    """At most `size` bytes of an open file from an offset on. Raises OSError."""
    if hasattr(os, "pread"):
        return os.pread(file, size, start)
    with _SEEKING:  # Windows
        os.lseek(file, start, os.SEEK_SET)
        return os.read(file, size)


def read_lines(file: BinaryIO, max_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """The lines of a file as it is now, each with its line feed; the last one may lack it.

    What another process appends meanwhile is not read. Raises OSError at a line of more than
    `max_bytes`.
    """
    left = os.fstat(file.fileno()).st_size
    while line := file.readline(min(left, max_bytes + 1)):
        if len(line) > max_bytes:
            raise OSError(errno.EFBIG, f"It has a line of more than {max_bytes:,} bytes")
        left -= len(line)
        yield line


def decode_lines(path: Path) -> Iterator[str]:
    """The lines of a regular file in UTF-8, without a byte order mark. Raises UsageError."""
    try:
        with open_regular(path) as file:
            for n, raw in enumerate(read_lines(file), 1):
                yield raw.decode("utf-8-sig" if n == 1 else "utf-8")
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} cannot be read: line {n} is not UTF-8.", "Convert it.") from None


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file as it is now. Raises OSError where it has over `max_bytes`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise OSError(errno.EFBIG, f"It has more than {max_bytes:,} bytes", str(path))
        return file.read(size)


def read_text(path: Path, max_bytes: int = MAX_JSON_BYTES) -> str:
    """The text of a regular file in UTF-8, without a byte order mark. Raises UsageError."""
    try:
        return read_bytes(path, max_bytes).decode("utf-8-sig")
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.", "Convert it to UTF-8.") from None


def read_json(path: Path, remedy: str, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """The JSON value of a regular file. Raises UsageError; `remedy` is for what is not JSON."""
    try:
        return parse_json(read_text(path, max_bytes))
    except InvalidJson as error:
        raise UsageError(f"{path} is not JSON: {error}.", remedy) from None


def read_model(path: Path, kind: type[ModelT], max_bytes: int) -> ModelT:
    """The value of a file that this program wrote as JSON. Raises OSError, ValueError."""
    return kind.model_validate(parse_json(read_bytes(path, max_bytes)))


def unreadable(path: Path, error: OSError) -> UsageError:
    """The error for a file that cannot be read."""
    return UsageError(f"{path} cannot be read: {error.strerror}.", "Check the path.")
