"""The library of runs: list, show, trace, search, name, delete and export them."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell
from agent.errors import UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from collections.abc import Callable

    from agent.answer.schema import Answer
    from agent.run.run_library import Library

EPILOG = """\b
Examples:
  research-agent runs list olympic
  research-agent runs search "hosts of the Olympics" --since 2026-01-31
  research-agent runs search "what my own files say" --documents | jq .[0].url
  research-agent runs tag monday sport 2026
  research-agent runs export monday --out m.zip

\b
JSON in a pipe, a table on a terminal. RUN is what `list` names, or `last`.
Exit status: 0 done; 1 a run that gives no answer; 2 wrong usage, no such run.
"""
LONGEST_TITLE = 70  # characters, in a table


@click.group(
    cls=shell.CommandGroup, epilog=EPILOG, context_settings=shell.HELP, invoke_without_command=True
)
@click.pass_context
def command(ctx: click.Context) -> int:
    """List, show, search, name, delete and export the runs on this machine.

    Alone it lists the newest.
    """
    return 0 if ctx.invoked_subcommand else int(ctx.invoke(list_runs))


@command.command("list")
@click.argument("words", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
def list_runs(words: tuple[str, ...], limit: int) -> int:
    """The newest runs, or those with these words in question, title or tags."""
    found = _open().list_newest(limit, " ".join(words))
    rows = [run.model_dump(exclude={"request_id"}) for run in found]
    return _show(rows, _line_of)


@command.command()
@click.argument("run")
@click.option("--format", "form", type=click.Choice(["json", "text", "markdown"]))
def show(run: str, form: str | None) -> int:
    """The answer of a run, from its journal: no key, no network."""
    from agent.answer.formats import to_markdown, to_terminal, to_text
    from agent.answer.json_format import to_json
    from agent.run.stored_answer import read_answer

    answer = read_answer(_open().require(run))
    writers: dict[str, Callable[[Answer], str]] = {"json": to_json, "markdown": to_markdown}
    writers["text"] = to_terminal if sys.stdout.isatty() else to_text
    shell.print_text(writers[form or ("text" if sys.stdout.isatty() else "json")](answer))
    return 1 if answer.error else 0


@command.command()
@click.argument("run")
def trace(run: str) -> int:
    """A line for each call of a run, as its journal has it: when, what, whom, tokens, price."""
    from agent.run.trace import trace_lines

    shell.print_text("\n".join((*trace_lines(_open().require(run)), "")))
    return 0


@command.command()
@click.argument("query")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Read on this date or later.")
@click.option("--documents", is_flag=True, help="Also find documents of a corpus.")
def search(query: str, since: Any, documents: bool) -> int:
    """The pages that earlier runs read which fit a query, with the day of reading."""
    from agent.run.retriever import open_run_pages
    from agent.settings import load_settings

    names = ("runs:all" if documents else "runs",)
    settings = load_settings(search=names, since=since and since.date().isoformat())
    with closing(open_run_pages(settings)) as pages:
        keys = {"url", "title", "snippet", "retrieved_at"}
        rows = [hit.model_dump(include=keys) for hit in pages.search(query)]
    return _show(rows, lambda row: (row["retrieved_at"][:10], row["title"], row["url"]))


@command.command()
@click.argument("run")
@click.argument("title")
def name(run: str, title: str) -> int:
    """Give a run a title; an empty one takes it away."""
    return _label(run, title=title)


@command.command()
@click.argument("run")
@click.argument("tags", nargs=-1)
def tag(run: str, tags: tuple[str, ...]) -> int:
    """Give a run these tags in place of those that it has."""
    return _label(run, tags=tags)


@command.command()
@click.argument("runs", nargs=-1, required=True)
def delete(runs: tuple[str, ...]) -> int:
    """Delete runs with their journals, and what the index of `search` has of them."""
    library = _open()
    names = dict.fromkeys(library.require(run).stem for run in runs)
    for name in names:
        library.delete(name)
    rows = [{"id": name, "deleted": True} for name in names]
    return _show(rows, lambda row: (row["id"], "deleted"))


@command.command()
@click.argument("run")
@click.option("--out", type=shell.PATH, help="Write it here.  [default: standard output]")
def export(run: str, out: Path | None) -> int:
    """A run as one file with answer, journal, pages and hashes: `audit` checks it elsewhere."""
    from agent.run.export import write_export

    shell.require_writable(out)
    if out is None and sys.stdout.isatty():
        raise UsageError("An export is a ZIP file: no terminal shows it.", f"Add --out {run}.zip")
    data = write_export(_open().require(run))
    if out:
        shell.write_file(out, data)
    else:
        shell.print_text(data)
    return 0


def _line_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Name, time, status, price and question of a run, and its tags."""
    from agent.answer.messages import format_usd

    price = "" if row["usd"] is None else format_usd(row["usd"])
    at = row["started_at"][:16].replace("T", " ")
    status, title = row["ended"] or "no answer", row["title"] or row["question"]
    shown = title[:LONGEST_TITLE]
    return (row["id"], at, f"{status:24}", f"{price:>6}", shown, *row["tags"])


def _open() -> Library:
    from agent.run.run_library import Library
    from agent.settings import load_settings

    return Library(load_settings())


def _label(run: str, **new: Any) -> int:
    from pydantic import ValidationError

    from agent.run.run_library import NewTitleAndTags, read_kept_run, write_labels

    journal = _open().require(run)
    try:
        labels = NewTitleAndTags.model_validate(new)
    except ValidationError:
        remedy = "A title has at most 200 characters, a tag 50; there are at most 20 tags."
        raise UsageError("The title or a tag cannot be used.", remedy) from None
    write_labels(journal, labels)
    kept = read_kept_run(journal)
    assert kept
    return _show([kept.model_dump()], lambda row: (row["id"], row["title"], *row["tags"]))


def _show(rows: list[dict[str, Any]], cells: Any) -> int:
    """The rows as JSON, or on a terminal a line each."""
    import json

    from agent.state import sanitize_for_display

    if not sys.stdout.isatty():
        shell.print_text(json.dumps(rows, indent=2) + "\n")
        return 0
    lines = ["  ".join(map(sanitize_for_display, cells(row))) for row in rows]
    shell.print_text("\n".join([*lines, ""]) if lines else "Nothing was found.\n")
    return 0
