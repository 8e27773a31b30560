"""Strategies: the order of the steps and when to stop, nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from agent.state import Event, Research


class Strategy(Protocol):
    """A way from a topic to an answer. Raises Halt where a limit or the user ends the gathering."""

    name: str

    def __call__(self, research: Research) -> Iterator[Event]:
        """Run the steps; the last event is the answer."""
        ...

    def finish(self, research: Research) -> Iterator[Event]:
        """After a halt: the best answer from what there is, with no further search or page."""
        ...
