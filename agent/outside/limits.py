"""How often a provider may be asked: requests and tokens in any minute, by all runs together.

What was sent is counted in a small file for each provider, under a lock: so a limit holds over all
runs of a process, over all processes that share the directory, and over a kill and a restart. The
minute (the window) is cut into 120 slices of wall time; a request may go if those of the last 120
whole slices, of three more, and of the one under way leave room. So no window of that length ever
holds more, however it lies, and a request may arrive up to three slices later than it was counted;
that costs four of 124 parts of the throughput. A turn that takes a slice to be told is not used but
taken anew: who counts may be another machine, or a busy one. In one slice goes no more than a tenth
above the mean: a quiet minute is not followed by a burst.

A 429 takes the rate to seven tenths, at most once in a twelfth of the window, and keeps everybody
waiting as long as the service says; a quarter of the full rate comes back in each window.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from agent.errors import UsageError
from agent.state import Frozen

SLICES = 120
LATE = 3  # slices that a request may take from where it is counted to its provider
TOLD = 1  # slices of that in which whoever waits must learn of its turn
TURNS = 3  # the last is used however late: if all are, they are late alike, and nothing bunches
ABOVE_MEAN = 1.1  # what a slice may hold, in mean slices
FEWER, LOWEST, BACK = 0.7, 0.1, 0.25  # a 429: rate times this, never below; back in each window
ONE_CUT = 1 / 12  # of a window: requests under way together are refused together
LONGEST_REST = 600.0  # seconds that a refusal may ask everybody to wait
RULE = re.compile(r"([a-z]+(?::[^=,]+)?)=(\d+)(?:/(\d+))?")


class Rate(NamedTuple):
    """The most in one window; None: no limit."""

    requests: int
    tokens: int | None = None


class Slice(Frozen):
    """What was sent in one slice of wall time, which has a number."""

    n: int
    requests: int = 0
    tokens: int = 0


class Sent(Frozen):
    """What is known of a provider: what was sent lately, and how it refused."""

    slices: tuple[Slice, ...] = ()
    share: float = 1.0  # of the rate, as of `cut`
    cut: float = 0.0  # when a 429 last lowered it, in wall time
    rest: float = 0.0  # nobody goes before this, in wall time


def rates(rules: Sequence[str]) -> dict[str, Rate]:
    """Rules like `gemini=300`, `gemini=300/1000000`, `gemini:MODEL=60`: requests/tokens.

    Raises UsageError.
    """
    found = {}
    for rule in rules:
        match = RULE.fullmatch(rule.strip())
        if not match or not int(match[2]) or match[3] == "0":
            remedy = "Write gemini=300 (requests a minute), or gemini=300/1000000 with tokens."
            raise UsageError(f"RATE_LIMITS: {rule!r} is no limit.", remedy)
        found[match[1]] = Rate(int(match[2]), int(match[3]) if match[3] else None)
    return found


def writable(folder: Path) -> bool:
    """Whether a folder is there, or can be made, and takes files."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


class Store(Protocol):
    """Who counts, for everybody who shares it."""

    def take(self, name: str, tokens: int) -> float:
        """Count a request of so many tokens and return 0, or say in how many seconds to ask."""
        ...

    def refuse(self, name: str, seconds: float) -> None:
        """A provider said 429, and to wait so long."""
        ...


