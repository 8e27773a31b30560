"""The search chain: providers in order, and the one place that decides what a refusal means."""

from __future__ import annotations

from typing import Protocol

from agent.research import Hit


class Provider(Protocol):
    """One search engine."""

    name: str

    def search(self, query: str) -> tuple[Hit, ...]:
        """Hits, best first. Raises SearchFailed with the outcome of this one try."""
        ...
