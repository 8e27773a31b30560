"""Standard streams: what is written is whole, or the command fails."""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import OutputFailed, UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STALL_SECONDS = 2.0  # that a pipe under standard error may take nothing before it is given up
PAUSE_SECONDS = 0.01  # between two tries of a stream that would block


def tell(line: str) -> None:
    """Write a line to standard error, above a progress line where there is one.

    `click.echo` would write past the stream that rich puts there.
    """
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


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


class _WholeStream(io.FileIO):
    """Standard output: each write is whole or raises OutputFailed."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            write_all(super().write, data)
        except OSError as error:
            raise output_failure("The output", error) from None
        return memoryview(data).nbytes


class _ClosedStream(io.RawIOBase):
    """Standard output that was closed when the process began: each write raises OutputFailed."""

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        remedy = "Open it, or send it to /dev/null."
        raise OutputFailed("The output could not be written: standard output is closed.", remedy)


class _LastingStream(io.FileIO):
    """Standard error: once it cannot be written, it is silent, and the command goes on."""

    _is_silent = False

    def write(self, data: ReadableBuffer, /) -> int:
        if not self._is_silent:
            try:
                write_all(self._write_some, data)
            except OSError:
                self._is_silent = True
        return memoryview(data).nbytes

    def _write_some(self, rest: memoryview) -> int | None:
        """Write as much as never blocks. Raises OSError if a pipe takes nothing for long.

        Windows cannot tell how much that is: there it waits.
        """
        if not hasattr(select, "poll"):
            return super().write(rest)
        ready = select.poll()
        ready.register(self.fileno(), select.POLLOUT)
        patience = None if self.isatty() else STALL_SECONDS * 1000  # a terminal may be paused
        if not ready.poll(patience):
            raise TimeoutError
        return super().write(rest[: select.PIPE_BUF])


def open_streams() -> None:
    """Make the standard streams of this process safe, whatever its caller closed; call it first.

    Closed descriptors are opened on /dev/null, so that no other file gets their numbers. Standard
    output is written whole or raises OutputFailed, also where it is unbuffered. Standard error
    never raises. Standard input stays None if it was closed.
    """
    _fill_closed_descriptors()
    if _is_windows_console():
        return  # Python's own streams write Unicode there, which bytes would not be
    if sys.stdout is None:
        sys.stdout = _text_stream(_ClosedStream(), "utf-8")
    elif (output := _descriptor(sys.stdout)) is not None:
        raw = _WholeStream(output, "wb", closefd=False)
        sys.stdout = _text_stream(raw, sys.stdout.encoding)
    if sys.stderr is None:
        sys.stderr = _text_stream(io.FileIO(os.devnull, "wb"), "utf-8")
    elif (error := _descriptor(sys.stderr)) is not None:
        lasting = _LastingStream(error, "wb", closefd=False)
        sys.stderr = _text_stream(lasting, sys.stderr.encoding)


def _is_windows_console() -> bool:
    streams = (sys.stdout, sys.stderr)
    return os.name == "nt" and all(stream is not None and stream.isatty() for stream in streams)


def _fill_closed_descriptors() -> None:
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _descriptor(stream: io.TextIOBase | Any) -> int | None:
    """The file descriptor of a stream; None if it has none."""
    try:
        stream.flush()
        return int(stream.fileno())
    except (OSError, ValueError):
        return None


def _text_stream(raw: io.RawIOBase, encoding: str) -> io.TextIOWrapper:
    """A text stream that keeps nothing back."""
    return io.TextIOWrapper(
        raw,  # type: ignore[arg-type]  # as Python itself does with -u
        encoding=encoding,
        errors="backslashreplace",
        newline="\n",
        write_through=True,
    )


def require_stdin() -> io.BufferedIOBase | Any:
    """Standard input as bytes. Raises UsageError if it is closed."""
    if sys.stdin is None:
        raise UsageError("Standard input is closed.", "Open it: < FILE, or | before the command.")
    return sys.stdin.buffer


def require_stdout() -> None:
    """Raises OutputFailed if standard output is closed, before a run spends anything."""
    if isinstance(getattr(sys.stdout, "buffer", None), _ClosedStream):
        _ClosedStream().write(b"")


def print_text(text: str | bytes) -> None:
    """Write to standard output, as UTF-8: every byte, or OutputFailed."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    stream: Any = sys.stdout or _ClosedStream()
    try:
        stream.flush()
        write_all(getattr(stream, "buffer", stream).write, data)
        stream.flush()
    except OSError as error:
        raise output_failure("The output", error) from None


def print_json(value: dict[str, Any]) -> None:
    """Write an object to standard output, as ASCII: every byte, or OutputFailed."""
    import json

    print_text(json.dumps(value, indent=2) + "\n")


def output_failure(what: object, error: OSError) -> OutputFailed:
    """The error of what could not be written."""
    remedy = "Make room, or name another place; then give the command again."
    return OutputFailed(f"{what} could not be written: {error.strerror}.", remedy)


# --- files that a command writes: whole, or what stood there stays -------------------------------


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
