"""Exa: search by meaning."""

from __future__ import annotations

from typing import Any

from agent.outside.http import Endpoint
from agent.sources.search.hits import SNIPPET, hit
from agent.sources.search.options import Options
from agent.state import Hit


class Exa:
    """Format: https://exa.ai/docs/reference/search.

    Highlights, or the text, are asked for: without them a result has no snippet.
    """

    name = "exa"

    def __init__(
        self,
        key: str,
        base_url: str = "https://api.exa.ai",
        options: Options | None = None,
        timeout: float = 20.0,
    ) -> None:
        self._endpoint = Endpoint(base_url, "EXA_BASE_URL", "EXA_API_KEY", key, timeout)
        self._options = options or Options()

    def search(self, query: str) -> tuple[Hit, ...]:
        """Pages by likeness to the query. Raises SearchFailed."""
        headers = {"x-api-key": self._endpoint.secret}
        body = self._endpoint.call("/search", headers=headers, body=self._asked(query))
        if body.get("error"):
            raise self._endpoint.refusal(body)
        return tuple(
            one
            for row in self._endpoint.listed(body, "results")
            for one in hit(
                row.get("url"), row.get("title"), _snippet(row), row.get("publishedDate")
            )
        )

    def _asked(self, query: str) -> dict[str, Any]:
        options = self._options
        contents = {"highlights": True, "text": {"maxCharacters": SNIPPET}}
        asked = {"query": query, "numResults": options.max_results, "type": "auto"}
        filters = {
            "includeDomains": list(options.allow_domains),
            "excludeDomains": list(options.block_domains),
            "startPublishedDate": options.since and f"{options.since}T00:00:00.000Z",
        }
        return {**asked, "contents": contents} | {k: v for k, v in filters.items() if v}


def _snippet(row: dict[str, Any]) -> object:
    parts = row.get("highlights")
    said = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    return " … ".join(said) or row.get("text")
