"""The command `research-agent`: its first argument, exactly, names a door; else it is a question.

Each door is a module of its own too: `python -m agent.doctor`. A new one is a line in DOORS.
"""

from __future__ import annotations

import gc
import sys
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import click

from agent import shell
from agent.cli import command_line

NAME = "research-agent"


class Door(NamedTuple):
    """A package with a module `__main__`, which has a `command`; and what it does."""

    package: str
    summary: str


DOORS = {
    "doctor": Door("agent.doctor", "Say what is set, what answers, what to fix."),
    "chat": Door("agent.chat", "Ask question after question, each following the last."),
    "check": Door("agent.check", "Check a report of anybody's against the pages that it cites."),
    "read": Door("agent.read", "Show what is read of a file or a page, and what is not."),
    "audit": Door("agent.audit", "Check an answer against the pages that it cites."),
    "trace": Door("agent.trace", "Show what a run asked, searched, read and decided."),
    "runs": Door("agent.runs", "List, search, name, delete and export the runs of this machine."),
    "batch": Door("agent.batch", "Research every question of a file."),
    "table": Door("agent.table", "Find the same facts of many things, each with its quote."),
    "watch": Door("agent.watch", "Ask again on a schedule, and speak when the answer changed."),
    "evaluate": Door("agent.evaluate", "Measure answers to questions with known answers."),
    "serve": Door("agent.server", "Serve the page and the API on this machine."),
    "mcp": Door("agent.mcp_server", "Serve research as a tool of other programs' models."),
}
#: Not a door: says that what follows is a question, whatever its first word.
ASK = "ask"


class QuestionCommand(shell.DoorCommand):
    """The command that takes a question; its help lists the doors too."""

    def format_commands(self, formatter: click.HelpFormatter) -> None:
        """Write a line for each door."""
        rows = [(word, door.summary) for word, door in DOORS.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*rows, (ASK, "Research a question that begins like a command.")])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the doors before the options."""
        self.format_commands(formatter)
        super().format_options(ctx, formatter)


def _complete_word(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """The doors whose names begin so, for completion in a shell."""
    return [word for word in (*DOORS, ASK) if word.startswith(begun)]


def main() -> None:
    """The console command `research-agent`."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    if word in DOORS:
        open_door(word, sys.argv[2:])
    else:
        ask(sys.argv[2:] if word == ASK else sys.argv[1:])


def open_door(word: str, arguments: list[str]) -> None:
    """Become the command of a door. Its help has examples for this way to call it."""
    package = DOORS[word].package
    door = import_module(f"{package}.__main__")
    name = f"{NAME} {word}"
    door.command.epilog = (door.command.epilog or "").replace(f"python -m {package}", name)
    sys.argv = [name, *arguments]
    shell.run_and_exit(door.command)


def ask(arguments: list[str]) -> None:
    """Become the command that takes a question."""
    gc.set_threshold(50_000)  # a short process with big imports: collecting costs a tenth of them
    question = click.Argument(["question"], required=False, shell_complete=_complete_word)
    fail = partial(command_line.refuse, arguments, for_people=True)
    sys.argv = [NAME, *arguments]
    shell.run_and_exit(people_command(question, fail))


# --- the command for people: on a terminal the answer is text, wrong usage two lines --------------


def people_command(question: click.Parameter, fail: shell.Fail | None = None) -> click.Command:
    """The command line of `command_line.command` for people; `question` takes the question."""
    shared = command_line.command
    form = click.Option(
        ["--format"],
        type=command_line.FORMAT,
        metavar="FORMAT",
        help=f"{command_line.LOOKS}  [default: text on a terminal, else json]",
    )
    own: dict[str | None, click.Parameter] = {"question": question, "format": form}
    return QuestionCommand(
        shared.name,
        context_settings=shared.context_settings,
        callback=_ask,
        params=[own.get(parameter.name, parameter) for parameter in shared.params],
        help="Research a question; the answer cites the words that each sentence stands on.",
        epilog=shared.epilog,
        fail=fail,
    )


def _ask(**options: Any) -> int:
    form = options["format"] or ("text" if sys.stdout.isatty() else "json")
    given = bool(options["format"])
    own = {"format": form, "out_format": _file_format(options), "for_people": not given}
    return command_line.research_question({**options, **own})


def _file_format(options: dict[str, Any]) -> str:
    """The format of the file of `--out`: the one that is asked for, else that of its name."""
    if options["format"] or options["out"] is None:
        return str(options["format"] or "json")
    return shell.format_of_file(options["out"])
