"""A table of many things: rows found or given, each cell with the quote that supports it."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from agent.cli import batches, shell
from agent.errors import Stopped, UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer.table_result import Column, TableAnswer
    from agent.run.batch.rows import OutputFile
    from agent.run.batch.runner import BatchSummary
    from agent.run.table_research import TableRun
    from agent.settings import Settings

EPILOG = """\b
NAMES: a list, "LEGO, NVIDIA"; what the rows are, "EU countries"; or a file
of names. FILE ends in .json, .csv, .xlsx or .html. The same command
continues after any end; remove FILE.rows.jsonl to start over.

\b
Examples:
  research-agent table "EU countries" --rows 27 \\
    --columns capital,population:integer,joined:date --out eu.xlsx
  research-agent table "LEGO, NVIDIA" --columns founded:integer

\b
Exit status: 0 every row was researched; 1 some failed or are left, or it
could not run; 2 wrong usage; 3 no rows were found; 4 with --strict, a cell
is empty; 130 interrupted.
"""
NO_ROWS = 3  # exit status
EMPTY_CELL = 4
STOPPING = "\nStopping. Run the same command to continue."


@shell.command(EPILOG, shell.fail_as_json)
@click.argument("names")
@click.option("--columns", required=True, callback=shell.split_commas, help="Facts to find.")
@click.option("--rows", type=click.IntRange(1, 1000), help="How many rows to find.")
@click.option("--out", type=shell.PATH, metavar="FILE", help="Write the table to this file.")
@shell.batch_options("table", "row")
@click.option("--retry-failed", is_flag=True, help="Ask again what failed.")
@click.option("--strict", is_flag=True, help="Exit with 4 if a cell is empty.")
@shell.options("depth llm search corpus offline no-cache trust-env lang")
def command(names: str, columns: tuple[str, ...], **options: Any) -> int:
    """Find the same facts of many things; JSON on stdout, progress on stderr."""
    from agent.answer.table_formats import FORMATS

    out: Path | None = options["out"]
    if out and out.suffix.lower() not in FORMATS:
        raise UsageError(f"{out}: unknown format.", f"End its name in {', '.join(FORMATS)}.")
    shell.require_writable(out)
    try:
        return _run(names, columns, options)
    except KeyboardInterrupt:  # while the rows are looked for, or the index of a corpus is built
        remedy = "Run the same command to continue."
        raise Stopped("The table was stopped before its rows.", remedy) from None


def _run(names: str, columns: tuple[str, ...], options: dict[str, Any]) -> int:
    from agent.run.batch.rows import OutputFile
    from agent.run.table_research import parse_columns
    from agent.settings import load_options

    parsed, settings = parse_columns(columns), load_options(options)
    output = OutputFile(_rows_file(names, columns, options["out"], settings))
    with closing(output):
        table_run = _prepare(names, parsed, output, settings, options)
        if table_run is None:
            click.echo(f"No rows were found for {names!r}. Give their names in a file.", err=True)
            return NO_ROWS
        summary, table = _fill(table_run, settings, options), table_run.table()
    if not (options["out"] or summary.left or summary.failed):
        output.path.unlink()  # what is only printed is found anew the next time
    _show(table, summary, options["out"])
    return _exit_status(table, summary, strict=options["strict"])


def _rows_file(names: str, columns: tuple[str, ...], out: Path | None, settings: Settings) -> Path:
    """The file of the rows: next to the table, or next to the runs where it is only printed."""
    import hashlib

    from agent.run.header import journal_path
    from agent.run.output_files import make_folder

    if out:
        return out.with_name(f"{out.name}.rows.jsonl")
    digest = hashlib.sha256(repr((names, columns)).encode()).hexdigest()[:16]
    file = journal_path(settings, digest).parent / "tables" / f"{digest}.jsonl"
    make_folder(file.parent)
    return file


def _prepare(
    names: str,
    columns: tuple[Column, ...],
    output: OutputFile,
    settings: Settings,
    options: dict[str, Any],
) -> TableRun | None:
    """The rows to research; None where none were found. Raises KeyboardInterrupt, if stopped."""
    from agent.run.table_research import TableRun, begin_rows, found_table, read_names, split_names

    file = Path(names)
    if file.suffix.lower() in (".csv", ".tsv", ".txt") or file.is_file():
        return TableRun(file.stem, columns, read_names(file), output)
    if "," in names and (rows := split_names(names)):
        return TableRun(names, columns, rows, output)
    run, stopped = begin_rows(names, settings, f"{output.batch_name}-rows"), Event()

    def stop() -> None:
        stopped.set()
        run.stop()

    with shell.interruptible(STOPPING, stop):
        table_run = found_table(names, columns, output, run, options["rows"])
    if stopped.is_set():
        raise KeyboardInterrupt
    return table_run


def _fill(table_run: TableRun, settings: Settings, options: dict[str, Any]) -> BatchSummary:
    caps = batches.read_caps(options)
    engine = batches.open_engine(options, table_run.shape(settings))
    batch = table_run.begin(engine, caps, options["concurrency"])
    summary = batches.run_batch(batch, STOPPING)
    return summary.model_copy(update={"usage": table_run.usage()})


def _show(table: TableAnswer, summary: BatchSummary, out: Path | None) -> None:
    from agent.answer.table_formats import FORMATS, to_table_json, to_table_terminal

    if out:
        shell.write_file(out, FORMATS[out.suffix.lower()](table))
        counts = Counter(cell.status for cell in table.cells)
        result = {"rows": len(table.rows), "cells": dict(sorted(counts.items()))}
        keys = {"left", "failed", "stopped", "usage", "seconds"}
        result |= summary.model_dump(mode="json", include=keys)
        shell.print_json({**result, "warnings": list(table.warnings), "out": str(out)})
    elif sys.__stdout__ and sys.__stdout__.isatty():
        shell.print_text(to_table_terminal(table))
    else:
        shell.print_text(to_table_json(table))


def _exit_status(table: TableAnswer, summary: BatchSummary, *, strict: bool) -> int:
    if summary.stopped:
        click.echo(f"{summary.left} rows are left: {summary.stopped.rstrip('.')}.", err=True)
    if summary.stopped == "interrupted":
        return shell.INTERRUPTED
    if summary.failed or summary.left:
        return 1
    return EMPTY_CELL if strict and any(cell.value is None for cell in table.cells) else 0
