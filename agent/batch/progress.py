"""How a batch tells how far it is: a line that changes on a terminal, a line now and then else."""

from __future__ import annotations

from agent.batch.batch import Progress

SPARSE = 30.0  # seconds between two lines where nobody watches
BUSY = 0.5  # the same on a terminal


class Teller:
    """Decides when a line is due, and what it says."""

    def __init__(self, *, terminal: bool) -> None:
        self.terminal = terminal
        self._every = BUSY if terminal else SPARSE
        self._last = 0.0 if terminal else -1.0

    def due(self, progress: Progress) -> str:
        """The line that is to be shown now; empty: none."""
        if self._last >= 0 and progress.seconds - self._last < self._every:
            return ""
        self._last = progress.seconds
        return line(progress)


def line(progress: Progress) -> str:
    """How far a batch is, in words."""
    done = f"{progress.done}/{progress.topics} done"
    failed = f", {progress.failed} failed" if progress.failed else ""
    usd = "" if progress.usd is None else f", ${progress.usd:.4f}"
    eta = "" if progress.eta is None else f", {span(progress.eta)} left"
    return f"{done}{failed}, {progress.under_way} under way{usd}{eta}"


def span(seconds: float) -> str:
    """A time in its two largest units."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
