"""Checks a report that anybody wrote: is each sentence supported by the pages that it cites?"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import output, shell
from agent.errors import AgentError, OutputFailed, Stopped, UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer.check_result import CheckResult
    from agent.run.loop import Run
    from agent.settings import Settings
    from agent.state import CitedReport, RunRequest

FORMATS = ("json", "text", "html")
FORMS = ("markdown", "html", "docx", "pdf", "json")
FAIL_ON = "contradicted,unsupported"
NOTHING_JUDGED, COULD_NOT_RUN = 3, 4  # exit statuses
EPILOG = """\b
Examples:
  research-agent check report.md
  research-agent check answer.json --format html --out check.html
  research-agent check thesis.docx --corpus ~/papers --offline

\b
Exit status: 0 all that could be judged holds; 1 a claim has a verdict of
--fail-on; 2 wrong usage, or no report; 3 no claim could be judged; 4 could
not run; 130 interrupted. With --fail-on contradicted,unsupported,unreadable
0 also means that every needed source was read.
"""


def _refuse(error: AgentError) -> int:
    return _print_failure(error, {"out": None, "format": "json", "fail_on": ()})


@shell.command(EPILOG, _refuse)
@click.argument("report", required=False)
@click.option("--name", help="Name of a report from standard input.")
@click.option("--form", type=click.Choice(FORMS), help="Format of the report.  [default: detected]")
@click.option(
    "--search",
    "search_uncited",
    is_flag=True,
    default=None,
    help="Search for evidence for sentences without a source.",
)
@click.option(
    "--fail-on",
    callback=shell.split_commas,
    default=FAIL_ON,
    show_default=True,
    help="Verdicts that cause exit status 1; empty for none.",
)
@shell.options("llm corpus offline browser archive verify")
@shell.cap_options("the whole check")
@shell.options("estimate resume retry-failed no-cache trust-env lang out verbose schema")
@click.option("--replay", type=shell.PATH, help="Repeat a run from its journal, offline.")
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    help="Format of the result.  [default: text on a terminal, else json]",
)
def command(**options: Any) -> int:
    """Check a REPORT against the pages that it cites; - reads standard input.

    It may be Markdown, HTML, DOCX, PDF, or the JSON of an answer of OpenAI,
    Gemini, Claude or this program.
    """
    if options["schema"]:
        from agent.answer.check_result import check_schema

        shell.print_json(check_schema())
        return 0
    try:
        from agent.calls.threads import spawn
        from agent.run.check_run import begin_check
        from agent.settings import load_options, make_request

        _check_options(options)
        shell.require_writable(options["out"])
        if options["out"] is None:
            shell.require_stdout()
        body = _read_body(options)
        report = _read_report(body, options)
        beside = Path(options["report"]).parent if report and options["report"] != "-" else None
        fields = {**options, "report": report, "beside": beside}
        settings, request = load_options(options), make_request(fields)
        if options["estimate"]:
            return _print_estimate(settings, request)
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the result's
            # on a thread, so that Ctrl-C ends the wait whatever the thread does
            run = spawn(lambda: begin_check(settings, request)).result()
            with shell.interruptible("Stopping. Press Ctrl-C again to quit at once.", run.stop):
                output.follow(run, {**options, "events": False})
            result = _build_result(run)
    except KeyboardInterrupt:
        return _print_failure(Stopped("The check was stopped before it started."), options)
    except OutputFailed:
        raise
    except AgentError as error:
        return _print_failure(error, options)
    return _print_result(result, options)


def _check_options(options: dict[str, Any]) -> None:
    """Raises UsageError for options that do not go together, or name no verdict."""
    from agent.answer.check_result import VERDICTS

    if unknown := [name for name in options["fail_on"] if name not in VERDICTS]:
        raise UsageError(
            f"--fail-on: {unknown[0]!r} is not a verdict.", f"Use some of: {', '.join(VERDICTS)}."
        )
    if options["report"] is None and not (options["resume"] or options["replay"]):
        raise UsageError("No report was given.", "Name its file, or - for standard input.")


def _read_body(options: dict[str, Any]) -> bytes | None:
    """What the argument names; None where a journal holds the report. Raises UsageError."""
    from agent.calls.input_file import read_bytes, unreadable
    from agent.documents.reports.reader import MAX_BYTES

    name = options["report"]
    if name in (None, "-"):
        return shell.require_stdin().read(MAX_BYTES + 1) if name else None
    try:
        return read_bytes(Path(name), MAX_BYTES)
    except OSError as error:
        raise unreadable(Path(name), error) from None


def _read_report(body: bytes | None, options: dict[str, Any]) -> CitedReport | None:
    from agent.documents.reports.reader import read_report

    if body is None:
        return None
    name = options["name"] or options["report"].removeprefix("-")
    return read_report(body, name, options["form"] or "")


def _build_result(run: Run) -> CheckResult:
    from agent.answer.check_result import build_check_result

    if run.research.events and not run.is_check:
        raise UsageError("That run checked no report.", "Name another run.")
    return build_check_result(run.answer())


def _print_estimate(settings: Settings, request: RunRequest) -> int:
    from agent.run.check_run import check_settings, check_topic
    from agent.run.estimate import estimate

    if request.report is None:
        raise UsageError("No report was given.", "Name its file, or - for standard input.")
    figures = estimate(check_topic(request.report), check_settings(settings), request)
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
    if any(claim.verdict in options["fail_on"] for claim in result.claims):
        return 1
    return NOTHING_JUDGED if result.ok is None else 0


def _format(result: CheckResult, options: dict[str, Any], *, is_terminal: bool) -> str:
    from agent.answer import formats

    chosen = options["format"] or ("text" if is_terminal else "json")
    if chosen == "html":
        return formats.to_html(result)
    if chosen == "text":
        return formats.check_to_text(result, for_terminal=is_terminal)
    return result.model_dump_json(indent=2) + "\n"


def _print_failure(error: AgentError, options: dict[str, Any]) -> int:
    """Print the result of a check that could not begin; returns the exit status."""
    from agent.answer.build import build_error_answer
    from agent.answer.check_result import build_check_result

    result = build_check_result(build_error_answer("", error))
    return _print_result(result, {**options, "out": None})


def _status_of(kind: str) -> int:
    status = shell.exit_status_of(kind)
    return COULD_NOT_RUN if status == 1 else status
