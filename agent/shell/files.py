"""Files that a command writes: whole, or what stood there stays."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from agent.errors import UsageError
from agent.shell.streams import output_failure, write_all

#: What a directory says that lets its files be written, but none be made or renamed.
_NO_RENAME = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY}


def require_writable(path: Path | None) -> None:
    """Raises UsageError for a file that cannot be written, before a run spends anything."""
    if path is None:
        return
    is_possible = path.parent.is_dir() and not path.is_dir()
    if not (is_possible and os.access(path if path.exists() else path.parent, os.W_OK)):
        raise UsageError(f"{path} cannot be written.", "Name a file in a directory of your own.")


def write_file(path: Path, text: str | bytes, *, is_private: bool = False) -> None:
    """Write a file whole, as UTF-8, or leave what stands there. Raises OutputFailed.

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
    """Write a new file beside the old one, and rename it. Raises OSError."""
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
    """Write over a file whose directory allows no other one, once there is room. Raises OSError."""
    with path.open("r+b", buffering=0) as file:
        if hasattr(os, "posix_fallocate"):  # macOS and Windows have none
            os.posix_fallocate(file.fileno(), 0, max(len(data), 1))
        write_all(file.write, data)
        file.truncate(len(data))
        os.fsync(file.fileno())
