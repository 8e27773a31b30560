"""Parts that the commands share: options, extras, interrupts, errors, and how a process ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from agent.errors import AgentError, NotConfigured, UsageError

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
INTERRUPTED = 130  # exit status

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
    "--llm", callback=split_commas, help="Models in order: gemini, openai:MODEL, extractive."
)
search_option = click.option("--search", callback=split_commas, help="Search providers in order.")
corpus_option = click.option("--corpus", type=PATH, help="Search this folder or .jsonl.")
offline_option = click.option(
    "--offline", is_flag=True, help="No key, no model, no network: quote the corpus."
)
no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Search and read anew what is in the cache."
)


def strategy_option(help_text: str | None = None) -> Callable[[F], F]:
    """`--strategy`."""
    choice = click.Choice(["slots", "report", "loop", "auto"])
    return click.option("--strategy", type=choice, help=help_text)


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


@contextmanager
def interruptible(message: str, stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM writes `message` to stderr and calls `stop`.

    The second one ends the process with 130.
    """
    signals = (signal.SIGINT, signal.SIGTERM)

    def interrupt(*_: object) -> None:
        for number in signals:
            signal.signal(number, lambda *_: os._exit(INTERRUPTED))
        click.echo(message, err=True)
        stop()

    handlers = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


# --- how a command ends ---------------------------------------------------------------------------


def print_json(value: dict[str, Any]) -> None:
    """Write an object to standard output, as ASCII. Raises BrokenPipeError if nobody reads it."""
    import json

    sys.stdout.write(json.dumps(value, indent=2) + "\n")
    sys.stdout.flush()


def print_error(error: AgentError) -> None:
    """Write an error and its remedy to standard error, a line each."""
    click.echo(f"Error: {error.message}\n{error.remedy}", err=True)


def error_fields(error: AgentError) -> dict[str, str]:
    """An error as the JSON of a command has it."""
    return {"kind": error.kind, "message": error.message, "remedy": error.remedy}


def exit_status(error: AgentError) -> int:
    """2 for wrong usage, 1 for every other error."""
    return 2 if error.kind == UsageError.kind else 1


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
    """Run a command; returns its exit status. `refuse` reports wrong usage and gives its status."""
    try:
        return int(command.main(arguments, standalone_mode=False) or 0)
    except click.ClickException as error:
        return refuse(error)
    except click.exceptions.Abort:
        return INTERRUPTED


def run_and_exit(command: click.Command, refuse: Callable[[click.ClickException], int]) -> NoReturn:
    """Run a command and end the process with its status: 1 if nobody reads its output any more."""
    try:
        status = run_command(command, refuse)
    except BrokenPipeError:
        status = 1
    exit_now(status)


def exit_now(status: int) -> NoReturn:
    """End the process at once: a thread that hangs must not keep it alive."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)
