"""What the command line writes: progress on stderr, an answer on stdout, an exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.errors import AgentError, UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer import Answer
    from agent.run import Run
    from agent.state import Event


def follow(run: Run, options: dict[str, Any]) -> None:
    """Go through the run and write its events to stderr in the form that the options ask for."""
    from agent.answer.event_format import format_event_json, format_event_line
    from agent.state import Halted
    from agent.state.sanitizing import sanitize_for_display

    events: Iterable[Event] = run
    if sys.stderr.isatty() and not (options["verbose"] or options["events"]):
        events = _with_progress_line(run)
    for event in events:
        if isinstance(event, Halted) and not options["events"]:
            click.echo(f"Warning: {sanitize_for_display(event.reason)}", err=True)
        if options["verbose"]:
            click.echo(format_event_line(event), err=True)
        if options["events"]:
            click.echo(format_event_json(event), err=True)


def _with_progress_line(run: Run) -> Iterator[Event]:
    """The events of a run; the terminal shows the latest one on a line that changes."""
    from rich.console import Console
    from rich.markup import escape

    from agent.answer.event_format import format_event_line

    console = Console(stderr=True)
    with console.status("Starting") as status:
        for event in run:
            status.update(escape(format_event_line(event)[: max(20, console.width - 4)]))
            yield event


def print_answer(answer: Answer, options: dict[str, Any]) -> int:
    """Print an answer, and write it to the file of `--out`; returns the exit status."""
    text = _format_answer(answer, options)
    out: Path | None = options["out"]
    if out:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            click.echo(f"{out} could not be written: {error.strerror}", err=True)
            print_text(text)
            return 1
    if answer.error:
        click.echo(f"Error: {answer.error.message}\n{answer.error.remedy}", err=True)
    return print_text(text) or _exit_status(answer, options["strict"])


def print_failure(topic: str, error: AgentError, options: dict[str, Any]) -> int:
    """Print the answer object of a run that failed or could not begin."""
    from agent.answer import build_error_answer

    return print_answer(build_error_answer(topic, error), {**options, "out": None})


def _format_answer(answer: Answer, options: dict[str, Any]) -> str:
    """The answer in the format of the options; `to_json` validates it for every format."""
    from agent.answer import to_json

    text = to_json(answer, compact=options["compact"])
    if options["format"] == "markdown":
        from agent.answer.markdown_format import to_markdown

        return to_markdown(answer)
    if options["format"] == "html":
        from agent.answer.html_format import to_html

        return to_html(answer)
    return text


def _exit_status(answer: Answer, strict: bool) -> int:
    if answer.error:
        return 2 if answer.error.kind == UsageError.kind else 1
    if answer.status == "insufficient":
        return 3
    is_weak = answer.status == "partial" or answer.degraded
    is_weak = is_weak or any(claim.verdict != "supported" for claim in answer.claims)
    return 4 if strict and is_weak else 0


def print_schema() -> int:
    """Print the JSON Schema of an answer; returns the exit status."""
    import json

    from agent.answer import answer_schema

    return print_text(json.dumps(answer_schema(), indent=2) + "\n")


def print_text(text: str) -> int:
    """Write to standard output; returns 1 if nobody reads it any more or the disk is full."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError as error:
        click.echo(f"The answer could not be written: {error.strerror}", err=True)
        return 1
    return 0
