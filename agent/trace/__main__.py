"""The trace of a run: a tree on standard output, or a page for a browser. No outside calls."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import shell
from agent.errors import AgentError, JournalDamaged, JournalError, UsageError, format_error

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer import Answer
    from agent.settings import Settings
    from agent.trace.values import Mark, Trace

STYLES: dict[Mark, dict[str, Any]] = {
    "part": {"bold": True},
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "quiet": {"dim": True},
}
EPILOG = """\b
Examples:
  python -m agent.trace monday                    # the name of a run
  python -m agent.trace monday.jsonl --html t.html  # its journal; a page
"""


@shell.door_command("agent.trace", EPILOG)
@click.argument("run", metavar="RUN")
@click.option("--html", "file", metavar="FILE", type=shell.PATH, help="Write a page instead.")
def command(run: str, file: Path | None) -> int:
    """Show what RUN, a run's name or its journal, did: what was asked, searched and read, why it
    went on, what each part cost.

    The journal is replayed: no key, no network. Exit status: 0 it was shown, a run that did not
    finish too; 1 the journal cannot be read; 2 wrong usage.
    """
    try:
        shell.require_writable(file)
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the tree's
            trace = load_trace(_read_settings(), run)
            text = _format_page(trace) if file else "".join(_format_tree(trace))
        if file:
            shell.write_file(file, text)
    except AgentError as error:
        return _print_failure(error)
    if not file:
        shell.print_text(text)
    return 0


def _print_failure(error: AgentError) -> int:
    from agent.state.sanitizing import sanitize_for_display

    click.echo(
        f"Error: {sanitize_for_display(format_error(error.message, error.remedy))}", err=True
    )
    return shell.exit_status_of(error.kind)


def _read_settings() -> Settings:
    """The settings, which say where journals are. A trace does not need a readable `.env`."""
    from agent.settings import load_settings, parse_settings

    try:
        return load_settings()
    except UsageError:
        return parse_settings(os.environ)


def load_trace(settings: Settings, name: str) -> Trace:
    """Replay a run from its journal, given as its name or its path. Raises JournalError."""
    from agent.outside.recording import read_journal
    from agent.run import research
    from agent.run.begin import journal_path
    from agent.trace.calls import parse_calls
    from agent.trace.values import Trace

    path = journal_path(settings, name)
    recording = read_journal(path)
    again = research("", settings.model_copy(update={"resume": "", "replay": path}))
    events = list(again)
    answer = again.answer()
    if answer.error and answer.error.kind == JournalDamaged.kind:
        raise JournalError(answer.error.message, answer.error.remedy)
    return Trace(
        answer=answer,
        events=events,
        calls=parse_calls(recording.calls.values()),
        max_rounds=_max_rounds(recording.header),
        unfinished_reason=_unfinished_reason(answer),
    )


def _max_rounds(header: dict[str, object]) -> int:
    """The setting `max_rounds` of the run; 0 where its header has none."""
    settings = header.get("settings")
    rounds = settings.get("max_rounds") if isinstance(settings, dict) else None
    return rounds if isinstance(rounds, int) else 0


def _unfinished_reason(answer: Answer) -> str:
    """Why the journal ends before the run does; "" where it does not."""
    if answer.error is None or answer.error.kind != JournalError.kind:
        return ""
    message = answer.error.message.rstrip(".")
    return f"{message}. The run crashed, was stopped, or is still going."


def _format_page(trace: Trace) -> str:
    from agent.trace.page import render_trace

    return render_trace(trace)


def _format_tree(trace: Trace) -> Iterator[str]:
    """The lines of the tree; a terminal gets its width, and colours unless NO_COLOR is set."""
    from agent.trace.lines import render_lines
    from agent.trace.tree import build_tree

    is_terminal = sys.__stdout__ is not None and sys.__stdout__.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else None
    has_colour = is_terminal and not os.environ.get("NO_COLOR")
    for line, node in render_lines(build_tree(trace), width):
        yield (_add_style(line, node.mark) if has_colour else line) + "\n"


def _add_style(line: str, mark: Mark) -> str:
    """A line in the style of its mark; the branches before it have none."""
    text = line.lstrip("│├└─ ")
    branches = line[: len(line) - len(text)]
    return branches + click.style(text, **STYLES.get(mark, {}))


def main() -> None:
    """Run the command and end the process."""
    shell.run_and_exit(command)


if __name__ == "__main__":
    main()
