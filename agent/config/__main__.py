"""The settings of a user: keys and defaults for every folder, in one file that is theirs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click

from agent import __version__, shell

EPILOG = """\b
Examples:
  python -m agent.config set gemini_api_key       # asks, and shows nothing
  python -m agent.config set max_usd 0.05
  python -m agent.config list

\b
NAME is that of a setting or of its variable. The shell's variables win over
this file, and the file over the .env of a folder. Exit status: 0 done, 1 the
file could not be written, 2 wrong usage.
"""
ORIGINS = {"shell": "the shell", "user": "this file", "folder": ".env of this folder"}


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="agent.config")
def command() -> None:
    """Keep keys and settings in a file of your own, which you alone can read."""


@command.command("set")
@click.argument("name")
@click.argument("value", required=False)
def set_value(name: str, value: str | None) -> None:
    """Set NAME to VALUE; without VALUE it is asked for and not shown, or read from a pipe."""
    from agent.config.settings_file import set_variable
    from agent.settings import resolve_name, user_file

    variable = resolve_name(name)
    set_variable(user_file(), variable, _read_value(variable) if value is None else value.strip())
    shell.tell(f"{variable} is set in {user_file()}.")
    if os.environ.get(variable):
        shell.tell(f"The shell sets {variable} too, and its value counts.")


@command.command("unset")
@click.argument("name")
def unset_value(name: str) -> None:
    """Take NAME out of the file."""
    from agent.config.settings_file import unset_variable
    from agent.settings import resolve_name, user_file

    variable = resolve_name(name)
    was_set = unset_variable(user_file(), variable)
    shell.tell(f"{variable} is {'no longer' if was_set else 'not'} set in {user_file()}.")


@command.command("list")
def list_values() -> None:
    """Show what is set and where; keys are not shown."""
    from agent.settings import is_secret, read_variables

    variables = read_variables(os.environ, Path())
    rows = [
        (name, "(hidden)" if is_secret(name) else _hide_password(value), ORIGINS[origin])
        for name, (value, origin) in sorted(variables.items())
        if value
    ]
    width = max((len(name) for name, _, _ in rows), default=0)
    lines = (f"{name:{width}}  {value}  ({origin})\n" for name, value, origin in rows)
    shell.print_text("".join(lines) or "Nothing is set.\n")


@command.command("path")
def show_path() -> None:
    """Show where the file is, or would be."""
    from agent.settings import user_file

    shell.print_text(f"{user_file()}\n")


def _read_value(variable: str) -> str:
    """The value: typed without echo at a terminal, else a line of standard input."""
    if sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt(variable, hide_input=True)).strip()
    return str(shell.require_stdin().readline(100_000).decode("utf-8", "replace")).strip()


def _hide_password(value: str) -> str:
    from agent.state.sanitizing import sanitize_for_display

    return sanitize_for_display(re.sub(r"(://)[^/@\s]*@", r"\1(hidden)@", value))


if __name__ == "__main__":
    shell.run_and_exit(command)
