"""What a strategy is to the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from agent.state import Event, Research


class Strategy(Protocol):
    """A way from a topic to an answer: an order of steps.

    Raises Halt where a cap of the budget or the user ends the gathering. The run then calls
    `finish`.
    """

    name: str

    def __call__(self, research: Research) -> Iterator[Event]:
        """Run the steps; the last event is the answer."""
        ...

    def finish(self, research: Research) -> Iterator[Event]:
        """After a halt: the best answer from what is known, with no further search or page."""
        ...
