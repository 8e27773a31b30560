"""The parts that one run needs, composed and handed over as one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.answer.addresses import CorpusAddresses
from agent.llm import Model
from agent.outside import Outside
from agent.outside.journal import Journal
from agent.outside.rate_limits import RateLimiter
from agent.outside.recording import edited_of
from agent.run.calls import compose_calls
from agent.run.sources import Sources
from agent.settings import Settings
from agent.state import Edited
from agent.steps.steer import Steer
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
    steer: Steer
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
    steer = _make_steer(settings, journal, outside)
    return RunParts(settings, journal, outside, strategy, steer, _make_span_sender(settings))


def _make_steer(settings: Settings, journal: Journal, outside: Outside) -> Steer:
    """What heeds the user; pages of a corpus are named as answers name them."""
    edit, corpus = edited_of(journal.header), CorpusAddresses(str(journal.header.get("corpus", "")))
    without, add = (
        tuple(map(corpus.expand_url, urls)) for urls in (settings.without, settings.add)
    )
    edited = Edited(run=edit.run if edit else "", without=without, add=add)
    ask, fallback, read, steering = (
        outside.ask,
        outside.fallback,
        outside.read,
        outside.steering,
    )
    return Steer(ask, fallback, read, steering, edited, settings.say, settings.lang)


def _make_span_sender(settings: Settings) -> SpanSender | None:
    """None without an endpoint, and for a replay, which makes no calls."""
    endpoint = settings.otel_endpoint.get_secret_value()
    if settings.replay or not endpoint:
        return None
    from agent.run.telemetry import SpanSender  # imported only where it is used

    return SpanSender(endpoint)
