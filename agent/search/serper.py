"""Serper: Google's results, resold."""

from __future__ import annotations

from agent.search.google_results import parse_page
from agent.search.service import Service
from agent.state import Hit


class Serper(Service):
    """Format: https://serper.dev/playground. An account without credit gets a 400 that says so."""

    name, needs_key = "serper", True

    def search(self, query: str) -> tuple[Hit, ...]:
        """Google's own answers and results, and the boxes next to them. Raises SearchFailed."""
        request = {**self.options.google_parameters(query), "num": self.options.max_results}
        headers = {"X-API-KEY": self.key}
        body = self.endpoint.call("/search", headers=headers, body=request)
        if body.get("error") or ("message" in body and "organic" not in body):
            raise self.endpoint.error_from_message(body)
        is_empty = "organic" not in body and "searchParameters" in body  # a page without results
        return parse_page(body, [] if is_empty else self.endpoint.get_results(body, "organic"))
