"""SerpAPI: Google's results through the `google-search-results` library."""

from __future__ import annotations

from agent.search.google_results import parse_page
from agent.search.service import Service
from agent.state import Hit

NO_RESULTS = "t returned any results"


class SerpApi(Service):
    """Format: https://serpapi.com/search-api.

    The library makes the path and the parameters, `Endpoint` the request: the library's has no
    limits, follows redirects with the key, and loses the status. Google has dropped `num`.
    """

    name, needs_key = "serpapi", True

    def search(self, query: str) -> tuple[Hit, ...]:
        """Google's own answers and results, and the boxes next to them. Raises SearchFailed."""
        self.endpoint.check_configured()
        from serpapi import GoogleSearch

        parameters = self.options.google_parameters(query)
        client = GoogleSearch({**parameters, "api_key": self.key, "output": "json"})
        client.BACKEND = ""  # on this object only: the endpoint has the host
        path, parameters = client.construct_url("/search")
        body = self.endpoint.call(path, params=parameters)
        error = body.get("error")
        if error and NO_RESULTS not in str(error).lower():
            raise self.endpoint.error_from_message(error)
        # a page without results; Google's own answers may be on it
        is_empty = "organic_results" not in body and ("error" in body or "search_metadata" in body)
        results = [] if is_empty else self.endpoint.get_results(body, "organic_results")
        return parse_page(body, results)
