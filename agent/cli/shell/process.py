"""A command as a process: interrupts, errors, the exit status, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

import click

from agent.cli.shell.streams import open_streams, print_json, tell
from agent.errors import AgentError, OutputFailed, PipeClosed, Stopped, UsageError, format_error
from agent.run.output_files import output_failure

INTERRUPTED = 130  # exit status
ASK = "research-agent ask"  # the command that researches whatever follows
#: Tells an error, and gives the exit status.
Fail = Callable[[AgentError], int]
#: What a signal calls.
Interrupt = Callable[[int, FrameType | None], Any]


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


class Command(click.Command):
    """A command that reports its errors in its own way, wrong usage too."""

    def __init__(self, *given: Any, fail: Fail = fail_in_lines, **options: Any) -> None:
        super().__init__(*given, **options)
        self._fail = fail

    def report(self, error: AgentError, arguments: Sequence[str], obj: Any) -> int:
        """Write an error; returns the exit status. `obj`: of the context, as click has it."""
        return self._fail(error)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """The context of the arguments; exits where they are wrong."""
        given, obj = list(args), parent.obj if parent else extra.get("obj")
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            # nothing of the words is repeated: after an option, a key may be among them
            are_words = parent and len(given) > 1 and not any(word[:1] == "-" for word in given)
            hint = f" A question that begins with this word: {ASK} ..." if are_words else ""
            usage = UsageError(error.format_message(), f"See --help.{hint}")
            raise click.exceptions.Exit(self.report(usage, given, obj)) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; returns the exit status."""
        try:
            return super().invoke(ctx)
        except OutputFailed:
            raise  # there is nowhere to report it to but standard error
        except AgentError as error:
            return self.report(error, (), ctx.obj)


class CommandGroup(click.Group):
    """A group of such commands."""

    command_class = Command


def run_command(
    command: click.Command, arguments: Sequence[str] | None = None, **extra: Any
) -> int:
    """Run a command; returns its exit status. `extra`: of its context.

    Output that could not be written whole is one line on standard error, and never status 0.
    """
    try:
        return int(command.main(arguments, standalone_mode=False, **extra) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except OutputFailed as error:
        return _report_output_failure(error)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for an interrupt
            raise error.__cause__ from None
        click.echo("Interrupted.", err=True)
        return INTERRUPTED


def _report_output_failure(error: OutputFailed) -> int:
    if not isinstance(error, PipeClosed):
        click.echo(f"Error: {format_error(error.message, error.remedy)}", err=True)
    return exit_status_of(error.kind)


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
        status = status or _report_output_failure(output_failure("The output", error))
    os._exit(status)
