"""SearXNG: a self-hosted metasearch engine. It needs no key, but the address of a server."""

from __future__ import annotations

from collections.abc import Iterator

from agent.errors import SearchFailed
from agent.search.hits import parse_hit
from agent.search.service import Service
from agent.state import Hit, Json, get_objects, get_path, utc_today

ENABLE_JSON = "Add json to search.formats in the settings.yml of the SearXNG server."


class SearXNG(Service):
    """Format: https://docs.searxng.org/dev/search_api.html.

    `since` becomes the shortest of its time ranges (day, week, month, year) that reaches it. No
    results while engines did not respond is a failure, not an empty answer.
    """

    name = "searxng"
    row_names = ("url", "title", "content", "publishedDate")
    today = staticmethod(utc_today)

    def search(self, query: str) -> tuple[Hit, ...]:
        """The engines' own answers, then pages. Raises SearchFailed."""
        try:
            body = self.endpoint.call("/search", params=self._parameters(query))
        except SearchFailed as failure:
            if failure.outcome == "blocked" and failure.message.startswith("HTTP 403"):
                failure.remedy = ENABLE_JSON
            raise
        pages = self.parse_rows(body)
        hits = (*_parse_answers(body), *pages)
        if not hits and (engines := body.get("unresponsive_engines")):  # a list of `[name, reason]`
            listed = (get_path(one, 0) for one in (engines if isinstance(engines, list) else ()))
            named = ", ".join(name for name in listed if isinstance(name, str))
            raise self.endpoint.build_error("unavailable", f"its engines did not answer: {named}")
        return hits

    def _parameters(self, query: str) -> dict[str, str]:
        query, options = self.options.for_query(query)
        parameters = {"q": options.add_site_operators(query), "format": "json"}
        parameters["language"] = options.locale_for(query).language
        time_range = options.time_range(self.today())
        return parameters | ({"time_range": time_range} if time_range else {})


def _parse_answers(body: Json) -> Iterator[Hit]:
    for row in get_objects(body, "answers"):  # a string, or no `url`, where there is no source
        yield from parse_hit(row.get("url"), row.get("title"), row.get("answer"))
    for row in get_objects(body, "infoboxes"):
        url = get_path(row, "urls", 0, "url")
        yield from parse_hit(url, row.get("infobox"), row.get("content"))
