"""The parts that one run needs, composed and handed over as one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent.llm import Model
from agent.outside import Outside
from agent.outside.journal import Journal
from agent.outside.rate_limits import RateLimiter
from agent.run.calls import compose_calls
from agent.run.header import RunSpec
from agent.run.sources import Sources
from agent.strategies import Strategy
from agent.strategies.registry import build_strategy


class RunParts(NamedTuple):
    """The parts of one run."""

    spec: RunSpec
    journal: Journal
    outside: Outside
    strategy: Strategy


def make_parts(
    spec: RunSpec,
    journal: Journal,
    models: Sequence[Model],
    sources: Sources,
    rate_limiter: RateLimiter,
) -> RunParts:
    """Compose the calls of a run and the strategy that makes them."""
    outside = compose_calls(spec, journal, models, sources, rate_limiter)
    strategy = build_strategy(outside, spec.settings, spec.request)
    return RunParts(spec, journal, outside, strategy)
