"""DuckDuckGo and others through the `ddgs` package: no key needed, and no promise given."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from agent.errors import SearchFailed
from agent.outside import within
from agent.sources.search.hits import hit
from agent.sources.search.options import Options
from agent.state import Hit

LIMIT = 25  # results
TRIES = 3  # on a rate limit
PAUSE = 1.0  # seconds after the first, doubled after the second
ENGINE = 5  # seconds for one of its engines


class DuckDuckGo:
    """Format: https://pypi.org/project/ddgs/, an optional dependency.

    It is asked last: its order is shuffled, and "No results found." is also what it says when it is
    locked out (deedy5/ddgs#265), so that its emptiness proves nothing. `client` is its class DDGS.
    """

    name = "duckduckgo"

    def __init__(
        self,
        options: Options | None = None,
        timeout: float = 20.0,
        client: Callable[..., Any] | None = None,
        pause: Callable[[float], None] = time.sleep,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._options = options or Options()
        self._timeout = timeout
        self._client = client
        self._pause = pause
        self._today = today

    def search(self, query: str) -> tuple[Hit, ...]:
        """Pages, best first. Raises SearchFailed."""
        client = self._client or _installed()
        try:
            found = within(self._timeout, lambda: self._tried(client, query))
        except TimeoutError:
            raise _failed("timeout", f"no answer within {self._timeout:g} s") from None
        listed = found if isinstance(found, list) else []
        return tuple(
            one
            for row in listed
            if isinstance(row, dict)
            for one in hit(row.get("href"), row.get("title"), row.get("body"))
        )

    def _tried(self, client: Callable[..., Any], query: str) -> object:
        """The rows; `[]` where there are none. Exceptions are told by name: ddgs is optional."""
        for attempt in range(TRIES):
            try:
                timeout = max(1, min(ENGINE, int(self._timeout)))
                return client(timeout=timeout).text(**self._asked(query))
            except Exception as error:
                kind = type(error).__name__
                if kind != "RatelimitException":
                    return _translated(kind, str(error))
            if attempt < TRIES - 1:
                self._pause(PAUSE * 2**attempt)
        raise _failed("rate_limited", f"rate limited {TRIES} times")

    def _asked(self, query: str) -> dict[str, Any]:
        locale = self._options.locale(query)
        return {
            "query": self._options.with_sites(query),
            "region": f"{locale.gl or 'wt'}-{locale.language}",
            "timelimit": self._options.span(self._today())[:1] or None,
            "max_results": min(self._options.max_results, LIMIT),
        }


def _translated(kind: str, text: str) -> list[object]:
    if "No results" in text:
        return []
    if "timed out" in text or "Timeout" in kind:
        raise _failed("timeout", "its engines did not answer in time")
    raise _failed("unavailable", f"its engines failed ({kind})")


def _failed(outcome: Any, detail: str) -> SearchFailed:
    return SearchFailed(detail, "Wait a while, or add another provider.", outcome=outcome)


def _installed() -> Callable[..., Any]:
    """The class DDGS. `no_key` where it is not installed: nor does asking again change that."""
    import importlib

    try:
        found: Callable[..., Any] = importlib.import_module("ddgs").DDGS
    except ImportError:
        raise SearchFailed("ddgs is not installed", "pip install ddgs", outcome="no_key") from None
    return found
