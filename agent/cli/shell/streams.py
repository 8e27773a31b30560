"""Standard streams: what is written is whole, or the command fails."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import TYPE_CHECKING, Any

from agent.errors import OutputFailed, UsageError
from agent.run.output_files import CLOSED, output_failure, print_text, write_all

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STALL_SECONDS = 2.0  # that a pipe under standard error may take nothing before it is given up


def tell(line: str) -> None:
    """Write a line to standard error, above a progress line where there is one.

    `click.echo` would write past the stream that rich puts there.
    """
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


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
        raise OutputFailed(*CLOSED)


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


def print_json(value: dict[str, Any]) -> None:
    """Write an object to standard output, as ASCII: every byte, or OutputFailed."""
    import json

    print_text(json.dumps(value, indent=2) + "\n")
