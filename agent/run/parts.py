"""The parts that one run needs, composed and handed over as one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.llm import Model
from agent.outside import Outside
from agent.outside.journal import Journal
from agent.outside.rate_limits import RateLimiter
from agent.run.calls import compose_calls
from agent.run.sources import Sources
from agent.settings import Settings
from agent.strategies import Strategy
from agent.strategies.registry import build_strategy

if TYPE_CHECKING:
    from agent.run.telemetry import SpanSender


class RunParts(NamedTuple):
    """The parts of one run. `span_sender` is None where no spans are sent."""

    settings: Settings
    journal: Journal
    outside: Outside
    strategy: Strategy
    span_sender: SpanSender | None


def make_parts(
    settings: Settings,
    journal: Journal,
    models: Sequence[Model],
    sources: Sources,
    rate_limiter: RateLimiter | None = None,
) -> RunParts:
    """Compose the calls of a run and the strategy that makes them.

    Without `rate_limiter`, the limits are those that all runs on this machine share.
    """
    outside = compose_calls(settings, journal, models, sources, rate_limiter)
    strategy = build_strategy(outside, settings)
    return RunParts(settings, journal, outside, strategy, _make_span_sender(settings))


def _make_span_sender(settings: Settings) -> SpanSender | None:
    """None without an endpoint, and for a replay, which makes no calls."""
    endpoint = settings.otel_endpoint.get_secret_value()
    if settings.replay or not endpoint:
        return None
    from agent.run.telemetry import SpanSender  # imported only where it is used

    return SpanSender(endpoint)
