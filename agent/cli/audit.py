"""The audit of an answer: its schema, every page hash, offset, quote, marker and verdict.

It needs no key and no network. Only `--fetch` reads the live pages, to look for the quotes there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell
from agent.errors import AgentError, UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from collections.abc import Callable

    from agent.answer.schema import Citation
    from agent.pages.wayback import WebArchive
    from agent.state import Json, Page

EPILOG = """\b
Examples:
  research-agent audit answer.json | jq .failures
  research-agent audit answer.json --fetch | jq .live
  research-agent audit --diff monday.json tuesday.json
  research-agent audit monday.zip
"""


def _print_failure(error: AgentError) -> int:
    if sys.stdout.isatty():
        shell.fail_in_lines(error)
    else:
        shell.print_json({"ok": False, "error": {"message": error.message, "remedy": error.remedy}})
    return 2


@shell.command(EPILOG, _print_failure)
@click.argument("answers", nargs=-1, type=shell.PATH, metavar="ANSWER.json|EXPORT.zip")
@click.option("--journal", type=shell.PATH, help="The run's journal, if it moved.")
@click.option("--fetch", is_flag=True, help="Read the live pages: which quotes are gone?")
@click.option("--diff", is_flag=True, help="Compare two answers: audit --diff OLD.json NEW.json.")
def command(answers: tuple[Path, ...], journal: Path | None, **options: Any) -> int:
    """Check an answer against the pages that its journal holds; JSON on standard output.

    An export of `research-agent runs` is checked by the hashes in it too.
    Every other value must be that of the answer which the journal holds ("stored": true).

    Exit status: 0 every check passed (with --diff: nothing changed), 1 one failed, 2 wrong
    usage or a file that cannot be read.
    """
    from agent.answer.schema import upgrade_answer
    from agent.run.changes import compare_answers

    if len(answers) != (2 if options["diff"] else 1):
        fault = "Give one answer to audit, or two to compare with --diff."
        raise UsageError(fault, "See research-agent audit --help.")
    try:
        if options["diff"]:
            report = compare_answers(*(upgrade_answer(_read_answer(file)) for file in answers))
        else:
            report = _audit(answers[0], journal)
            report |= {"live": _check_live_pages(report, answers[0])} if options["fetch"] else {}
    except AgentError as error:
        return _print_failure(error)
    if sys.stdout.isatty() and "failures" in report:
        shell.print_text(_describe(report))
    else:
        shell.print_json(report)
    return 0 if report["ok"] else 1


def _describe(report: Json) -> str:
    """The result in a sentence; a line for each failure, and each quote that is gone."""
    from agent.answer.counts import format_count
    from agent.state import sanitize_for_display

    counts = report["checked"].items()
    checked = ", ".join(format_count(n, what.removesuffix("s")) for what, n in counts if n)
    lines = [f"Everything holds: {checked or 'nothing was cited'}."]
    if failures := report["failures"]:
        lines = [f"{len(failures)} of these cannot be confirmed ({checked}):"]
        lines += [f"  {failure['where']}: {failure['what']}" for failure in failures]
    rows = report.get("live", [])
    lines += [f"  {row['now']}: {row['url']}" for row in rows if row["now"] != "there"]
    return "".join(f"{sanitize_for_display(line)}\n" for line in lines)


def _audit(file: Path, journal: Path | None) -> Json:
    from agent.run.audit_answer import audit_answer
    from agent.run.export import audit_export, is_export

    if is_export(file):
        return audit_export(file)
    return audit_answer(_read_answer(file), journal)


def _check_live_pages(report: Json, file: Path) -> list[Json]:
    """For each citation, whether its quote is on the live page: `there`, `gone` or `unread`.

    Of a page that is lost the archived copy is named, and whether the quote is there.
    """
    from agent.answer.schema import Answer, upgrade_answer
    from agent.pages.fallbacks import LOST
    from agent.pages.wayback import WebArchive
    from agent.run.page_readers import open_page_reader
    from agent.settings import load_settings

    if not report["ok"]:
        return []
    if "topic" not in _read_answer(file):
        raise UsageError("--fetch works for answers only.", "Check the report again.")
    answer = Answer.model_validate(upgrade_answer(_read_answer(file)))
    settings = load_settings()
    reader = open_page_reader(settings)
    archive = WebArchive(settings.base_url("archive"), reader, reader.check_public)
    try:
        rows = [(citation, _check_live_page(citation, reader)) for citation in answer.citations]
        for one, row in rows:
            if row.get("outcome") in LOST:
                row |= _look_in_archive(one, archive)
        return [row for _, row in rows]
    finally:
        reader.close()


def _check_live_page(citation: Citation, read: Callable[[str], Page]) -> Json:
    from agent.errors import ReadFailed

    row = {"id": citation.id, "url": citation.url, "quote": citation.quote}
    row |= {"text_from": citation.text_from} if citation.text_from else {}
    try:
        page = read(citation.url)
    except ReadFailed as error:
        return {**row, "now": "unread", "outcome": error.outcome, "detail": error.message}
    return {**row, "now": "there" if _holds(page, citation) else "gone", "detail": ""}


def _look_in_archive(citation: Citation, archive: WebArchive) -> Json:
    """The archived copy of a page that cannot be read any more; nothing where there is none."""
    from agent.errors import ReadFailed

    try:
        copy = archive.read(citation.url)
    except ReadFailed:
        return {}
    return {"archived": copy.url, "in_archive": "there" if _holds(copy, citation) else "gone"}


def _holds(page: Page, citation: Citation) -> bool:
    from agent.evidence import anchor_quote
    from agent.state import Hit, Source

    source = Source(n=citation.id, page=page, hit=Hit(url=citation.url))
    return anchor_quote(citation.quote, source) is not None


def _read_answer(file: Path) -> Json:
    """The JSON object of a file, or the answer of an export. Raises UsageError."""
    from agent.calls.input_file import read_json
    from agent.run.export import is_export, read_exported_answer

    remedy = "Name an answer's file."
    value = read_exported_answer(file) if is_export(file) else read_json(file, remedy)
    if not isinstance(value, dict):
        raise UsageError(f"{file} is not an answer object.", "Name the file of an answer.")
    return value
