"""What stands in for a page that cannot be read, where the user allows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from agent.errors import ReadFailed
from agent.pages.download import host_of
from agent.state import Attempt, Outcome, Page

#: How a page says no to programs, and how it is lost: neither is a refusal of ours.
REFUSED: frozenset[Outcome] = frozenset({"blocked", "rate_limited"})
LOST: frozenset[Outcome] = REFUSED.union(
    ("not_found", "unavailable", "timeout", "rejected", "empty", "invalid")
)


class StandIn(NamedTuple):
    """A way to read a page after it failed with one of these outcomes."""

    name: str
    read: Callable[[str], Page]
    outcomes: frozenset[Outcome]


@dataclass(frozen=True)
class StandIns:
    """Reads a page, else what stands in for it: the first that can. All tries are told."""

    read: Callable[[str], Page]
    others: tuple[StandIn, ...]

    def __call__(self, url: str) -> Page:
        """The page, with the tries before it. Raises ReadFailed as the page itself does."""
        tried: list[Attempt] = []
        try:
            return _try(host_of(url), self.read, url, tried)
        except ReadFailed as error:
            for one in self.others:
                if error.outcome in one.outcomes:
                    try:
                        page = _try(one.name, one.read, url, tried)
                    except ReadFailed:
                        continue
                    return page.model_copy(update={"attempts": tuple(tried)})
            error.attempts = tuple(tried)
            raise


def _try(name: str, read: Callable[[str], Page], url: str, tried: list[Attempt]) -> Page:
    """Read by one way, and note how that went. Raises ReadFailed."""
    began = time.monotonic()
    note = partial(Attempt, what="page", provider=name)
    try:
        page = read(url)
    except ReadFailed as error:
        told = {"outcome": error.outcome, "detail": error.message, "remedy": error.remedy}
        tried.append(note(**told, seconds=round(time.monotonic() - began, 3)))
        raise
    tried.append(note(outcome="ok", detail=url, seconds=round(time.monotonic() - began, 3)))
    return page
