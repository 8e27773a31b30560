"""Serper: Google's results, resold."""

from __future__ import annotations

from typing import Any

from agent.outside.http import Endpoint
from agent.sources.search.google import answers
from agent.sources.search.hits import hit
from agent.sources.search.options import Options
from agent.state import Hit


class Serper:
    """Format: https://serper.dev/playground. An exhausted account answers 400 in words."""

    name = "serper"

    def __init__(
        self,
        key: str,
        base_url: str = "https://google.serper.dev",
        options: Options | None = None,
        timeout: float = 20.0,
    ) -> None:
        self._endpoint = Endpoint(base_url, "SERPER_BASE_URL", "SERPER_API_KEY", key, timeout)
        self._options = options or Options()

    def search(self, query: str) -> tuple[Hit, ...]:
        """What Google answers itself, then its results. Raises SearchFailed."""
        asked = {**self._options.google(query), "num": self._options.max_results}
        headers = {"X-API-KEY": self._endpoint.secret}
        body = self._endpoint.call("/search", headers=headers, body=asked)
        if body.get("error") or ("message" in body and "organic" not in body):
            raise self._endpoint.refusal(body)
        listed = [] if _nothing(body) else self._endpoint.listed(body, "organic")
        found = (
            one
            for row in listed
            for one in hit(row.get("link"), row.get("title"), row.get("snippet"), row.get("date"))
        )
        return (*answers(body), *found)


def _nothing(body: dict[str, Any]) -> bool:
    """Whether this is a result page without results."""
    return "organic" not in body and "searchParameters" in body
