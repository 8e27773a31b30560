"""Parts that the commands share: options, interrupts, whole output, errors, how a process ends."""

from __future__ import annotations

import errno
import io
import os
import select
import shlex
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from agent.characters import strip_controls
from agent.errors import (
    AgentError,
    NotConfigured,
    OutputFailed,
    Stopped,
    UsageError,
    format_error,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
PATH = click.Path(path_type=Path)
INTERRUPTED = 130  # exit status
STALL_SECONDS = 2.0  # that a pipe under standard error may take nothing before it is given up
PAUSE_SECONDS = 0.01  # between two tries of a stream that would block
#: What a directory says that lets its files be written, but none be made or renamed.
_NO_RENAME = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY}

# --- options --------------------------------------------------------------------------------------


def door_command(epilog: str) -> Callable[[Callable[..., Any]], click.Command]:
    """The decorator of a command: its help is shown for -h too and ends with `epilog`."""
    return click.command(epilog=epilog, context_settings={"help_option_names": ["-h", "--help"]})


def split_commas(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """The value of an option with commas: each part once, without blanks; None if not given."""
    if value is None:
        return None
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


llm_option = click.option(
    "--llm",
    callback=split_commas,
    help="Models in order: gemini, anthropic, openai:MODEL, extractive; for a kind of task: "
    "plan=, read=, write=, judge=MODEL.",
)
search_option = click.option("--search", callback=split_commas, help="Search providers in order.")
corpus_option = click.option("--corpus", type=PATH, help="Search this folder or .jsonl.")
offline_option = click.option(
    "--offline", is_flag=True, help="No key, no model, no network: quote the corpus."
)
trust_env_option = click.option(
    "--trust-env", is_flag=True, default=None, help="Let .env set addresses beside my own keys."
)
no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Search and read anew what is in the cache."
)


def strategy_option(help_text: str | None = None) -> Callable[[F], F]:
    """`--strategy`."""
    choice = StrategyName(["slots", "report", "loop", "auto"])
    return click.option("--strategy", type=choice, help=help_text)


class StrategyName(click.Choice[str]):
    """The names of strategies; those that other packages add are looked up where one is needed."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        """The name, if there is such a strategy; else click's error."""
        from agent.outside.plugins import plugin_names

        is_added = value not in self.choices and value in plugin_names("strategies")
        return value if is_added else super().convert(value, parameter, context)


def depth_option(help_text: str | None = None) -> Callable[[F], F]:
    """`--depth`."""
    choice = click.Choice(["quick", "normal", "deep"])
    return click.option("--depth", type=choice, help=help_text)


def cap_options(
    seconds: str, usd: str, tokens: str, calls: str, prefix: str = "max"
) -> Callable[[F], F]:
    """The four caps in this order, each with its help text: `--max-seconds` and so on."""
    options = [
        click.option(f"--{prefix}-seconds", type=float, help=seconds),
        click.option(f"--{prefix}-usd", type=float, help=usd),
        click.option(f"--{prefix}-tokens", type=int, help=tokens),
        click.option(f"--{prefix}-calls", type=int, help=calls),
    ]
    return _stack(options)


def server_options(port: int) -> Callable[[F], F]:
    """The options of both servers: where to listen, what to search, the caps of a run."""
    options = [
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.option("--port", type=click.IntRange(0, 65535), default=port, show_default=True),
        offline_option,
        corpus_option,
        trust_env_option,
        cap_options(
            "The most that one run may take; also:",
            "dollars for models,",
            "tokens of models, in and out together,",
            "outside calls.",
        ),
    ]
    return _stack(options)


