"""How long a group of calls is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class WaitLimits:
    """How long calls are waited for, in seconds. Time spent waiting for rate limits is left out.

    A call that takes longer than `timeout` is given up. After two thirds of a group have ended, the
    others are given up when they take `patience` longer than those, or twice as long as those,
    whichever is later; and not while a browser renders one of them.
    """

    timeout: float
    patience: float
    rate_limit_wait: Callable[[], float] = lambda: 0.0  # of all calls of this run so far
    is_rendering: Callable[[], bool] = lambda: False


class GroupDeadline:
    """When the wait for a group of calls is over.

    `slowest_recalled`: seconds that the slowest call from the journal took when it was made. The
    others get at least as long.
    """

    def __init__(
        self,
        flights: Sequence[Future[Any]],
        limits: WaitLimits,
        slowest_recalled: Callable[[], float],
    ) -> None:
        self._flights = flights
        self._limits = limits
        self._slowest_recalled = slowest_recalled
        self._start = self._clock()
        self._most_ended_after: float | None = None  # seconds until two thirds had ended
        self._rendered_until = 0.0

    def _clock(self) -> float:
        return time.monotonic() - self._limits.rate_limit_wait()

    def outcome(self) -> Literal["timeout", "missed", ""]:
        """The outcome of a call of the group that has not ended by now; "": the wait goes on."""
        seconds = self._clock() - self._start
        if seconds > self._limits.timeout:
            return "timeout"
        if self._most_ended_after is None:
            ended, size = sum(flight.done() for flight in self._flights), len(self._flights)
            if not 3 * ended >= 2 * size > 2:
                return ""
            self._most_ended_after = seconds
        if self._limits.is_rendering():
            self._rendered_until = seconds
        grace = max(self._limits.patience, self._most_ended_after, self._slowest_recalled())
        end = max(self._most_ended_after + grace, self._rendered_until + self._limits.patience)
        return "missed" if seconds > end else ""
