"""The Prometheus metrics of this process's runs."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from agent.server.live_run import LiveRun
from agent.server.run_manager import Runs

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS_BUCKETS = (0.1, 0.3, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
OUTCOMES = ("complete", "partial", "insufficient", "error", "cancelled")


class Metrics:
    """Counters in a registry of their own; `count_run` is to be called with each run as it ends."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._runs = Counter("agent_runs", "Runs that ended.", ["outcome"], registry=registry)
        self._seconds = Histogram(
            "agent_run_seconds",
            "Seconds of whole runs.",
            registry=registry,
            buckets=SECONDS_BUCKETS,
        )
        self._steps = Counter(
            "agent_step_seconds", "Seconds until each event of runs.", ["step"], registry=registry
        )
        self._calls = Counter(
            "agent_calls", "External calls.", ["what", "provider", "outcome"], registry=registry
        )
        self._tokens = Counter(
            "agent_tokens", "Tokens of models.", ["direction"], registry=registry
        )
        self._usd = Counter("agent_usd", "US dollars, where a price is known.", registry=registry)
        self._refused = Counter(
            "agent_refused", "Requests refused by a full server.", registry=registry
        )
        for outcome in OUTCOMES:  # from 0 on: a rate needs a first value
            self._runs.labels(outcome)
        self._load = Gauge("agent_runs_in_progress", "Runs by state.", ["state"], registry=registry)

    def count_run(self, live: LiveRun) -> None:
        """Count a run that has ended."""
        answer = live.answer
        if answer is None:
            return
        self._runs.labels("cancelled" if live.cancelled else answer.status).inc()
        self._seconds.observe(live.seconds)
        for step, seconds in live.step_seconds.items():
            self._steps.labels(step).inc(seconds)
        for attempt in answer.attempts:
            self._calls.labels(attempt.what, attempt.provider, attempt.outcome).inc()
        self._tokens.labels("input").inc(answer.usage.input_tokens)
        self._tokens.labels("output").inc(answer.usage.output_tokens)
        self._usd.inc(answer.usage.usd or 0.0)

    def count_refusal(self) -> None:
        """Count a request that was refused because the queue is full."""
        self._refused.inc()

    def render(self, runs: Runs) -> bytes:
        """The metrics in Prometheus's text format, with the runs in progress now."""
        for state, number in zip(("running", "queued"), runs.load, strict=True):
            self._load.labels(state).set(number)
        return generate_latest(self._registry)
