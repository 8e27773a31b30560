"""What a run did, as a tree on standard output or as one page for a browser. It goes nowhere."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import __version__
from agent.errors import AgentError, JournalDamaged, JournalError, UsageError, told
from agent.shell import ended, shown

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.settings import Settings
    from agent.trace.tree import Mark, Trace

STYLES: dict[Mark, dict[str, Any]] = {
    "part": {"bold": True},
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "quiet": {"dim": True},
}
EXAMPLES = """\b
Examples:
  python -m agent.trace monday                    # the name of a run
  python -m agent.trace monday.jsonl --html t.html  # its journal; a page
"""


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", metavar="RUN")
@click.option(
    "--html", "file", metavar="FILE", type=click.Path(path_type=Path), help="Write a page instead."
)
@click.version_option(__version__, prog_name="agent.trace")
def command(run: str, file: Path | None) -> int:
    """Show what RUN, a run's name or its journal, did: what was asked, searched and read, why it
    went on, what each part cost.

    The journal is replayed: no key, no network. Exit status: 0 it was shown, a run that did not
    finish too; 1 the journal cannot be read; 2 wrong usage.
    """
    try:
        with redirect_stdout(sys.stderr):  # whatever a library prints is not the tree
            trace = traced(_chosen(), run)
            text = _page(trace) if file else "".join(_lines(trace))
        if file:
            _write(file, text)
    except AgentError as error:
        return _refuse(error)
    if not file:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()
    return 0


def _refuse(error: AgentError) -> int:
    from agent.state.plain import printable

    click.echo(f"Error: {printable(told(error.message, error.remedy))}", err=True)
    return 2 if isinstance(error, UsageError) else 1


def _chosen() -> Settings:
    """The settings, which say where runs lie. Raises UsageError."""
    from dotenv import load_dotenv

    from agent import settings

    with suppress(OSError, UnicodeDecodeError):  # a .env is not needed to look at a run
        load_dotenv(Path.cwd() / ".env")
    return settings.load(os.environ)


def traced(settings: Settings, name: str) -> Trace:
    """A run repeated from its journal, by name or path. Raises JournalError."""
    from agent.outside.journal import read
    from agent.run import research
    from agent.run.begin import journal_path
    from agent.trace.calls import calls
    from agent.trace.tree import Trace

    path = journal_path(settings, name)
    recording = read(path)
    try:
        again = research("", settings.model_copy(update={"resume": "", "replay": path}))
        events = list(again)
        answer = again.answer()
    except (ValueError, KeyError, TypeError) as error:  # lines of another shape than ours
        fault = f"{path} is damaged ({type(error).__name__})."
        raise JournalError(fault, "Name another run.") from None
    if answer.error and answer.error.kind == JournalDamaged.kind:
        raise JournalError(answer.error.message, answer.error.remedy)
    ends_early = answer.error is not None and answer.error.kind == JournalError.kind
    return Trace(
        answer=answer,
        events=events,
        calls=calls(recording.calls.values()),
        max_rounds=_rounds(recording.header),
        unfinished=_why(answer.error.message) if answer.error and ends_early else "",
    )


def _rounds(header: dict[str, object]) -> int:
    """How many rounds the run was allowed; 0: not told."""
    told = header.get("settings")
    rounds = told.get("max_rounds") if isinstance(told, dict) else None
    return rounds if isinstance(rounds, int) else 0


def _why(message: str) -> str:
    return f"{message.rstrip('.')}. The run crashed, was stopped, or is still going."


def _page(trace: Trace) -> str:
    from agent.trace.page import page

    return page(trace)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        fault = f"{file} cannot be written: {error.strerror}."
        raise UsageError(fault, "Name a file in a directory of your own.") from None


def _lines(trace: Trace) -> Iterator[str]:
    """The tree; on a terminal within its width, and coloured unless NO_COLOR is set."""
    from agent.trace.lines import lines
    from agent.trace.tree import tree

    tty = sys.__stdout__ is not None and sys.__stdout__.isatty()
    width = shutil.get_terminal_size().columns if tty else None
    colour = tty and not os.environ.get("NO_COLOR")
    for line, node in lines(tree(trace), width):
        yield (_styled(line, node.mark) if colour else line) + "\n"


def _styled(line: str, mark: Mark) -> str:
    """A line in the style of its mark, the branches before it left plain."""
    text = line.lstrip("│├└─ ")
    before = line[: len(line) - len(text)]
    return before + click.style(text, **STYLES.get(mark, {}))


def main() -> None:
    """The command."""
    ended(command, shown)


if __name__ == "__main__":
    main()
