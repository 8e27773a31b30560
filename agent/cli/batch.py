"""Many topics: a file of topics in, a line of JSON for each out.

The same command goes on where an earlier one ended.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell
from agent.errors import Stopped

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.run.batch.batch import BatchSummary
    from agent.settings import Settings

EPILOG = """\b
TOPICS: .jsonl of {"id", "topic"}, .csv or .tsv with a column topic (and id),
or a topic a line; without an id, the number of the line. FILE gets a line for
each topic as it ends: the answer object, and the id. The same command goes on
after any end: what has a line is not done again, what is half done goes on
from its journal. Remove FILE to begin anew.

\b
Examples:
  research-agent batch topics.jsonl --out answers.jsonl --concurrency 16
  RESEARCH_AGENT_RATE_LIMITS=gemini=300,serpapi=60 \\
    research-agent batch topics.txt --out answers.jsonl
  jq -r '[.id, .status, .answer] | @tsv' answers.jsonl

\b
The first Ctrl-C leaves what is under way half done, for the same command to
go on with. Where a key is refused or credit is used up, nothing more is
begun: mend it, and give the same command. Exit status: 0 all topics are
answered; 1 some failed, or were left because of that or of a cap of the
batch, or it could not run; 2 wrong usage; 130 interrupted.
"""


@shell.command(EPILOG, shell.fail_as_json)
@click.argument("topics", type=shell.PATH)
@click.option("--out", required=True, metavar="FILE")
@shell.batch_options("batch", "topic")
@click.option("--retry-failed", is_flag=True, help="Do again what failed, and its failed calls.")
@click.option("--in-order", is_flag=True, help="At the end, put FILE into the order of TOPICS.")
@shell.options("strategy depth slots llm search mcp corpus offline no-cache trust-env lang")
def command(**options: Any) -> int:
    """Research the topics of a file; a summary as JSON on stdout, progress on stderr."""
    try:
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the summary's
            summary = _run(options)
    except KeyboardInterrupt:  # while the index of a corpus is built
        remedy = "The same command goes on."
        raise Stopped("The batch was stopped before it began.", remedy) from None
    shell.print_json(summary.model_dump(mode="json"))
    return _exit_status(summary)


def _run(options: dict[str, Any]) -> BatchSummary:
    from agent.run.batch.batch import Batch, ProgressReporter, open_engine, read_caps, sort_rows
    from agent.run.batch.output import OutputFile
    from agent.run.batch.topics import read_topics
    from agent.settings import make_request

    caps = read_caps(options)
    topics, settings = read_topics(options["topics"]), _read_settings(options)
    request, concurrency = make_request(options), options["concurrency"]
    engine = open_engine(options, settings)
    output = OutputFile(Path(options["out"]))
    batch = Batch(topics, output, engine, request, caps, concurrency=concurrency)
    reporter = ProgressReporter(terminal=sys.stderr.isatty())
    with shell.interruptible("\nStopping; the same command goes on.", batch.stop):
        summary = batch.run(reporter.show)
        reporter.show(batch.progress(), is_last=True)
        if options["in_order"] and not summary.left:
            sort_rows(topics, output)
    return summary


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
