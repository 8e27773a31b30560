"""Watches: a question is asked again on a schedule, and what has changed is reported."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell
from agent.errors import AgentError, NotConfigured, OutputFailed, UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.run.watch.watcher import Watch

EPILOG = """\b
QUESTION may be a file of questions, as for batch. The first run reports the
state, each later one only values that changed, with both quotes.

\b
Examples:
  research-agent watch "Who is the CEO of LEGO?" --slots ceo --every 1d
  research-agent watch questions.txt --every 12h --webhook https://...

\b
A webhook is signed with RESEARCH_AGENT_WEBHOOK_SECRET. --notify takes an
address of Apprise (pip install 'llm-research-agent[notify]'). Exit status:
0, also if nothing changed and after Ctrl-C; 1 could not run, or could not
tell; 2 wrong usage.
"""
UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
LEAST_SECONDS, MOST_SECONDS = 60, 366 * 86_400
RETRY_SECONDS = 60.0  # after a run that failed


def _read_interval(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Seconds, from 30m, 12h, 1d or 1w."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,6})([mhdw])", value.strip().lower())
    seconds = int(match[1]) * UNITS[match[2]] if match else 0
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise click.BadParameter("give a time from 1m to a year: 30m, 12h, 1d, 1w.")
    return float(seconds)


@shell.command(EPILOG)
@click.argument("question", metavar="QUESTION|FILE")
@click.option("--every", callback=_read_interval, metavar="TIME", help="30m, 12h, 1d, 1w.")
@click.option("--once", is_flag=True, help="Ask once and exit, for cron.")
@click.option("--webhook", metavar="URL", help="Post each change to this address, signed.")
@click.option("--notify", metavar="URL", help="Send each change to this Apprise address.")
@click.option("--out", type=shell.PATH, help="Append each change to this file, as JSON lines.")
@shell.options("strategy depth slots llm search corpus offline browser verify")
@shell.cap_options("a run")
@shell.options("trust-env lang")
def command(**options: Any) -> int:
    """Ask a question again and again, and speak only when the answer has changed."""
    if bool(options["every"]) == options["once"]:
        raise UsageError("Say when to ask: with --every, or with --once.", "Give one of them.")
    shell.require_stdout()
    stop = threading.Event()
    watches = _make_watches(options)
    interruptible = shell.interruptible("Stopping.", lambda: _stop(stop, watches))
    with redirect_stdout(sys.stderr), interruptible:  # libraries may print: stdout is for changes
        return _check_until(stop, watches, once=options["once"])


def _make_watches(options: dict[str, Any]) -> list[Watch]:
    """A watch for the question, or for each of a file. Raises UsageError, NotConfigured."""
    from agent.run.models import make_models
    from agent.run.watch.notifiers import make_notifiers
    from agent.run.watch.watcher import Watch
    from agent.settings import load_options
    from agent.settings.fields import RUN_SOURCES

    settings = load_options({**options, "cache": False})  # what is kept has not changed
    # nor has what earlier runs read
    search = tuple(name for name in settings.search if name.lower() not in RUN_SOURCES)
    settings = settings.model_copy(update={"search": search})
    make_models(settings)  # raises what no run could be made with
    places = {name: options[name] for name in ("out", "webhook", "notify")}
    notifiers = make_notifiers(settings, for_people=sys.stdout.isatty(), **places)
    questions = _read_questions(options["question"])
    return [Watch(question, settings, options["every"], notifiers) for question in questions]


def _read_questions(question: str) -> list[str]:
    """The question, or those of the file of this name. Raises UsageError."""
    from agent.run.batch.topics import read_topics

    try:
        is_file = Path(question).is_file()
    except (OSError, ValueError):  # too long for a name
        is_file = False
    if not is_file:
        return [question]
    topics = read_topics(Path(question))
    if fault := next((topic.fault for topic in topics if topic.fault), ""):
        raise UsageError(f"{question}: {fault}", "Correct the line.")
    return list(dict.fromkeys(topic.text for topic in topics))


def _stop(stop: threading.Event, watches: Sequence[Watch]) -> None:
    stop.set()
    for watch in watches:
        watch.stop()


def _check_until(stop: threading.Event, watches: Sequence[Watch], *, once: bool) -> int:
    """Check each watch when it is due, until it is stopped; returns the exit status."""
    status = 0
    while not stop.is_set():
        waits = []
        for watch in watches:
            if not stop.is_set():
                wait, failed = _check(watch)
                waits.append(wait)
                status = status or failed
        if once:
            return status
        stop.wait(max(0.0, min(waits, default=0.0)))
    return 0


def _check(watch: Watch) -> tuple[float, int]:
    """Check a watch, and report what went wrong; the seconds until it is due, and a status.

    Raises what no later try can mend.
    """
    try:
        wait = watch.check()
    except (UsageError, NotConfigured, OutputFailed):
        raise
    except AgentError as error:
        return RETRY_SECONDS, shell.fail_in_lines(error)
    if watch.note:
        shell.tell(f"Warning: {watch.note}")
    if watch.unchanged_since and sys.__stdout__ and sys.__stdout__.isatty():
        shell.tell(f"Unchanged since {watch.unchanged_since[:10]}.")
    for problem in watch.problems:
        if isinstance(problem, OutputFailed):
            raise problem
        shell.fail_in_lines(problem)
    return wait, 1 if watch.problems else 0
