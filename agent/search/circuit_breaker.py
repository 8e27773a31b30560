"""A circuit breaker: which search providers a run asks no more, and which cool down for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.errors import NON_RETRYABLE
from agent.state import Attempt

ANSWERED = ("ok", "empty")


# Seconds for which a provider is not asked. The values are conventions, not measured.
COOLDOWN = 30.0  # after a 429 without `Retry-After`, or after MAX_FAILURES in a row
MAX_FAILURES = 3
BRIEF_COOLDOWN = 2.0  # after such a 429, when no other provider answers
LONGEST_COOLDOWN = 300.0  # the most that a `Retry-After` can ask for
MAX_WAIT = 5.0  # of a query, when no provider answers


@dataclass
class _ProviderState:
    last_failure: Attempt | None = None
    is_disabled: bool = False  # for the rest of the run
    is_cooldown_requested: bool = False  # by the service: a 429, or a `Retry-After`
    ready_at: float = 0.0  # the end of the cooldown
    retry_at: float = 0.0  # when it may be asked before that end, if no other provider answers
    failures: int = 0  # in a row


@dataclass
class CircuitBreaker:
    """The state of each provider, by name. Thread-safe."""

    now: Callable[[], float]
    _states: dict[str, _ProviderState] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, attempt: Attempt, retry_after: float | None) -> None:
        """Record an attempt. `retry_after` is in seconds; None: the service did not say.

        A success does not end a cooldown: its request may be older than the refusal.
        """
        with self._lock:
            state = self._states.setdefault(attempt.provider, _ProviderState())
            if attempt.outcome in ANSWERED:
                state.failures = 0
                return
            state.last_failure = attempt
            state.failures += 1
            state.is_disabled |= attempt.outcome in NON_RETRYABLE
            self._start_cooldown(state, attempt.outcome == "rate_limited", retry_after)

    def skipped_attempt(self, provider: str) -> Attempt | None:
        """The attempt to list for a provider that is skipped now; None if it may be asked."""
        with self._lock:
            state = self._states.get(provider, _ProviderState())
            cools_down = self.now() < state.ready_at
        failure = state.last_failure
        if failure is None or not (state.is_disabled or cools_down):
            return None
        reason = "not asked again" if state.is_disabled else "not asked, paused after failures"
        detail = f"{reason}: {failure.detail}"
        detail = failure.detail if failure.outcome == "no_key" else detail  # it was never asked
        return failure.model_copy(update={"detail": detail, "seconds": 0.0})

    def retry_delay(self, provider: str, already_asked: bool) -> float | None:
        """Seconds until a provider may be retried when no provider answered; None: not at all.

        A provider that merely failed is retried at once, unless this query `already_asked` it.
        """
        with self._lock:
            state = self._states.get(provider, _ProviderState())
            if state.is_disabled or (already_asked and not state.is_cooldown_requested):
                return None
            return max(0.0, state.retry_at - self.now())

    def _start_cooldown(
        self, state: _ProviderState, is_rate_limited: bool, retry_after: float | None
    ) -> None:
        state.is_cooldown_requested = is_rate_limited or retry_after is not None
        if not state.is_cooldown_requested and state.failures < MAX_FAILURES:
            return
        now = self.now()
        wanted = COOLDOWN if retry_after is None else retry_after
        length = min(wanted, LONGEST_COOLDOWN)
        state.ready_at = max(state.ready_at, now + length)
        brief = BRIEF_COOLDOWN if is_rate_limited else 0.0
        # from this failure alone: a longer cooldown that is under way does not delay the retry
        state.retry_at = max(state.retry_at, now + (brief if retry_after is None else length))
