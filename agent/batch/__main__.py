"""Many questions: a file of topics in, a line of JSON for each out; the same command goes on."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import __version__
from agent.errors import AgentError, UsageError
from agent.shell import ended, listed

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.batch.batch import Batch, Engine, Summary
    from agent.batch.mirror import Mirror
    from agent.batch.progress import Teller
    from agent.settings import Settings

NOTES = """\b
TOPICS: .jsonl of {"id", "topic"}, .csv or .tsv with a column topic (and id),
or a topic a line; without an id, the number of the line. FILE gets a line for
each topic as it ends: the answer object, and the id. The same command goes on
after any end: what has a line is not done again, what is half done goes on
from its journal. Remove FILE to begin anew. Where FILE is a URL (pip install
'llm-research-agent[fsspec]' s3fs), rows and journals are copied there, for
any machine to go on with; let one command write there at a time.

\b
Examples:
  python -m agent.batch topics.jsonl --out answers.jsonl --concurrency 16
  RATE_LIMITS=gemini=300,serpapi=60 \\
    python -m agent.batch topics.txt --out answers.jsonl
  jq -r '[.id, .status, .answer] | @tsv' answers.jsonl

\b
The first Ctrl-C leaves what is under way half done, for the same command to
go on with. Where a key is refused or credit is used up, nothing more is
begun: mend it, and give the same command. Exit status: 0 all topics are
answered; 1 some failed, or were left because of that or of a cap of the
batch, or it could not run; 2 wrong usage; 130 interrupted.
"""
ENGINES = ("local", "ray")


@click.command(epilog=NOTES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("topics", type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="FILE", help="A path, or a URL like s3://b/f.jsonl.")
@click.option("--concurrency", type=click.IntRange(1, 1000), default=8, show_default=True)
@click.option("--engine", type=click.Choice(ENGINES), default="local", show_default=True)
@click.option("--address", help="Of a Ray cluster; else one is started here.")
@click.option("--max-seconds", type=float, help="Time for this command.")
@click.option("--max-usd", type=float, help="Dollars for the whole batch.")
@click.option("--max-tokens", type=int, help="Tokens for the whole batch.")
@click.option("--max-calls", type=int, help="Outside calls for the whole batch.")
@click.option("--each-max-seconds", type=float, help="Time for one topic.")
@click.option("--each-max-usd", type=float, help="Dollars for one topic.")
@click.option("--each-max-tokens", type=int, help="Tokens for one topic.")
@click.option("--each-max-calls", type=int, help="Outside calls for one topic.")
@click.option("--retry-failed", is_flag=True, help="Do again what failed, and its failed calls.")
@click.option("--in-order", is_flag=True, help="At the end, put FILE into the order of TOPICS.")
@click.option("--strategy", type=click.Choice(["slots", "report", "loop", "auto"]))
@click.option("--depth", type=click.Choice(["quick", "normal", "deep"]))
@click.option("--slots", callback=listed, help="Facts to find for every topic, with commas.")
@click.option("--llm", callback=listed, help="Models in order: gemini, openai:MODEL, extractive.")
@click.option("--search", callback=listed, help="Search providers in order.")
@click.option("--corpus", type=click.Path(path_type=Path), help="Search this folder or .jsonl.")
@click.option("--offline", is_flag=True, help="No key, no model, no network: quote the corpus.")
@click.option("--no-cache", is_flag=True, help="Search and read anew what is in the cache.")
@click.option("--lang", help="Language of the answers.  [default: each question's own]")
@click.version_option(__version__, prog_name="agent.batch")
def command(**options: Any) -> int:
    """Research the topics of a file; a summary as JSON on stdout, progress on stderr."""
    try:
        with redirect_stdout(sys.stderr):  # whatever a library prints is not the summary
            summary = _run(options)
    except AgentError as error:
        return _refuse(error)
    _say(summary.model_dump(mode="json"))
    return _status(summary)


def _run(options: dict[str, Any]) -> Summary:
    from agent.batch.batch import Batch, in_order
    from agent.batch.progress import line
    from agent.batch.rows import Rows
    from agent.batch.topics import read
    from agent.outside.budget import Caps

    caps = Caps(**{name: _cap(options, name) for name in ("seconds", "usd", "tokens", "calls")})
    topics, settings = read(options["topics"]), _settings(options)
    mirror = _mirror(options["out"], settings)
    engine = _engine(options, settings, mirror)
    rows = mirror.rows() if mirror else Rows(Path(options["out"]))
    batch = Batch(topics, rows, engine, settings, caps, concurrency=options["concurrency"])
    _interruptible(batch)
    teller = _teller()
    summary = batch.run(lambda progress: _show(teller.due(progress), teller))
    _show(line(batch.progress()), teller, last=True)
    if options["in_order"] and not summary.left:
        in_order(topics, rows)
    if mirror:
        mirror.end()
    return summary.model_copy(update={"out": options["out"]})


def _cap(options: dict[str, Any], name: str) -> Any:
    value = options[f"max_{name}"]
    if value is not None and not value > 0:  # nor is NaN
        raise UsageError(f"--max-{name} {value:g} leaves room for nothing.", "Give more than 0.")
    return value


def _settings(options: dict[str, Any]) -> Settings:
    """Settings of every run. Raises what no topic could be researched with."""
    from agent.run.models import chosen_models
    from agent.settings import here

    given = {name: options[name] for name in "strategy depth slots llm search corpus lang".split()}
    for name in ("seconds", "usd", "tokens", "calls"):
        given[f"max_{name}"] = options[f"each_max_{name}"]
    given["cache"] = False if options["no_cache"] else None
    settings = here(offline=options["offline"], retry_failed=options["retry_failed"], **given)
    spends = settings.max_usd if options["max_usd"] is None else options["max_usd"]
    chosen_models(settings.model_copy(update={"max_usd": spends}))
    return settings


def _mirror(out: str, settings: Settings) -> Mirror | None:
    """What copies the batch to a URL; None for a path."""
    if "://" not in out:
        return None
    from agent.batch.mirror import Mirror

    return Mirror(out, settings)


def _engine(options: dict[str, Any], settings: Settings, mirror: Mirror | None) -> Engine:
    from agent.batch.local import Local
    from agent.run.calls import shared

    if options["address"] and options["engine"] != "ray":
        raise UsageError("--address is that of a Ray cluster.", "Add --engine ray.")
    if options["engine"] == "ray":
        from agent.batch.cluster import Cluster

        url = mirror.url if mirror else None
        return Cluster(settings, options["address"], options["concurrency"], url)
    return Local(shared(settings), mirror)


def _interruptible(batch: Batch) -> None:
    """The first Ctrl-C or SIGTERM leaves what is under way to its journals, the second ends."""

    def interrupt(*_: object) -> None:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: os._exit(130))
        click.echo("\nStopping; the same command goes on.", err=True)
        batch.stop()

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, interrupt)


def _teller() -> Teller:
    from agent.batch.progress import Teller

    return Teller(terminal=sys.stderr.isatty())


def _show(text: str, teller: Teller, *, last: bool = False) -> None:
    """Progress on standard error: on a terminal one line that changes."""
    if text:
        again = "\r\033[K" if teller.terminal else ""
        click.echo(f"{again}{text}", err=True, nl=last or not teller.terminal)


def _status(summary: Summary) -> int:
    if summary.stopped:
        click.echo(f"{summary.left} topics are left: {summary.stopped.rstrip('.')}.", err=True)
    if summary.stopped == "interrupted":
        return 130
    return 1 if summary.failed or summary.left else 0


def _refuse(error: AgentError) -> int:
    click.echo(f"Error: {error.message}\n{error.remedy}", err=True)
    _say({"error": {"kind": error.kind, "message": error.message, "remedy": error.remedy}})
    return 2 if error.kind == "usage" else 1


def _say(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
    sys.stdout.flush()


def main() -> None:
    """The command. Runs under way are left to their journals."""
    ended(command, lambda error: _refuse(UsageError(error.format_message(), "See --help.")))


if __name__ == "__main__":
    main()
