"""What the commands have in common: lists with commas, and how their process ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import click


def listed(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """The value of an option with commas: each part once, without blanks; None if not given."""
    if value is None:
        return None
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


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
