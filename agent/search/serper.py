"""Serper: Google's results, resold."""

from __future__ import annotations

from agent.search.google import parse_answers, parse_questions, parse_results, parse_website
from agent.search.keyed_provider import KeyedProvider
from agent.state import Hit
from agent.state.json_data import Json


class Serper(KeyedProvider):
    """Format: https://serper.dev/playground. An account without credit gets a 400 that says so."""

    name = "serper"

    def search(self, query: str) -> tuple[Hit, ...]:
        """Google's own answers and results, and what stands beside them. Raises SearchFailed."""
        parameters = self._options.google_parameters(query)
        request = {**parameters, "num": self._options.max_results}
        headers = {"X-API-KEY": self._endpoint.secret}
        body = self._endpoint.call("/search", headers=headers, body=request)
        if body.get("error") or ("message" in body and "organic" not in body):
            raise self._endpoint.error_from_message(body)
        results = [] if _is_empty(body) else self._endpoint.get_results(body, "organic")
        found = (*parse_answers(body), *parse_results(results))
        return (*found, *parse_website(body), *parse_questions(body))


def _is_empty(body: Json) -> bool:
    """Whether this is a result page without results."""
    return "organic" not in body and "searchParameters" in body
