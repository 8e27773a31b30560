"""Tavily: search for programs, with a summary of each page as its snippet."""

from __future__ import annotations

from agent.search.service import Service
from agent.state import Hit, Json

MAX_QUERY = 400  # characters; a longer one is refused


class Tavily(Service):
    """Format: https://docs.tavily.com/documentation/api-reference/endpoint/search.

    At most 20 results. Its own `answer` is not requested: it names no source.
    """

    name, needs_key = "tavily", True
    row_names = ("url", "title", "content", "published_date")

    def search(self, query: str) -> tuple[Hit, ...]:
        """Pages, best first. Raises SearchFailed."""
        headers = {"Authorization": f"Bearer {self.key}"}
        body = self.endpoint.call("/search", headers=headers, body=self._request_body(query))
        if body.get("error") or (body.get("detail") and "results" not in body):
            raise self.endpoint.error_from_message(body)
        return self.parse_rows(body)

    def _request_body(self, query: str) -> Json:
        query, options = self.options.for_query(query)
        body = {
            "query": query[:MAX_QUERY],
            "max_results": options.max_results,
            "search_depth": "basic",
        }
        filters = {
            "include_domains": list(options.allow_domains),
            "exclude_domains": list(options.block_domains),
            "start_date": options.since and options.since.isoformat(),
        }
        return body | {name: value for name, value in filters.items() if value}
