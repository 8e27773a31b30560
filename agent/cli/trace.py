"""The trace of a run: lines on standard output, or a page for a browser. No outside calls."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent.cli import shell
from agent.errors import AgentError, JournalDamaged, JournalError, UsageError, format_error

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer import Answer
    from agent.settings import Settings
    from agent.trace.calls import Trace

EPILOG = """\b
Examples:
  research-agent trace monday                    # the name of a run
  research-agent trace monday.jsonl --html t.html  # its journal; a page
"""


@shell.command(EPILOG)
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
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the trace's
            trace = load_trace(_read_settings(), run)
            text = format_page(trace) if file else format_lines(trace)
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
    from agent.run.header import journal_path
    from agent.state.json_data import get_path
    from agent.trace.calls import Trace, parse_calls

    path = journal_path(settings, name)
    recording = read_journal(path)
    again = research("", settings.model_copy(update={"resume": "", "replay": path}))
    events = list(again)
    answer = again.answer()
    if answer.error and answer.error.kind == JournalDamaged.kind:
        raise JournalError(answer.error.message, answer.error.remedy)
    rounds = get_path(recording.header, "settings", "max_rounds")
    return Trace(
        answer=answer,
        events=events,
        calls=parse_calls(recording.calls.values()),
        max_rounds=rounds if isinstance(rounds, int) else 0,
        unfinished_reason=_unfinished_reason(answer),
    )


def _unfinished_reason(answer: Answer) -> str:
    """Why the journal ends before the run does; "" where it does not."""
    if answer.error is None or answer.error.kind != JournalError.kind:
        return ""
    message = answer.error.message.rstrip(".")
    return f"{message}. The run crashed, was stopped, or is still going."


def format_page(trace: Trace) -> str:
    """The trace as a page: the answer, a timeline of the calls, and what happened."""
    from agent.answer.formats import BASE_STYLE, PAGE_STYLE
    from agent.answer.html_page import write_html
    from agent.trace.lines import show_page

    return write_html(show_page(trace), BASE_STYLE, PAGE_STYLE, "agent.trace/page.css")


def format_lines(trace: Trace) -> str:
    """The lines; a terminal gets its width, and colours unless NO_COLOR is set."""
    from agent.answer.text import measure_terminal, write_text
    from agent.trace.lines import show_lines

    is_terminal = sys.__stdout__ is not None and sys.__stdout__.isatty()
    width, has_colour = measure_terminal() if is_terminal else (100_000, False)
    return write_text(show_lines(trace), width, has_colour=has_colour)
