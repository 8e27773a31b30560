"""DuckDuckGo and other engines through the `ddgs` package: no key, and no guarantee."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from typing import Any

from agent.calls import run_with_timeout
from agent.calls.transport import find_proxy, named_certificates
from agent.errors import SearchFailed
from agent.search.hits import parse_hit
from agent.search.search_options import SearchOptions
from agent.state import Hit, Outcome, utc_today

MAX_RESULTS = 25
MAX_TRIES = 3  # on a rate limit
FIRST_PAUSE = 1.0  # seconds after the first try; doubled after each further one
ENGINE_TIMEOUT = 5  # seconds for one of its engines


class DuckDuckGo:
    """Format: https://pypi.org/project/ddgs/.

    It says "No results found." also when it is locked out (deedy5/ddgs#265), so it comes last by
    default. `client` is its class DDGS; None: import it.
    """

    name = "duckduckgo"

    def __init__(
        self,
        options: SearchOptions | None = None,
        timeout: float = 20.0,
        client: Callable[..., Any] | None = None,
        pause: Callable[[float], None] = time.sleep,
        today: Callable[[], date] = utc_today,
    ) -> None:
        self._options = options or SearchOptions()
        self._timeout = timeout
        self._client = client
        self._pause = pause
        self._today = today

    def search(self, query: str) -> tuple[Hit, ...]:
        """Pages, best first. Raises SearchFailed."""
        client = self._client or _load_client()
        try:
            reply = run_with_timeout(self._timeout, lambda: self._request_rows(client, query))
        except TimeoutError:
            raise _search_failure("timeout", f"no answer within {self._timeout:g} s") from None
        rows = (row for row in (reply if isinstance(reply, list) else ()) if isinstance(row, dict))
        names = ("href", "title", "body")
        return tuple(hit for row in rows for hit in parse_hit(*map(row.get, names)))

    def _request_rows(self, client: Callable[..., Any], query: str) -> object:
        """The rows of results, `[]` for none. Retries on a rate limit. Raises SearchFailed.

        Exceptions are distinguished by their class names, which ddgs takes from several packages.
        """
        proxy = find_proxy("https://duckduckgo.com", SearchFailed)
        for attempt in range(MAX_TRIES):
            try:
                timeout = max(1, min(ENGINE_TIMEOUT, int(self._timeout)))
                made = client(proxy, timeout, verify=named_certificates() or True)
                return made.text(**self._parameters(query))
            except Exception as error:
                kind = type(error).__name__
                if kind != "RatelimitException":
                    return _translate_error(kind, str(error))
            if attempt < MAX_TRIES - 1:
                self._pause(FIRST_PAUSE * 2**attempt)
        raise _search_failure("rate_limited", f"rate limited {MAX_TRIES} times")

    def _parameters(self, query: str) -> dict[str, Any]:
        query, options = self._options.for_query(query)
        locale = options.locale_for(query)
        return {
            "query": options.add_site_operators(query),
            "region": f"{locale.gl or 'wt'}-{locale.language}",
            "timelimit": options.time_range(self._today())[:1] or None,
            "max_results": min(options.max_results, MAX_RESULTS),
        }


def _translate_error(kind: str, text: str) -> list[object]:
    """`[]` for the exception that says "No results"; raises SearchFailed for any other."""
    if "No results" in text:
        return []
    if "timed out" in text or "Timeout" in kind:
        raise _search_failure("timeout", "its engines did not answer in time")
    raise _search_failure("unavailable", f"its engines failed ({kind})")


def _search_failure(outcome: Outcome, detail: str) -> SearchFailed:
    return SearchFailed(detail, "Wait a while, or add another provider.", outcome=outcome)


def _load_client() -> Callable[..., Any]:
    from ddgs import DDGS

    return DDGS
