"""Many topics: a file of topics in, a line of JSON for each out.

The same command goes on where an earlier one ended.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from agent.cli import batches, shell
from agent.errors import Stopped, UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.run.batch.rows import OutputFile
    from agent.run.batch.runner import BatchSummary
    from agent.settings import Settings

EPILOG = """\b
TOPICS: .jsonl of {"id", "topic"}, .csv or .tsv with a column topic, or one
topic per line. With FILE, the same command continues after any end; remove
FILE to start over.

\b
Examples:
  RESEARCH_AGENT_RATE_LIMITS=gemini=300,serpapi=60 \\
    research-agent batch topics.txt --out answers.jsonl --concurrency 16

\b
Exit status: 0 all topics are answered; 1 some failed or were left, or it
could not run; 2 wrong usage; 130 interrupted.
"""


@shell.command(EPILOG, shell.fail_as_json)
@click.argument("topics", type=shell.PATH)
@click.option("--out", metavar="FILE", help="Write the answers here.  [default: stdout]")
@shell.batch_options("batch", "topic")
@click.option("--retry-failed", is_flag=True, help="Ask again what failed.")
@click.option("--in-order", is_flag=True, help="At the end, sort FILE in the order of TOPICS.")
@shell.options("strategy depth slots llm search mcp corpus offline no-cache trust-env lang")
def command(**options: Any) -> int:
    """Research the topics of a file: a line of JSON for each, progress on stderr.

    With --out standard output has a summary as one JSON object.
    """
    if options["in_order"] and not options["out"]:
        raise UsageError("--in-order sorts a file.", "Add --out FILE.")
    try:
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the summary's
            summary = _run(options)
    except KeyboardInterrupt:  # while the index of a corpus is built
        remedy = "Run the same command to continue."
        raise Stopped("The batch was stopped before it started.", remedy) from None
    if options["out"]:
        shell.print_json(summary.model_dump(mode="json"))
    return _exit_status(summary)


def _run(options: dict[str, Any]) -> BatchSummary:
    from agent.run.batch.rows import OutputFile
    from agent.run.batch.runner import Batch, sort_rows
    from agent.run.batch.topics import read_topics
    from agent.settings import make_request

    caps = batches.read_caps(options)
    topics, settings = read_topics(options["topics"]), _read_settings(options)
    request, concurrency = make_request(options), options["concurrency"]
    engine = batches.open_engine(options, settings)
    with TemporaryDirectory() as folder:
        output = OutputFile(Path(options["out"] or f"{folder}/answers.jsonl"))
        batch = Batch(topics, output, engine, request, caps, concurrency=concurrency)
        print_rows = (lambda: None) if options["out"] else _RowPrinter(output).print_new
        summary = batches.run_batch(
            batch, "\nStopping. Run the same command to continue.", print_rows
        )
        if options["in_order"] and not summary.left:
            sort_rows(topics, output)
    return summary


class _RowPrinter:
    """Prints the rows of an output file that it has not printed yet."""

    def __init__(self, output: OutputFile) -> None:
        self._output = output
        self._count = 0
        self._stdout = sys.__stdout__

    def print_new(self) -> None:
        """Print them, a line each. Raises OutputFailed."""
        import json

        for topic_id in [*self._output.index][self._count :]:
            with redirect_stdout(self._stdout):
                shell.print_text(json.dumps(self._output.read_row(topic_id)) + "\n")
            self._count += 1


def _read_settings(options: dict[str, Any]) -> Settings:
    """The settings of every run. Raises UsageError or NotConfigured where no run could be made."""
    from agent.run.models import make_models
    from agent.settings import load_options

    settings = load_options(options)
    max_usd = settings.max_usd if options["batch_usd"] is None else options["batch_usd"]
    make_models(settings.model_copy(update={"max_usd": max_usd}))
    return settings


def _exit_status(summary: BatchSummary) -> int:
    if summary.stopped:
        click.echo(f"{summary.left} topics are left: {summary.stopped.rstrip('.')}.", err=True)
    if summary.stopped == "interrupted":
        return shell.INTERRUPTED
    return 1 if summary.failed or summary.left else 0
