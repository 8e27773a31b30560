"""What the command line writes: events on stderr, an answer on stdout, an exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import inputs, shell
from agent.errors import AgentError, OutputFailed, PipeClosed, UsageError, format_error

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer.schema import Answer
    from agent.cli.shell import FormatName
    from agent.run.loop import Run
    from agent.state import Event, SearchResults


def follow(run: Run, options: dict[str, Any]) -> None:
    """Go through the run and write its events to stderr in the form that the options ask for."""
    from agent.answer.event_format import format_event_json, format_event_line
    from agent.state import sanitize_for_display

    reported: set[str] = set()
    events: Iterable[Event] = run
    shows_json = options["format"] == "json" and sys.__stdout__ and sys.__stdout__.isatty()
    is_quiet = options["verbose"] or options["events"] or shows_json
    is_watched = sys.stderr.isatty() and not is_quiet
    if is_watched:
        from agent.run.progress import with_progress_line

        events = with_progress_line(run)
    for event in events:
        notices = () if options["events"] else _find_notices(event, is_watched=is_watched)
        for what, notice in notices:
            if what not in reported:
                shell.tell(sanitize_for_display(notice))
                reported.add(what)
        if options["verbose"]:
            shell.tell(format_event_line(event))
        if options["events"]:
            shell.tell(format_event_json(event))


def _find_notices(event: Event, *, is_watched: bool) -> Iterator[tuple[str, str]]:
    """What the user is to know at once: that the run stops, or what is down; what is searched.

    Each with what it is about, of which one line is enough.
    """
    from agent.state import Asked, Blocked, Failed, Halted, Searched

    if isinstance(event, Halted):
        yield event.reason, f"Warning: {event.reason}"
    elif isinstance(event, Blocked):
        yield event.hit.url, f"🚫 Blocked: {event.hit.url} (credibility {event.score:g})"
    elif isinstance(event, Failed) and event.what == "llm":
        names = dict.fromkeys(attempt.provider for attempt in event.attempts)
        said = format_error(event.message, event.remedy)
        yield event.outcome, f"Warning: {', '.join(names) or event.subject}: {said}"
    elif isinstance(event, Asked):
        failed = [a for a in event.attempts if a.provider != event.attempts[-1].provider]
        yield from ((a.provider, f"Warning: {a.provider}: {a.detail}") for a in failed)
    elif isinstance(event, Searched):
        notices = _describe_search(event.found, is_watched=is_watched)
        yield from ((notice, notice) for notice in notices)


def _describe_search(found: SearchResults, *, is_watched: bool) -> Iterator[str]:
    """What is searched; without a terminal only where it is less than the user may think."""
    unset = [attempt.provider for attempt in found.attempts if attempt.outcome == "no_key"]
    if found.provider == "wikipedia" and unset:
        yield f"Warning: Only Wikipedia is searched. Not set up: {', '.join(unset)}."
    elif is_watched:
        yield f"Search: {found.provider}."


def print_answer(answer: Answer, options: dict[str, Any]) -> int:
    """Print an answer, and write it to the file of `--out`; returns the exit status.

    Raises OutputFailed, after the file was written.
    """
    is_kept = _write_out(options["out"], answer, options)
    form = _printed_format(answer, options)
    if answer.error:
        click.echo(f"Error: {answer.error.message}\n{answer.error.remedy}", err=True)
        is_wrong_usage = bool(options.get("for_people")) and answer.error.kind == UsageError.kind
        if form == "text" or is_wrong_usage:
            return _exit_status(answer, options["strict"])
    try:
        shell.print_text(_format_answer(answer, form, options, for_terminal=True))
    except OutputFailed as error:
        raise _with_other_place(error, answer, options["out"] if is_kept else None) from None
    return _exit_status(answer, options["strict"]) if is_kept else 1


def require_formats(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the browser of a PDF that is asked for.

    Raises NotConfigured or UsageError where an answer cannot be written as it is asked for.
    """
    forms = {options["format"], options.get("out_format", options["format"])}
    for form in forms:
        shell.require_format(form, options["out"])
    if "pdf" not in forms:
        return options
    from agent.answer.pdf_renderer import require_browser

    return {**options, "printer": require_browser(inputs.read_settings(options).page_browser_path)}


def _printed_format(answer: Answer, options: dict[str, Any]) -> FormatName:
    """The format of standard output: JSON where a DOCX is in a file, or what needs an extra fails.

    JSON is YAML too.
    """
    name: FormatName = options["format"]
    form = shell.FORMATS[name]
    is_elsewhere = form.is_binary and options["out"]
    return "json" if is_elsewhere or (answer.error and (form.is_binary or form.modules)) else name


def _write_out(out: Path | None, answer: Answer, options: dict[str, Any]) -> bool:
    """Write the file of `--out`, if there is one; whether it holds the whole text now."""
    if out:
        form = options.get("out_format", options["format"])
        try:
            shell.write_file(out, _format_answer(answer, form, options))
        except OutputFailed as error:
            click.echo(f"Error: {format_error(error.message, error.remedy)}", err=True)
            return False
    return True


def _with_other_place(error: OutputFailed, answer: Answer, out: Path | None) -> OutputFailed:
    """The error of an answer that could not be printed, with the place where it still is."""
    if isinstance(error, PipeClosed):
        return error
    if out:
        return OutputFailed(error.message, f"{out} holds it.")
    if answer.run and answer.run.journal:
        remedy = f"It is not lost: print it again with --replay {answer.run.journal}"
        return OutputFailed(error.message, remedy)
    return error


def print_failure(topic: str, error: AgentError, options: dict[str, Any]) -> int:
    """Print the answer object of a run that failed or could not begin."""
    from agent.answer.build import build_error_answer

    return print_answer(build_error_answer(topic, error), {**options, "out": None})


def _format_answer(
    answer: Answer, form: FormatName, options: dict[str, Any], *, for_terminal: bool = False
) -> str | bytes:
    """The answer in a format; `to_json` validates it for every format."""
    from agent.answer import formats
    from agent.answer.json_format import to_json

    text = to_json(answer, compact=options["compact"])
    if form == "json":
        return text
    if form == "text" and for_terminal and sys.stdout.isatty():
        return formats.to_terminal(answer)
    return formats.write_answer(answer, form, browser=options.get("printer", ""))


def _exit_status(answer: Answer, strict: bool) -> int:
    from agent.state import HOLDING

    if answer.error:
        return shell.exit_status_of(answer.error.kind)
    if answer.status == "insufficient":
        return 3
    is_weak = answer.status == "partial" or answer.degraded
    is_weak = is_weak or any(claim.verdict not in HOLDING for claim in answer.claims)
    return 4 if strict and is_weak else 0
