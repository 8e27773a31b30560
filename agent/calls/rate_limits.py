"""Rate limits of providers: how many requests and tokens all runs together may send in a window.

pyrate-limiter counts them in a SQLite file for each limit, so a limit holds over all processes that
share the folder, and over a restart.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from agent.errors import UsageError

if TYPE_CHECKING:
    from pyrate_limiter import Limiter


class RateLimit(NamedTuple):
    """The most requests and tokens in one window. `tokens` None: no limit of tokens."""

    requests: int
    tokens: int | None = None


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


class RateLimits(Protocol):
    """The rate limits that runs share."""

    limits: dict[str, RateLimit]

    def wait(self, name: str, tokens: int) -> None:
        """Wait until a request of so many tokens may be sent under a limit."""


class SharedRateLimits:
    """Rate limits that are counted in a folder. Any number of processes may share it."""

    def __init__(self, limits: dict[str, RateLimit], folder: Path, window: float = 60.0) -> None:
        """`window` is in seconds."""
        self.limits, self._folder, self._window = limits, folder, window
        self._lock = threading.Lock()
        self._limiters: dict[str, Limiter] = {}

    def wait(self, name: str, tokens: int) -> None:
        """Wait until a request of so many tokens may be sent under a limit.

        One of more tokens than the limit takes all of them. Raises UsageError for a file that
        cannot be used.
        """
        limit = self.limits[name]
        try:
            self._limiter(name, limit.requests).try_acquire(name)
            if limit.tokens and tokens:
                tokens = min(tokens, limit.tokens)
                self._limiter(f"{name}-tokens", limit.tokens).try_acquire(name, tokens)
        except sqlite3.Error as error:
            fault = f"Requests cannot be counted in {self._folder}: {error}."
            raise UsageError(fault, "Remove that folder, or name another with CACHE_DIR.") from None

    def _limiter(self, name: str, most: int) -> Limiter:
        with self._lock:
            if name not in self._limiters:
                self._limiters[name] = self._open(name, most)
            return self._limiters[name]

    def _open(self, name: str, most: int) -> Limiter:
        from pyrate_limiter import Limiter, Rate, SQLiteBucket

        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._folder / f"{re.sub(r'[^a-z0-9.-]', '_', name)}-{self._window:g}.sqlite"
        rates = [Rate(most, int(self._window * 1000))]
        return Limiter(SQLiteBucket.init_from_file(rates, db_path=str(file), use_file_lock=True))


def no_rate_limits() -> RateLimits:
    """No limits at all, for runs that send no requests."""
    return SharedRateLimits({}, Path())


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

    def is_limited(self, provider: str, model: str = "") -> bool:
        """Whether a limit applies to requests of a model or a provider."""
        return bool(self._limit_names(provider, model))

    def _limit_names(self, provider: str, model: str) -> list[str]:
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
