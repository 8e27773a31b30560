"""The command for people: on a terminal the answer is text, and wrong usage is two lines."""

from __future__ import annotations

import sys
from typing import Any

import click

from agent.cli import command_line


def people_command(base: type[click.Command], question: click.Parameter) -> click.Command:
    """The command line of `command_line.command` for people, as a command of this class.

    `question` is the argument that takes the question.
    """
    shared = command_line.command
    own: dict[str | None, click.Parameter] = {"question": question, "format": _format_option()}
    return base(
        shared.name,
        context_settings=shared.context_settings,
        callback=_ask,
        params=[own.get(parameter.name, parameter) for parameter in shared.params],
        help="Research a question; the answer cites the words that each sentence stands on.",
        epilog=shared.epilog,
    )


def _format_option() -> click.Option:
    return click.Option(
        ["--format"],
        type=click.Choice(command_line.FORMATS),
        help="How the answer looks.  [default: text on a terminal, else json]",
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
    suffixes = {".md": "markdown", ".html": "html", ".htm": "html", ".txt": "text"}
    return suffixes.get(options["out"].suffix.lower(), "json")
