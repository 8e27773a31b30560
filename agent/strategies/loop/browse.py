"""Browse: reads the best unread results of a round's searches and finds the passages that help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.outside import Read
from agent.settings import Settings
from agent.state import Event, Hit, Research
from agent.steps.web_search import read_pages, salvage_pages


@dataclass(frozen=True)
class Browse:
    """Reads the untried hits of a round in parallel, by rank, each page once."""

    read: Read
    settings: Settings

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from read_pages(self.read, self._choose_hits(research), research)

    def salvage(self, research: Research) -> Iterator[Event]:
        """After a halt: those of the round's pages that need no further reading."""
        yield from salvage_pages(self.read, self._choose_hits(research), research)

    def _choose_hits(self, research: Research) -> list[Hit]:
        return research.untried_hits_by_rank(self.settings.effort.pages_per_step)
