"""How the providers stand in a run: who is not asked again, and who rests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.errors import FINAL
from agent.state import Attempt

ANSWERED = ("ok", "empty")


@dataclass(frozen=True)
class Rests:
    """How long providers rest, in seconds. They are conventions, not measured.

    `usual`: after a 429 that does not say how long, or `strikes` failures in a row; `brief`: after
    such a 429 when nobody else answers. `longest`: whatever `Retry-After` says. `patience`: what a
    query waits at most when nobody else answers.
    """

    usual: float = 30.0
    brief: float = 2.0
    longest: float = 300.0
    strikes: int = 3
    patience: float = 5.0


@dataclass
class _Standing:
    last: Attempt | None = None  # the failure that counts
    for_good: bool = False
    told: bool = False  # the service itself asked for the rest
    ready_at: float = 0.0
    at_need: float = 0.0  # when it may be asked although it rests
    failures: int = 0  # in a row


@dataclass
class Standings:
    """The standing of each provider, by name. Safe between threads."""

    rests: Rests
    now: Callable[[], float]
    _all: dict[str, _Standing] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, attempt: Attempt, retry_after: float | None) -> None:
        """Remember how a provider did. A success does not end a rest that a service asked for."""
        with self._lock:
            standing = self._all.setdefault(attempt.provider, _Standing())
            if attempt.outcome in ANSWERED:
                standing.failures = 0
                return
            standing.last = attempt
            standing.failures += 1
            standing.for_good |= attempt.outcome in FINAL
            self._rest(standing, attempt.outcome == "rate_limited", retry_after)

    def barred(self, provider: str) -> Attempt | None:
        """Why a provider is not asked now, as a row for the record; None when it may be asked."""
        with self._lock:
            standing = self._all.get(provider, _Standing())
            resting = self.now() < standing.ready_at
        if standing.last is None or not (standing.for_good or resting):
            return None
        why = "not asked again" if standing.for_good else "not asked, it rests"
        first = standing.last.outcome == "no_key"  # nobody was asked the first time either
        detail = standing.last.detail if first else f"{why}: {standing.last.detail}"
        return standing.last.model_copy(update={"detail": detail, "seconds": 0.0})

    def wait(self, provider: str, asked: bool) -> float | None:
        """Seconds after which to ask a provider after all, since nobody answered; None: not.

        One that only failed is asked at once, unless it was `asked` for this very query.
        """
        with self._lock:
            standing = self._all.get(provider, _Standing())
            if standing.for_good:
                return None
            if asked and not standing.told:
                return None
            return max(0.0, standing.at_need - self.now())

    def _rest(self, standing: _Standing, limited: bool, retry_after: float | None) -> None:
        now, standing.told = self.now(), limited or retry_after is not None
        if not standing.told and standing.failures < self.rests.strikes:
            return
        length = min(self.rests.usual if retry_after is None else retry_after, self.rests.longest)
        standing.ready_at = max(standing.ready_at, now + length)
        brief = self.rests.brief if limited else 0.0
        need = now + (brief if retry_after is None else length)  # not the longer rest of before
        standing.at_need = max(standing.at_need, need)
