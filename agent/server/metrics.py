"""What Prometheus is told of this process' runs."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from agent.serving.live import Live
from agent.serving.runs import Runs

KIND = CONTENT_TYPE_LATEST
SECONDS = (0.1, 0.3, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
OUTCOMES = ("complete", "partial", "insufficient", "error", "cancelled")


class Metrics:
    """Counts in a registry of its own; `count` is called with each run as it ends."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._runs = Counter("agent_runs", "Runs that ended.", ["outcome"], registry=own)
        self._seconds = Histogram(
            "agent_run_seconds", "Seconds of whole runs.", registry=own, buckets=SECONDS
        )
        self._steps = Counter(
            "agent_step_seconds", "Seconds until each event of runs.", ["step"], registry=own
        )
        self._calls = Counter(
            "agent_calls", "Outside calls.", ["what", "provider", "outcome"], registry=own
        )
        self._tokens = Counter("agent_tokens", "Tokens of models.", ["direction"], registry=own)
        self._usd = Counter("agent_usd", "US dollars, where a price is known.", registry=own)
        self._refused = Counter("agent_refused", "Requests without room.", registry=own)
        for outcome in OUTCOMES:  # known before the first one: a rate needs a beginning
            self._runs.labels(outcome)
        self._load = Gauge("agent_runs_in_progress", "Runs by state.", ["state"], registry=own)

    def count(self, live: Live) -> None:
        """Count a run that ended."""
        answer = live.answer
        if answer is None:
            return
        self._runs.labels("cancelled" if live.cancelled else answer.status).inc()
        self._seconds.observe(live.seconds)
        for step, seconds in live.steps.items():
            self._steps.labels(step).inc(seconds)
        for attempt in answer.attempts:
            self._calls.labels(attempt.what, attempt.provider, attempt.outcome).inc()
        self._tokens.labels("input").inc(answer.usage.input_tokens)
        self._tokens.labels("output").inc(answer.usage.output_tokens)
        self._usd.inc(answer.usage.usd or 0.0)

    def refuse(self) -> None:
        """Count a request for which there was no room."""
        self._refused.inc()

    def exposed(self, runs: Runs) -> bytes:
        """The text that Prometheus reads."""
        for state, number in zip(("running", "queued"), runs.load, strict=True):
            self._load.labels(state).set(number)
        return generate_latest(self._registry)
