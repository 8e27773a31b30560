"""Progress lines of a batch: updated in place on a terminal, written rarely to a log or a pipe."""

from __future__ import annotations

from datetime import timedelta

import click

from agent.answer.phrases import format_usd
from agent.run.batch.batch import Progress

LOG_INTERVAL = 30.0  # seconds between two lines in a log or a pipe
TERMINAL_INTERVAL = 0.5  # the same on a terminal


class ProgressReporter:
    """Limits how often a progress line is shown."""

    def __init__(self, *, terminal: bool) -> None:
        self.terminal = terminal
        self._interval = TERMINAL_INTERVAL if terminal else LOG_INTERVAL
        self._last_shown = 0.0 if terminal else -1.0  # -1: a log gets its first line at once

    def show(self, progress: Progress) -> None:
        """Write the line to standard error, if one is due."""
        self._write(self.next_line(progress), ends=False)

    def show_last(self, progress: Progress) -> None:
        """Write the last line to standard error."""
        self._write(format_progress(progress), ends=True)

    def _write(self, text: str, *, ends: bool) -> None:
        """A terminal has one line that changes."""
        if text:
            rewrite = "\r\033[K" if self.terminal else ""
            click.echo(f"{rewrite}{text}", err=True, nl=ends or not self.terminal)

    def next_line(self, progress: Progress) -> str:
        """The line to show now; empty: none is due."""
        if self._last_shown >= 0 and progress.seconds - self._last_shown < self._interval:
            return ""
        self._last_shown = progress.seconds
        return format_progress(progress)


def format_progress(progress: Progress) -> str:
    """Format how far a batch is, as one line for people."""
    done = f"{progress.done}/{progress.topics} done"
    failed = f", {progress.failed} failed" if progress.failed else ""
    usd = "" if progress.usd is None else f", {format_usd(progress.usd)}"
    eta = "" if progress.eta is None else f", {timedelta(seconds=int(progress.eta))} left"
    return f"{done}{failed}, {progress.in_flight} under way{usd}{eta}"
