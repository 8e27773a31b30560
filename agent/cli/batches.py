"""What the commands of many runs share: their engine, their caps, and progress on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell
from agent.errors import UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.calls.budget import Caps
    from agent.run.batch.runner import Batch, BatchSummary, Engine
    from agent.settings import Settings

CAPS = ("seconds", "usd", "tokens", "calls")
LOG_INTERVAL = 30.0  # seconds between two lines of progress in a log or a pipe
TERMINAL_INTERVAL = 0.5  # the same on a terminal, where a line is written over


def read_caps(options: Mapping[str, Any]) -> Caps:
    """The caps of the whole batch; None where one is not given. Raises UsageError."""
    from agent.calls.budget import Caps

    caps = {name: options[f"batch_{name}"] for name in CAPS}
    for name, value in caps.items():
        if value is not None and not value > 0:  # nor is NaN
            fault = f"--max-{name} {value:g} allows nothing."
            raise UsageError(fault, "Give more than 0.")
    return Caps(**caps)


def open_engine(options: Mapping[str, Any], settings: Settings) -> Engine:
    """The engine that the options name. Raises UsageError, NotConfigured."""
    from agent.calls import spawn
    from agent.run.batch.local import LocalEngine
    from agent.run.resources import share_resources

    if options["address"] and options["engine"] != "ray":
        raise UsageError("--address is for a Ray cluster.", "Add --engine ray.")
    if options["engine"] == "ray":
        from agent.run.batch.cluster import RayEngine

        return RayEngine(settings, options["address"], options["concurrency"])
    # on a thread, so that Ctrl-C ends the wait for the index of a corpus, whatever it waits for
    resources = spawn(lambda: share_resources(settings)).result()
    return LocalEngine(settings, resources)


def run_batch(
    batch: Batch, message: str, on_rows: Callable[[], object] = lambda: None
) -> BatchSummary:
    """Run a batch to its end; the first Ctrl-C writes `message` and stops it."""
    line = BatchProgress(is_terminal=sys.stderr.isatty())

    def show(*, is_last: bool = False) -> None:
        line.show(batch, is_last=is_last)
        on_rows()

    with shell.interruptible(message, batch.stop):
        summary = batch.run(show)
        show(is_last=True)
    return summary


class BatchProgress:
    """How far a batch is: a line that changes on a terminal, now and then a line elsewhere."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._is_terminal = is_terminal
        self._interval = TERMINAL_INTERVAL if is_terminal else LOG_INTERVAL
        self._next = -1.0  # monotonic seconds: when it is due

    def show(self, batch: Batch, *, is_last: bool = False) -> None:
        """Write the line to standard error, if one is due."""
        if self.is_due(time.monotonic()) or is_last:
            rewrite = "\r\033[K" if self._is_terminal else ""
            is_whole = is_last or not self._is_terminal
            click.echo(f"{rewrite}{batch.describe_progress()}", err=True, nl=is_whole)

    def is_due(self, now: float) -> bool:
        """Whether a line is due; then the next is an interval later."""
        if now < self._next:
            return False
        self._next = now + self._interval
        return True
