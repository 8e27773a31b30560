"""Tavily: search for programs, with a summary of each page as its snippet."""

from __future__ import annotations

from typing import Any

from agent.outside.http import Endpoint
from agent.sources.search.hits import hit
from agent.sources.search.options import Options
from agent.state import Hit


class Tavily:
    """Format: https://docs.tavily.com/documentation/api-reference/endpoint/search.

    At most 20 results. Its own `answer` is not asked for: it names no source.
    """

    name = "tavily"

    def __init__(
        self,
        key: str,
        base_url: str = "https://api.tavily.com",
        options: Options | None = None,
        timeout: float = 20.0,
    ) -> None:
        self._endpoint = Endpoint(base_url, "TAVILY_BASE_URL", "TAVILY_API_KEY", key, timeout)
        self._options = options or Options()

    def search(self, query: str) -> tuple[Hit, ...]:
        """Pages, best first. Raises SearchFailed."""
        headers = {"Authorization": f"Bearer {self._endpoint.secret}"}
        body = self._endpoint.call("/search", headers=headers, body=self._asked(query))
        if body.get("error") or (body.get("detail") and "results" not in body):
            raise self._endpoint.refusal(body)
        return tuple(
            one
            for row in self._endpoint.listed(body, "results")
            for one in hit(
                row.get("url"), row.get("title"), row.get("content"), row.get("published_date")
            )
        )

    def _asked(self, query: str) -> dict[str, Any]:
        options = self._options
        asked = {"query": query, "max_results": options.max_results, "search_depth": "basic"}
        filters = {
            "include_domains": list(options.allow_domains),
            "exclude_domains": list(options.block_domains),
            "start_date": options.since and options.since.isoformat(),
        }
        return asked | {name: value for name, value in filters.items() if value}
