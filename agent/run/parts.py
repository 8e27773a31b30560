"""What one run is made of: the one value that everything it needs arrives in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent.llm import Model
from agent.outside import Outside
from agent.outside.journal import Journal
from agent.outside.limits import Turns
from agent.run.calls import compose_calls
from agent.settings import Settings
from agent.sources.sources import Sources
from agent.strategies import Strategy
from agent.strategies.assembly import assemble


class Parts(NamedTuple):
    """The parts of one run, composed."""

    settings: Settings
    journal: Journal
    outside: Outside
    strategy: Strategy


def make_parts(
    settings: Settings,
    journal: Journal,
    models: Sequence[Model],
    sources: Sources,
    turns: Turns | None = None,
) -> Parts:
    """A run's three calls, wrapped, and the strategy that uses them.

    Without `turns`, calls wait by the limits that every run on this machine shares.
    """
    outside = compose_calls(settings, journal, models, sources, turns)
    return Parts(settings, journal, outside, assemble(outside, settings))