class Files:
    """The store of one machine: a file for each provider. Any number of processes may share it."""

    def __init__(
        self,
        folder: Path,
        rates: dict[str, Rate],
        window: float = 60.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._rates = rates
        self._window = window
        self._now = now

    def take(self, name: str, tokens: int) -> float:
        """Count a request and return 0, or say in how many seconds to ask again."""
        with self._kept(name) as kept:
            now, rate = self._now(), self._rates[name]
            wait, kept[0] = taken(kept[0], rate, tokens, now, self._window)
        return wait

    def refuse(self, name: str, seconds: float) -> None:
        """A provider said 429."""
        with self._kept(name) as kept:
            kept[0] = refused(kept[0], seconds, self._now(), self._window)

    @contextmanager
    def _kept(self, name: str) -> Iterator[list[Sent]]:
        """What a file holds, in a list of one, and back to the file: nobody else meanwhile."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may have been removed
        path = self._folder / f"{re.sub(r'[^a-z0-9.-]', '_', name)}-{self._window:g}.json"
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            kept = [_sent(os.pread(file, 100_000, 0))]
            yield kept
            text = kept[0].model_dump_json().encode()
            os.pwrite(file, text.ljust(8192) + b"\n", 0)  # always longer than what was there
        finally:
            os.close(file)


def _sent(text: bytes) -> Sent:
    """A file that was cut off by a full disk counts as empty."""
    try:
        return Sent.model_validate(json.loads(text))
    except ValueError:
        return Sent()


def taken(sent: Sent, rate: Rate, tokens: int, now: float, window: float) -> tuple[float, Sent]:
    """0 and what was sent with one request more; or the seconds to wait, and what was sent."""
    width = window / SLICES
    n = math.floor(now / width)
    recent = tuple(each for each in sent.slices if n - SLICES - LATE <= each.n <= n)
    sent = sent.model_copy(update={"slices": recent})
    here = recent[-1] if recent and recent[-1].n == n else Slice(n=n)
    share = _share(sent, now, window)
    wait = max(sent.rest - now, 0.0)
    if not wait and not _fits(sent.slices, here, rate, share, tokens):
        wait = (n + 1) * width - now
    if wait > 0:
        return max(wait, 0.001), sent
    more = Slice(n=n, requests=here.requests + 1, tokens=here.tokens + tokens)
    others = tuple(each for each in recent if each.n != n)
    return 0.0, sent.model_copy(update={"slices": (*others, more)})


def _fits(slices: tuple[Slice, ...], here: Slice, rate: Rate, share: float, tokens: int) -> bool:
    """Whether one request more stays within the rate, over the window and in this slice."""
    requests = max(1, math.floor(rate.requests * share))
    if here.requests >= math.ceil(requests / SLICES * ABOVE_MEAN):
        return False
    if sum(each.requests for each in slices) >= requests:
        return False
    if rate.tokens is None:
        return True
    used = sum(each.tokens for each in slices)
    return not used or used + tokens <= rate.tokens * share  # one that is too big goes alone


def _share(sent: Sent, now: float, window: float) -> float:
    """The share of the rate: what a 429 left of it, and what has come back since."""
    return min(1.0, sent.share + BACK * max(0.0, now - sent.cut) / window)


def refused(sent: Sent, seconds: float, now: float, window: float) -> Sent:
    """What is known of a provider after a 429 that said to wait so long."""
    rest = max(sent.rest, now + min(max(seconds, 0.0), LONGEST_REST))
    if now - sent.cut < window * ONE_CUT:
        return sent.model_copy(update={"rest": rest})
    share = max(LOWEST, FEWER * _share(sent, now, window))
    return sent.model_copy(update={"share": share, "cut": now, "rest": rest})


class Limits:
    """The limits that all runs of a process share. Those who wait for a provider form one queue,
    whose first asks the store."""

    def __init__(self, rates: dict[str, Rate], store: Store, window: float = 60.0) -> None:
        """`window`: as of the store, in seconds."""
        self.rates = rates
        self.store = store
        self._soon = TOLD * window / SLICES
        self._turns = {name: threading.Lock() for name in rates}

    def wait(self, name: str, tokens: int) -> None:
        """Wait until a request of so many tokens may go."""
        with self._turns[name]:
            for _ in range(TURNS):
                if self._turn(name, tokens) <= self._soon:
                    break

    def _turn(self, name: str, tokens: int) -> float:
        """Wait for a turn; the seconds in which the store told it."""
        while True:
            asked = time.monotonic()
            if not (wait := self.store.take(name, tokens)):
                return time.monotonic() - asked
            time.sleep(wait)

    def refuse(self, name: str, seconds: float) -> None:
        """A provider said 429, and to wait so long."""
        self.store.refuse(name, seconds)


def unlimited() -> Limits:
    """For runs that ask nobody."""
    return Limits({}, Files(Path(), {}))


class Turns:
    """What one run asks before each request; `held` is how long it waited."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._waiting = 0
        self._since = 0.0
        self._held = 0.0

    def take(self, provider: str, model: str = "", tokens: int = 0) -> None:
        """Wait until this request may go: by the limit of the model, and that of the provider."""
        for name in self._named(provider, model):
            with self._clock():
                self._limits.wait(name, tokens)

    def note(self, error: Any, provider: str, model: str = "") -> None:
        """Tell everybody who shares the limits how a request was refused."""
        if error.outcome == "rate_limited":
            for name in self._named(provider, model):
                self._limits.refuse(name, error.retry_after or 0.0)

    def limited(self, provider: str, model: str = "") -> bool:
        """Whether there is a limit at all."""
        return bool(self._named(provider, model))

    def _named(self, provider: str, model: str) -> list[str]:
        names = [f"{provider}:{model}", provider]
        return [name for name in names if name in self._limits.rates]

    @contextmanager
    def _clock(self) -> Iterator[None]:
        with self._lock:
            self._since = self._since if self._waiting else time.monotonic()
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._held += time.monotonic() - self._since

    def held(self) -> float:
        """Seconds in which at least one request of this run waited for its turn."""
        with self._lock:
            return self._held + (time.monotonic() - self._since if self._waiting else 0.0)
