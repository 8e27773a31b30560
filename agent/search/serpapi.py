"""SerpAPI: Google's results through the `google-search-results` library."""

from __future__ import annotations

import re

from agent.search.google import parse_answers, parse_questions, parse_results, parse_website
from agent.search.keyed_provider import KeyedProvider
from agent.state import Hit
from agent.state.json_data import Json

NO_RESULTS = re.compile(r"hasn.t returned any results", re.I)


class SerpApi(KeyedProvider):
    """Format: https://serpapi.com/search-api.

    The library makes the path and the parameters; `Endpoint` makes the request. The library's own
    request has no total limit of time or size, follows redirects with the key in the query, and
    loses the status. `num` is not sent, since Google has dropped it: a page holds about ten
    results.
    """

    name = "serpapi"

    def search(self, query: str) -> tuple[Hit, ...]:
        """Google's own answers and results, and what stands beside them. Raises SearchFailed."""
        self._endpoint.check_configured()
        from serpapi import GoogleSearch

        parameters = self._options.google_parameters(query)
        client = GoogleSearch({**parameters, "api_key": self._endpoint.secret, "output": "json"})
        client.BACKEND = ""  # on this object only: the endpoint has the host
        path, parameters = client.construct_url("/search")
        body = self._endpoint.call(path, params=parameters)
        error = body.get("error")
        if error and not NO_RESULTS.search(str(error)):
            raise self._endpoint.error_from_message(error)
        results = [] if _is_empty(body) else self._endpoint.get_results(body, "organic_results")
        found = (*parse_answers(body), *parse_results(results))
        return (*found, *parse_website(body), *parse_questions(body))


def _is_empty(body: Json) -> bool:
    """Whether this is a result page without results. Google's own answers may be on it."""
    return "organic_results" not in body and ("error" in body or "search_metadata" in body)
