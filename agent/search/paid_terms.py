"""Search providers that cost money: their terms, and what a run may spend on them."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from agent.calls.budget import Budget, Cost
from agent.errors import NOTHING_SPENT, Spent
from agent.state import Attempt, Hit, SearchResults

NOT_ASKED = ("skipped", "no_key")
log = logging.getLogger(__name__)


class Terms(NamedTuple):
    """On which terms a provider is asked. `cost`: the most of one query; None: not known."""

    notice: str  # for the user, before the first query of a run
    max_queries: int  # of a run
    cost: Cost | None


class PaidHits(NamedTuple):
    """The hits of a provider that costs money, or asks others, what they cost, and its tries."""

    hits: tuple[Hit, ...]
    spent: Spent = NOTHING_SPENT
    attempts: tuple[Attempt, ...] = ()


class PaidQueries:
    """Keeps the providers of one run to their terms and to the run's budget. Thread-safe."""

    def __init__(self) -> None:
        self.budget: Budget | None = None  # of the run, which is made after its sources
        self._counts: Counter[str] = Counter()
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def count_earlier(self, results: SearchResults) -> None:
        """Count the queries of an earlier part of the run, by the results of one search of it."""
        providers = [one.provider for one in results.attempts if one.outcome not in NOT_ASKED]
        with self._lock:
            self._counts.update(providers if results.usd != 0.0 else ())

    @contextmanager
    def reserve(self, name: str, terms: Terms | None) -> Iterator[str]:
        """Hold a query's cost while it is made. Yields why it must not be made; "" if it may."""
        refusal = self._begin(name, terms) if terms else ""
        try:
            yield refusal
        finally:
            if terms and terms.cost and self.budget and not refusal:
                self.budget.release(terms.cost)

    def _begin(self, name: str, terms: Terms) -> str:
        """Count a query; why it must not be made, or ""."""
        with self._lock:
            if self._counts[name] >= terms.max_queries:
                return f"not asked: it is limited to {terms.max_queries} queries a run"
            if self.budget and not self.budget.reserve_cost(terms.cost):
                return "not asked: the budget leaves too little, or its price is not known"
            self._counts[name] += 1
            is_first = name not in self._told
            self._told.add(name)
        if is_first:
            log.warning(terms.notice)
        return ""
