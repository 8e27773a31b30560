"""SerpAPI: Google's results through the `google-search-results` library."""

from __future__ import annotations

import re
from typing import Any

from agent.outside.http import Endpoint
from agent.sources.search.google import answers
from agent.sources.search.hits import hit
from agent.sources.search.options import Options
from agent.state import Hit

NOTHING = re.compile(r"hasn.t returned any results", re.I)


class SerpApi:
    """Format: https://serpapi.com/search-api, https://serpapi.com/organic-results.

    The library says what to ask and where. The request itself is ours: the library's own has no
    total limit of time or size, follows redirects with the key in the query, and loses the status.
    `num` is not sent, since Google has dropped it: a page holds about ten results.
    """

    name = "serpapi"

    def __init__(
        self,
        key: str,
        base_url: str = "https://serpapi.com",
        options: Options | None = None,
        timeout: float = 20.0,
    ) -> None:
        self._endpoint = Endpoint(base_url, "SERPAPI_BASE_URL", "SERPAPI_API_KEY", key, timeout)
        self._options = options or Options()

    def search(self, query: str) -> tuple[Hit, ...]:
        """What Google answers itself, then its results. Raises SearchFailed."""
        self._endpoint.require()
        from serpapi import GoogleSearch

        asked = self._options.google(query)
        client = GoogleSearch({**asked, "api_key": self._endpoint.secret, "output": "json"})
        client.BACKEND = ""  # of this object alone; the endpoint knows the host
        path, parameters = client.construct_url("/search")
        body = self._endpoint.call(path, params=parameters)
        error = body.get("error")
        if error and not NOTHING.search(str(error)):
            raise self._endpoint.refusal(error)
        listed = [] if _nothing(body) else self._endpoint.listed(body, "organic_results")
        found = (
            one
            for row in listed
            for one in hit(row.get("link"), row.get("title"), row.get("snippet"), row.get("date"))
        )
        return (*answers(body), *found)


def _nothing(body: dict[str, Any]) -> bool:
    """Whether this is a result page without results: Google's own answers may be on it."""
    return "organic_results" not in body and ("error" in body or "search_metadata" in body)
