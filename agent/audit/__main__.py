"""Whether an answer stands: its schema, every page hash, offset, quote, marker and verdict.

No key, no network, unless `--fetch` asks whether the quotes are still on the live pages.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import __version__
from agent.errors import AgentError, UsageError
from agent.shell import ended

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer import Citation
    from agent.sources.pages.fetch import PageReader

Json = dict[str, Any]
EXAMPLES = """\b
Examples:
  python -m agent.audit answer.json | jq .failures
  python -m agent.audit answer.json --fetch | jq .live
  python -m agent.audit --diff monday.json tuesday.json
"""


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("answers", nargs=-1, type=click.Path(path_type=Path), metavar="ANSWER.json")
@click.option("--journal", type=click.Path(path_type=Path), help="The run's journal, if it moved.")
@click.option("--fetch", is_flag=True, help="Read the live pages: which quotes have gone since?")
@click.option("--diff", is_flag=True, help="Compare two answers: audit --diff OLD.json NEW.json.")
@click.version_option(__version__, prog_name="agent.audit")
def command(answers: tuple[Path, ...], journal: Path | None, fetch: bool, diff: bool) -> int:
    """Check an answer against the pages that its journal holds; JSON on standard output.

    Where this version made the answer, its journal is replayed as well ("replayed": true), and
    every value must be what that gives.

    Exit status: 0 everything stands (with --diff: nothing changed), 1 something does not, 2 wrong
    usage or a file that cannot be read.
    """
    from agent.audit.changes import changes
    from agent.run.proof import audit

    try:
        if len(answers) != (2 if diff else 1):
            raise UsageError("One answer is audited, two are compared.", "See --help.")
        if diff:
            found = changes(*(_read(file) for file in answers))
        else:
            found = audit(_read(answers[0]), journal)
            found |= {"live": _live(found, answers[0])} if fetch else {}
    except AgentError as error:
        found = {"ok": False, "error": {"message": error.message, "remedy": error.remedy}}
        return _print(found) or 2
    return _print(found) or (0 if found["ok"] else 1)


def _live(found: Json, file: Path) -> list[Json]:
    """For each citation, whether its quote is on the live page: `there`, `gone` or `unread`."""
    from agent.answer import Answer
    from agent.settings import load
    from agent.sources.sources import page_reader

    if not found["ok"]:
        return []
    answer = Answer.model_validate(_read(file))
    reader = page_reader(load(os.environ))
    try:
        return [_still(citation, reader) for citation in answer.citations]
    finally:
        reader.close()


def _still(citation: Citation, reader: PageReader) -> Json:
    from agent.errors import ReadFailed
    from agent.evidence import anchor
    from agent.state import Hit, Source

    row = {"id": citation.id, "url": citation.url, "quote": citation.quote}
    try:
        page = reader(citation.url)
    except ReadFailed as error:
        return {**row, "now": "unread", "detail": error.message}
    source = Source(n=citation.id, page=page, hit=Hit(url=citation.url))
    return {**row, "now": "there" if anchor(citation.quote, source) else "gone", "detail": ""}


def _read(file: Path) -> Json:
    try:
        value = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Check the path.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{file} is not JSON.", "Name the file of an answer.") from None
    if not isinstance(value, dict):
        raise UsageError(f"{file} is not an answer object.", "Name the file of an answer.")
    return value


def _print(found: Json) -> int:
    sys.stdout.write(json.dumps(found, ensure_ascii=True, indent=2) + "\n")
    sys.stdout.flush()
    return 0


def _refuse(error: click.ClickException) -> int:
    _print({"ok": False, "error": {"message": error.format_message(), "remedy": "See --help."}})
    return 2


def main() -> None:
    """The command."""
    ended(command, _refuse)


if __name__ == "__main__":
    main()
