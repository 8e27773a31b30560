"""Serper: Google's results, resold."""

from __future__ import annotations

from agent.search.google import parse_page
from agent.search.keyed_provider import KeyedProvider
from agent.state import Hit


class Serper(KeyedProvider):
    """Format: https://serper.dev/playground. An account without credit gets a 400 that says so."""

    name = "serper"

    def search(self, query: str) -> tuple[Hit, ...]:
        """Google's own answers and results, and what stands beside them. Raises SearchFailed."""
        request = {**self._options.google_parameters(query), "num": self._options.max_results}
        headers = {"X-API-KEY": self._endpoint.secret}
        body = self._endpoint.call("/search", headers=headers, body=request)
        if body.get("error") or ("message" in body and "organic" not in body):
            raise self._endpoint.error_from_message(body)
        is_empty = "organic" not in body and "searchParameters" in body  # a page without results
        return parse_page(body, [] if is_empty else self._endpoint.get_results(body, "organic"))