def _stack(options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    """One decorator for several options, which `--help` lists in this order."""

    def decorate(function: F) -> F:
        return reduce(lambda decorated, option: option(decorated), reversed(options), function)

    return decorate


# --- while a command runs -------------------------------------------------------------------------


def require_extra(extra: str, *modules: str) -> None:
    """Raises NotConfigured where a module that an extra brings is not installed."""
    if absent := next((module for module in modules if find_spec(module) is None), None):
        remedy = f"Install it: pip install 'llm-research-agent[{extra}]'."
        raise NotConfigured(f"{absent} is not installed.", remedy)


def tell(line: str) -> None:
    """Write a line to standard error, above a progress line where there is one.

    `click.echo` would write past the stream that rich puts there.
    """
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@contextmanager
def interruptible(message: str, stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM writes `message` to stderr and calls `stop`.

    The second one ends the process with 130.
    """
    signals = (signal.SIGINT, signal.SIGTERM)

    def interrupt(*_: object) -> None:
        for number in signals:
            signal.signal(number, lambda *_: os._exit(INTERRUPTED))
        stop()
        with suppress(RuntimeError):  # it came while a line was being written
            tell(message)

    handlers = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


# --- what a command writes ------------------------------------------------------------------------


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


def print_text(text: str) -> None:
    """Write to standard output, as UTF-8: every byte, or OutputFailed."""
    data = text.encode("utf-8", "replace")
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


def require_writable(path: Path | None) -> None:
    """Raises UsageError for a file that cannot be written, before a run spends anything."""
    if path is None:
        return
    is_possible = path.parent.is_dir() and not path.is_dir()
    if not (is_possible and os.access(path if path.exists() else path.parent, os.W_OK)):
        raise UsageError(f"{path} cannot be written.", "Name a file in a directory of your own.")


def write_file(path: Path, text: str) -> None:
    """Write a file whole, as UTF-8, or leave what stands there. Raises OutputFailed.

    A link stays, and its file is written. A device, a pipe and the file under a standard stream are
    written as they are.
    """
    data = text.encode("utf-8", "replace")
    try:
        if _is_replaceable(path):
            _replace_file(Path(os.path.realpath(path)), data)
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


def _replace_file(path: Path, data: bytes) -> None:
    """Write a new file beside the old one, and rename it. Raises OSError."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    part = path.with_name(f".{os.urandom(8).hex()}.part")
    try:
        with part.open("xb", buffering=0) as file:
            write_all(file.write, data)
            if mode is not None:
                part.chmod(mode)
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        if mode is None or error.errno not in _NO_RENAME:
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


# --- how a command ends ---------------------------------------------------------------------------


def print_error(error: AgentError) -> None:
    """Write an error and its remedy to standard error, a line each."""
    click.echo(f"Error: {error.message}\n{error.remedy}", err=True)


def error_fields(error: AgentError) -> dict[str, str]:
    """An error as the JSON of a command has it."""
    return {"kind": error.kind, "message": error.message, "remedy": error.remedy}


def exit_status(error: AgentError) -> int:
    """The exit status of a command that ended in an error."""
    return exit_status_of(error.kind)


def exit_status_of(kind: str) -> int:
    """2 for wrong usage, 130 for an interrupt before there was an answer, 1 for other errors."""
    return {UsageError.kind: 2, Stopped.kind: INTERRUPTED}.get(kind, 1)


def usage_error(error: click.ClickException) -> UsageError:
    """Wrong usage that click found, as an error of this program."""
    return UsageError(error.format_message(), "See --help.")


def show_usage_error(error: click.ClickException) -> int:
    """Write wrong usage to standard error in click's own form; returns the exit status."""
    error.show()
    return error.exit_code


def run_command(
    command: click.Command,
    refuse: Callable[[click.ClickException], int],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a command; returns its exit status. `refuse` reports wrong usage and gives its status.

    Output that could not be written whole is one line on standard error, and never status 0.
    """
    try:
        try:
            return int(command.main(arguments, standalone_mode=False) or 0)
        except click.ClickException as error:
            status = refuse(error)
            _suggest_asking(error)
            return status
    except OutputFailed as error:
        return _show_output_failure(error)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for an interrupt
            raise error.__cause__ from None
        click.echo("Interrupted.", err=True)
        return INTERRUPTED


def _suggest_asking(error: click.ClickException) -> None:
    """Where words without quotes were not what `research-agent` takes: say how to ask them."""
    context = getattr(error, "ctx", None) or click.Context(click.Command(None))
    name, _, door = context.command_path.partition(" ")
    words = [*([door] if door else []), *sys.argv[1:]]
    # an option, or the name of a setting: what follows may be a key, which is not repeated
    is_question = len(words) > 1 and not any(word[:1] == "-" or "_" in word for word in words)
    if name != "research-agent" or context.parent or not is_question:
        return
    question = strip_controls(" ".join(words))
    is_plain = not set(question) & set('"\\$`!%')
    quoted = f'"{question}"' if is_plain else shlex.quote(question)
    click.echo(f"To ask this as a question: {name} {quoted}", err=True)


def _show_output_failure(error: OutputFailed) -> int:
    click.echo(f"Error: {format_error(error.message, error.remedy)}", err=True)
    return exit_status(error)


def run_and_exit(command: click.Command, refuse: Callable[[click.ClickException], int]) -> NoReturn:
    """Run a command as this process, and end the process with its status."""
    run_process(lambda: run_command(command, refuse))


def run_process(run: Callable[[], int]) -> NoReturn:
    """Make the streams safe, let SIGTERM interrupt as Ctrl-C does, run, and end with the status."""
    open_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    exit_now(run())


def exit_now(status: int) -> NoReturn:
    """End the process at once: a thread that hangs must not keep it alive.

    The status is not 0 if output is lost as late as here.
    """
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    try:
        sys.stdout.flush()
        os.close(1)  # some file systems tell only now that they are full
    except OSError as error:
        status = status or _show_output_failure(output_failure("The output", error))
    os._exit(status)
