"""What the commands have in common: lists with commas, extras that they need, how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import NoReturn

import click

from agent.errors import NotConfigured


def listed(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """The value of an option with commas: each part once, without blanks; None if not given."""
    if value is None:
        return None
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


def needs(extra: str, *modules: str) -> None:
    """Raises NotConfigured where a module that an extra brings is not installed."""
    if absent := next((module for module in modules if find_spec(module) is None), None):
        remedy = f"Install it: pip install 'llm-research-agent[{extra}]'."
        raise NotConfigured(f"{absent} is not installed.", remedy)


def shown(error: click.ClickException) -> int:
    """Wrong usage told as click tells it; the exit status."""
    error.show()
    return error.exit_code


def ended(command: click.Command, refuse: Callable[[click.ClickException], int]) -> NoReturn:
    """Run a command and end the process at once with its status: no thread may keep it alive.

    `refuse` tells of wrong usage and gives the status. A reader that has gone ends it with 1.
    """
    try:
        status = _status(command, refuse)
    except BrokenPipeError:
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)


def _status(command: click.Command, refuse: Callable[[click.ClickException], int]) -> int:
    try:
        return int(command.main(standalone_mode=False) or 0)
    except click.ClickException as error:
        return refuse(error)
    except click.exceptions.Abort:
        return 130
