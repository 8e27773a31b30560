"""What the command line writes: progress on stderr, an answer on stdout, an exit status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import shell
from agent.errors import AgentError, OutputFailed, format_error

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer import Answer
    from agent.run import Run
    from agent.state import Event


def follow(run: Run, options: dict[str, Any]) -> None:
    """Go through the run and write its events to stderr in the form that the options ask for."""
    from agent.answer.event_format import format_event_json, format_event_line
    from agent.state.sanitizing import sanitize_for_display

    told: set[str] = set()
    events: Iterable[Event] = run
    if not (options["verbose"] or options["events"]):
        events = shell.with_progress_line(run, format_event_line)
    for event in events:
        for warning in () if options["events"] else _urgent_warnings(event):
            if warning not in told:
                click.echo(f"Warning: {sanitize_for_display(warning)}", err=True)
                told.add(warning)
        if options["verbose"]:
            click.echo(format_event_line(event), err=True)
        if options["events"]:
            click.echo(format_event_json(event), err=True)


def _urgent_warnings(event: Event) -> Iterator[str]:
    """What the user is to know at once: that the run stops, or that a model is down."""
    from agent.state import Asked, Failed, Halted

    if isinstance(event, Halted):
        yield event.reason
    elif isinstance(event, Failed) and event.what == "llm":
        names = dict.fromkeys(attempt.provider for attempt in event.attempts)
        yield f"{', '.join(names) or event.subject}: {event.message}"
    elif isinstance(event, Asked):
        failed = [a for a in event.attempts if a.provider != event.attempts[-1].provider]
        yield from (f"{attempt.provider}: {attempt.detail}" for attempt in failed)


def print_answer(answer: Answer, options: dict[str, Any]) -> int:
    """Print an answer, and write it to the file of `--out`; returns the exit status.

    Raises OutputFailed, after the file was written.
    """
    text = _format_answer(answer, options)
    is_kept = _write_out(options["out"], text)
    if answer.error:
        click.echo(f"Error: {answer.error.message}\n{answer.error.remedy}", err=True)
    try:
        shell.print_text(text)
    except OutputFailed as error:
        raise _with_other_place(error, answer, options["out"] if is_kept else None) from None
    return _exit_status(answer, options["strict"]) if is_kept else 1


def _write_out(out: Path | None, text: str) -> bool:
    """Write the file of `--out`, if there is one; whether it holds the whole text now."""
    if out:
        try:
            shell.write_file(out, text)
        except OutputFailed as error:
            click.echo(f"Error: {format_error(error.message, error.remedy)}", err=True)
            return False
    return True


def _with_other_place(error: OutputFailed, answer: Answer, out: Path | None) -> OutputFailed:
    """The error of an answer that could not be printed, with the place where it still is."""
    if out:
        return OutputFailed(error.message, f"{out} holds it.")
    if answer.run and answer.run.journal:
        remedy = f"It is not lost: print it again with --replay {answer.run.journal}"
        return OutputFailed(error.message, remedy)
    return error


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
        return shell.exit_status_of(answer.error.kind)
    if answer.status == "insufficient":
        return 3
    is_weak = answer.status == "partial" or answer.degraded
    is_weak = is_weak or any(claim.verdict != "supported" for claim in answer.claims)
    return 4 if strict and is_weak else 0


def print_schema() -> int:
    """Print the JSON Schema of an answer; returns the exit status."""
    import json

    from agent.answer import answer_schema

    shell.print_text(json.dumps(answer_schema(), indent=2) + "\n")
    return 0
