"""Rate limits of providers: how many requests and tokens all runs together may send in a window.

Requests are counted in a small file for each limit, under a lock. So a limit holds over all runs of
a process, over all processes that share the folder, and over a kill and a restart. `rate_window.py`
says when a request fits.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from agent.errors import OutsideError, UsageError
from agent.outside.file_lock import lock_file
from agent.outside.input_file import BINARY
from agent.outside.rate_window import SLICES, RateLimit, WindowState, record_refusal, reserve

#: Slices in which the store must return a reservation, of the `MAX_SEND_DELAY` that a request may
#: take in all. A later reservation is not used, but made again.
MAX_REPLY_DELAY = 1
#: Reservations for one request. The last is used however late it is: if all of them are late, then
#: they are late by about the same time, and the requests keep their distance.
MAX_RESERVATIONS = 3
_RULE = re.compile(r"([a-z]+(?::[^=,]+)?)=(\d+)(?:/(\d+))?")


def parse_rate_limits(rules: Sequence[str]) -> dict[str, RateLimit]:
    """The limits by name, from `gemini=300`, `gemini=300/1000000`, `gemini:MODEL=60`.

    A rule is `NAME=REQUESTS` or `NAME=REQUESTS/TOKENS`, for one window. Raises UsageError.
    """
    limits = {}
    for rule in rules:
        match = _RULE.fullmatch(rule.strip())
        if not match or not int(match[2]) or match[3] == "0":
            remedy = "Write gemini=300 (requests a minute), or gemini=300/1000000 with tokens."
            raise UsageError(f"RESEARCH_AGENT_RATE_LIMITS: {rule!r} is no limit.", remedy)
        limits[match[1]] = RateLimit(int(match[2]), int(match[3]) if match[3] else None)
    return limits


def is_writable_folder(folder: Path) -> bool:
    """Whether a folder takes files. It is made if it does not exist."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


class CounterStore(Protocol):
    """Counts requests for everybody who shares it."""

    def reserve(self, name: str, tokens: int) -> float:
        """Reserve a request under a limit, and return 0; or the seconds until the next attempt."""

    def report_refusal(self, name: str, seconds: float) -> None:
        """Count a 429 of a provider that asks to wait for `seconds`."""


class FileCounterStore:
    """Counts in files of one folder, one for each limit. Any number of processes may share it."""

    def __init__(
        self,
        folder: Path,
        limits: dict[str, RateLimit],
        window: float = 60.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`window` is in seconds. `now` is wall time, which processes have in common."""
        self._folder = folder
        self._limits = limits
        self._window = window
        self._now = now

    def reserve(self, name: str, tokens: int) -> float:
        """Reserve a request under a limit, and return 0; or the seconds until the next attempt."""
        limit = self._limits[name]
        return self._update(name, lambda s: reserve(s, limit, tokens, self._now(), self._window))

    def report_refusal(self, name: str, seconds: float) -> None:
        """Count a 429 of a provider that asks to wait for `seconds`."""
        self._update(name, lambda s: (0.0, record_refusal(s, seconds, self._now(), self._window)))

    def _update(
        self, name: str, change: Callable[[WindowState], tuple[float, WindowState]]
    ) -> float:
        """Replace the state in a file, under its lock; returns what `change` returns with it."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may have been removed
        path = self._folder / f"{re.sub(r'[^a-z0-9.-]', '_', name)}-{self._window:g}.json"
        with ExitStack() as undo:
            file = os.open(path, os.O_RDWR | os.O_CREAT | BINARY, 0o600)
            undo.callback(os.close, file)
            if release := lock_file(file, path, wait=True):
                undo.callback(release)
            result, state = change(_parse_state(os.read(file, 100_000)))
            text = state.model_dump_json().encode()
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, text.ljust(8192) + b"\n")  # always longer than the text before
        return result


def _parse_state(text: bytes) -> WindowState:
    """The state in a file; the initial one if the file is empty, or cut off by a full disk."""
    try:
        return WindowState.model_validate(json.loads(text))
    except ValueError:
        return WindowState()


class RateLimits:
    """The rate limits that all runs of a process share.

    Those who wait for the same limit form a queue. Its first one asks the store.
    """

    def __init__(
        self, limits: dict[str, RateLimit], store: CounterStore, window: float = 60.0
    ) -> None:
        """`window`: that of the store, in seconds."""
        self.limits = limits
        self.store = store
        self._max_reply_seconds = MAX_REPLY_DELAY * window / SLICES
        self._queues = {name: threading.Lock() for name in limits}

    def wait(self, name: str, tokens: int) -> None:
        """Wait until a request of so many tokens may be sent under a limit."""
        with self._queues[name]:
            for _ in range(MAX_RESERVATIONS):
                if self._wait_for_reservation(name, tokens) <= self._max_reply_seconds:
                    break

    def _wait_for_reservation(self, name: str, tokens: int) -> float:
        """Wait for a reservation; the seconds that the store took to return it."""
        while True:
            began = time.monotonic()
            if not (wait := self.store.reserve(name, tokens)):
                return time.monotonic() - began
            time.sleep(wait)


def no_rate_limits() -> RateLimits:
    """No limits at all, for runs that send no requests."""
    return RateLimits({}, FileCounterStore(Path(), {}))


class RateLimiter:
    """The rate limiter of one run: its calls wait here before each request."""

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._waiting = 0  # requests that wait now
        self._waiting_since = 0.0
        self._seconds_waited = 0.0  # in earlier waits

    def acquire(self, provider: str, model: str = "", tokens: int = 0) -> None:
        """Wait until a request may be sent, by the limits of its model and of its provider."""
        for name in self._limit_names(provider, model):
            with self._measure_wait():
                self._limits.wait(name, tokens)

    def report_error(self, error: OutsideError, provider: str, model: str = "") -> None:
        """Slow down all who share the limits, if a request failed with a 429."""
        if error.outcome == "rate_limited":
            for name in self._limit_names(provider, model):
                self._limits.store.report_refusal(name, error.retry_after or 0.0)

    def is_limited(self, provider: str, model: str = "") -> bool:
        """Whether a limit applies to requests of a model or a provider."""
        return bool(self._limit_names(provider, model))

    def _limit_names(self, provider: str, model: str) -> list[str]:
        """The limits that apply."""
        names = [f"{provider}:{model}", provider]
        return [name for name in names if name in self._limits.limits]

    @contextmanager
    def _measure_wait(self) -> Iterator[None]:
        with self._lock:
            self._waiting_since = self._waiting_since if self._waiting else time.monotonic()
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._seconds_waited += time.monotonic() - self._waiting_since

    def seconds_waited(self) -> float:
        """Seconds in which at least one request of this run waited here."""
        with self._lock:
            current = time.monotonic() - self._waiting_since if self._waiting else 0.0
            return self._seconds_waited + current
