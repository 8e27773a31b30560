"""The command `research-agent`: a first word that names a command runs it, else it is a question.

`python -m agent.cli` is the same for programs: it answers in JSON on a terminal too.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from agent.cli import shell
from agent.cli.commands import ASK, SUMMARIES

NAME = "research-agent"
NEARLY = 0.8  # of the letters: `docter`, `doctors`; a question of one word is rarely so near


class ResearchGroup(click.Group):
    """The commands, each imported when it is called; without a command's name it asks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help."""
        return [*SUMMARIES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        return load_command(cmd_name) if cmd_name in SUMMARIES else None

    def main(self, args: Sequence[str] | None = None, *given: Any, **extra: Any) -> Any:
        """Run the command that the first word names, or ask."""
        words = list(sys.argv[1:] if args is None else args)
        near = get_close_matches(words[0].lower(), SUMMARIES, n=1, cutoff=NEARLY) if words else []
        if words and words[0] in SUMMARIES and words[0] != ASK:
            return super().main(words, *given, **extra)
        if words[:1] == [ASK]:
            words = words[1:]
        elif near:
            raise click.UsageError(
                f"There is no command {words[0]!r}. Did you mean {NAME} {near[0]}? "
                f"To research it: {NAME} {ASK} {words[0]}"
            )
        return load_command(ASK).main(words, *given, **extra)


def load_command(name: str) -> click.Command:
    """Import the command of a name."""
    command: click.Command = import_module(f"agent.cli.{name}").command
    return command


def run_cli(arguments: Sequence[str], *, for_people: bool = False) -> int:
    """Run a command line; returns its exit status."""
    group = ResearchGroup(NAME)
    return shell.run_command(group, arguments, prog_name=NAME, obj=for_people)


def main(*, for_people: bool = True) -> None:
    """Run the command line of this process, and end it. `for_people`: text on a terminal."""
    gc.set_threshold(50_000)  # a short process with big imports: collecting costs a tenth of them
    shell.run_process(lambda: run_cli(sys.argv[1:], for_people=for_people))
