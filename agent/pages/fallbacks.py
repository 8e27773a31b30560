"""Fallbacks for a page that cannot be read, such as an archived copy, if the user allows them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, get_args

from agent.errors import ReadFailed
from agent.pages.wayback import COPY
from agent.state import Attempt, Outcome, Page, host_of

#: How a page says no to programs, or is lost: none is a refusal of ours.
LOST: frozenset[Outcome] = frozenset(
    (
        *("blocked", "rate_limited", "not_found", "unavailable"),
        *("timeout", "rejected", "empty", "invalid"),
    )
)
ANY: frozenset[Outcome] = frozenset(get_args(Outcome))


class Fallback(NamedTuple):
    """A way to read a page after it failed with one of these outcomes."""

    name: str
    read: Callable[[str], Page]
    outcomes: frozenset[Outcome]


@dataclass(frozen=True)
class FallbackReader:
    """Reads a page, else its first fallback that can be read; all attempts are recorded.

    `name`: of the first attempt; "" for the host of the page.
    """

    read: Callable[[str], Page]
    others: tuple[Fallback, ...]
    name: str = ""

    def __call__(self, url: str) -> Page:
        """The page, with the tries before it. Raises ReadFailed as the page itself does."""
        tried: list[Attempt] = []
        try:
            return _try(self.name or host_of(url), self.read, url, tried)
        except ReadFailed as error:
            for one in self.others:
                if error.outcome in one.outcomes:
                    try:
                        page = _try(one.name, one.read, url, tried)
                    except ReadFailed:
                        continue
                    return page.model_copy(update={"attempts": tuple(tried)})
            error.attempts = tuple(tried)
            if LOST in (one.outcomes for one in self.others):  # an archive was asked
                error.remedy = error.remedy.replace(COPY, "").strip()
            raise


def _try(name: str, read: Callable[[str], Page], url: str, tried: list[Attempt]) -> Page:
    """Read once, and record the attempt, or those that the reader recorded. Raises ReadFailed."""
    began = time.monotonic()
    note = partial(Attempt, what="page", provider=name)
    try:
        page = read(url)
    except ReadFailed as error:
        result = {"outcome": error.outcome, "detail": error.message, "remedy": error.remedy}
        own = note(**result, seconds=round(time.monotonic() - began, 3))
        tried.extend(error.attempts or (own,))
        raise
    own = note(outcome="ok", detail=url, seconds=round(time.monotonic() - began, 3))
    tried.extend(page.attempts or (own,))
    return page
