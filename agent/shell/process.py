"""A command as a process: interrupts, errors, the exit status, and how it ends."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from types import FrameType
from typing import Any, NoReturn

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
from agent.shell.streams import open_streams, output_failure, print_json, tell

INTERRUPTED = 130  # exit status
#: Tells an error, and gives the exit status.
Fail = Callable[[AgentError], int]
#: What a signal calls.
Interrupt = Callable[[int, FrameType | None], Any]


def require_extra(extra: str, *modules: str) -> None:
    """Raises NotConfigured where a module that an extra brings is not installed."""
    if absent := next((module for module in modules if find_spec(module) is None), None):
        remedy = f"Install it: pip install 'llm-research-agent[{extra}]'."
        raise NotConfigured(f"{absent} is not installed.", remedy)


def _end(*_: object) -> None:
    os._exit(INTERRUPTED)


@contextmanager
def interruptible(message: str, stop: Callable[[], None], then: Interrupt = _end) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM writes `message` to stderr and calls `stop`.

    The second one calls `then`: it ends the process with 130.
    """
    signals = (signal.SIGINT, signal.SIGTERM)

    def interrupt(*_: object) -> None:
        for number in signals:
            signal.signal(number, then)
        stop()
        with suppress(RuntimeError):  # it came while a line was being written
            tell(message)

    handlers = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def fail_in_lines(error: AgentError) -> int:
    """Write an error and its remedy to standard error, a line each; returns the exit status."""
    click.echo(f"Error: {error.message}\n{error.remedy}", err=True)
    return exit_status_of(error.kind)


def fail_as_json(error: AgentError) -> int:
    """The same, and an object with the error on standard output."""
    status = fail_in_lines(error)
    fields = {"kind": error.kind, "message": error.message, "remedy": error.remedy}
    print_json({"error": fields})
    return status


def exit_status_of(kind: str) -> int:
    """2 for wrong usage, 130 for an interrupt before there was an answer, 1 for other errors."""
    return {UsageError.kind: 2, Stopped.kind: INTERRUPTED}.get(kind, 1)


def run_command(
    command: click.Command, fail: Fail | None = None, arguments: Sequence[str] | None = None
) -> int:
    """Run a command; returns its exit status.

    `fail` tells an error, wrong usage too, and gives the status. Without it an error is two lines
    on standard error, and wrong usage what click makes of it. Output that could not be written
    whole is one line there, and never status 0.
    """
    try:
        try:
            return int(command.main(arguments, standalone_mode=False) or 0)
        except click.ClickException as error:
            return _refuse(error, fail)
        except OutputFailed:
            raise
        except AgentError as error:
            return (fail or fail_in_lines)(error)
    except OutputFailed as error:
        return _show_output_failure(error)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for an interrupt
            raise error.__cause__ from None
        click.echo("Interrupted.", err=True)
        return INTERRUPTED


def _refuse(error: click.ClickException, fail: Fail | None) -> int:
    """Tell wrong usage that click found; returns the exit status."""
    status = error.exit_code
    if fail:
        status = fail(UsageError(error.format_message(), "See --help."))
    else:
        error.show()
    _suggest_asking(error)
    return status


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
    return exit_status_of(error.kind)


class DoorCommand(click.Command):
    """A command that tells its errors in its own way."""

    def __init__(self, *given: Any, fail: Fail | None = None, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fail = fail


def run_and_exit(command: click.Command) -> NoReturn:
    """Run a command as this process, as `run_command` does; end the process with its status."""
    fail = command.fail if isinstance(command, DoorCommand) else None
    run_process(lambda: run_command(command, fail))


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
