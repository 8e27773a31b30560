"""Checks a report that anybody wrote: does each sentence stand on the pages that it cites?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import shell
from agent.errors import AgentError, OutputFailed, Stopped, UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer.check import CheckResult
    from agent.run import Run
    from agent.settings import Settings
    from agent.state import CitedReport

FORMATS = ("json", "text", "html", "sarif")
FAIL_ON = "contradicted,unsupported"
COULD_NOT_RUN = 4  # exit status
EPILOG = """\b
Examples:
  python -m agent.check report.md
  python -m agent.check answer.json --format html --out check.html
  python -m agent.check thesis.docx --corpus ~/papers --offline
  python -m agent.check README.md --format sarif --fail-on contradicted > check.sarif

\b
Exit status: 0 all stands; 1 a claim has a verdict of --fail-on; 2 wrong
usage, or no report; 4 could not run; 130 interrupted.
"""


@shell.door_command("agent.check", EPILOG)
@click.argument("report", required=False)
@click.option("--name", help="What the report is called, where it comes from stdin.")
@click.option(
    "--search",
    "search_uncited",
    is_flag=True,
    default=None,
    help="Search for evidence where a sentence cites nothing.",
)
@click.option(
    "--fail-on",
    callback=shell.split_commas,
    default=FAIL_ON,
    show_default=True,
    help="Verdicts that end with status 1; empty: none.",
)
@shell.options("llm corpus offline verify")
@shell.cap_options("the whole check")
@shell.options("estimate resume retry-failed no-cache trust-env lang out verbose schema")
@click.option("--replay", type=shell.PATH, help="Repeat a journal, going nowhere.")
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    help="How the result looks.  [default: text on a terminal, else json]",
)
def command(**options: Any) -> int:
    """Check a REPORT against the pages that it cites; - reads standard input.

    It may be Markdown, HTML, DOCX, PDF, wikitext, BibTeX, or the JSON of an answer of OpenAI,
    Gemini, Perplexity or this program.
    """
    if options["schema"]:
        from agent.answer.check import check_schema

        shell.print_json(check_schema())
        return 0
    try:
        from agent.outside.threads import spawn
        from agent.run.check import begin_check

        _check_options(options)
        shell.require_writable(options["out"])
        if options["out"] is None:
            shell.require_stdout()
        report = _read_report(options)
        settings = _read_settings(options)
        if options["estimate"]:
            return _print_estimate(report, settings)
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the result's
            # on a thread, so that Ctrl-C ends the wait whatever the thread does
            run = spawn(lambda: begin_check(report, settings)).result()
            with shell.interruptible("Stopping; once more to end at once.", run.stop):
                _follow(run, verbose=options["verbose"])
            result = _build_result(run)
    except KeyboardInterrupt:
        return _print_failure(Stopped("The check was stopped before it began."), options)
    except OutputFailed:
        raise
    except AgentError as error:
        return _print_failure(error, options)
    return _print_result(result, options)


def _check_options(options: dict[str, Any]) -> None:
    """Raises UsageError for options that do not go together, or name no verdict."""
    from agent.answer.check import VERDICTS

    if unknown := [name for name in options["fail_on"] if name not in VERDICTS]:
        raise UsageError(
            f"--fail-on: {unknown[0]!r} is no verdict.", f"Use some of: {', '.join(VERDICTS)}."
        )
    if options["report"] is None and not (options["resume"] or options["replay"]):
        raise UsageError("No report was given.", "Name its file, or - for standard input.")


def _read_report(options: dict[str, Any]) -> CitedReport | None:
    """The report of the argument; None where a journal holds it. Raises UsageError."""
    from agent.documents.reports.reader import MAX_BYTES, read_report
    from agent.outside.input_file import read_bytes, unreadable

    name = options["report"]
    if name is None:
        return None
    if name == "-":
        return read_report(shell.require_stdin().read(MAX_BYTES + 1), options["name"] or "")
    path = Path(name)
    try:
        body = read_bytes(path, MAX_BYTES)
    except OSError as error:
        raise unreadable(path, error) from None
    return read_report(body, options["name"] or name)


def _read_settings(options: dict[str, Any]) -> Settings:
    """Settings from the environment, `.env` and the options. Raises UsageError, NotConfigured."""
    from agent.settings import load_options

    return load_options({**options, "report": None})  # which names a file


def _follow(run: Run, *, verbose: bool) -> None:
    """Go through the run; its events are lines on stderr with `verbose`."""
    from agent.answer.event_format import format_event_line
    from agent.run.progress import with_progress_line

    for event in with_progress_line(run) if sys.stderr.isatty() and not verbose else run:
        if verbose:
            shell.tell(format_event_line(event))


def _build_result(run: Run) -> CheckResult:
    from agent.answer.check import build_check_result

    if run.research.events and not run.is_check:
        raise UsageError("That run checked no report.", "Name another run.")
    return build_check_result(run.answer())


def _print_estimate(report: CitedReport | None, settings: Settings) -> int:
    from agent.run.check import check_settings, check_topic
    from agent.run.estimate import estimate

    if report is None:
        raise UsageError("No report was given.", "Name its file, or - for standard input.")
    figures = estimate(check_topic(report), check_settings(report, settings))
    shell.print_text(figures.model_dump_json(indent=2) + "\n")
    return 0


def _print_result(result: CheckResult, options: dict[str, Any]) -> int:
    """Print the result; returns the exit status."""
    if options["out"]:
        shell.write_file(options["out"], _format(result, options, is_terminal=False))
    shell.print_text(_format(result, options, is_terminal=sys.stdout.isatty()))
    if result.error:
        click.echo(f"Error: {result.error['message']}\n{result.error['remedy']}", err=True)
        return _status_of(result.error["kind"])
    return 1 if any(claim.verdict in options["fail_on"] for claim in result.claims) else 0


def _format(result: CheckResult, options: dict[str, Any], *, is_terminal: bool) -> str:
    chosen = options["format"] or ("text" if is_terminal else "json")
    from agent.answer import formats, sarif

    if chosen == "html":
        return formats.to_check_html(result)
    if chosen == "sarif":
        return sarif.to_check_sarif(result)
    if chosen == "json":
        return result.model_dump_json(indent=2) + "\n"
    return formats.to_check_terminal(result) if is_terminal else formats.to_check_text(result)


def _print_failure(error: AgentError, options: dict[str, Any]) -> int:
    """Print the result of a check that could not begin; returns the exit status."""
    from agent.answer import build_error_answer
    from agent.answer.check import build_check_result

    result = build_check_result(build_error_answer("", error))
    return _print_result(result, {**options, "out": None})


def _status_of(kind: str) -> int:
    status = shell.exit_status_of(kind)
    return COULD_NOT_RUN if status == 1 else status


def _refuse(error: AgentError) -> int:
    return _print_failure(error, {"out": None, "format": "json", "fail_on": ()})


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments of the process, or with these, and end the process."""
    shell.run_and_exit(command, _refuse, argv)


if __name__ == "__main__":
    main()
