"""SearXNG: a metasearch engine that anyone can run: no key needed, but an address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any

from agent.errors import SearchFailed
from agent.outside.http import Endpoint
from agent.sources.search.hits import hit
from agent.sources.search.options import Options
from agent.state import Hit
from agent.state.plain import dig, rows

OFF = "Add json to search.formats in the settings.yml of the SearXNG server."


class SearXNG:
    """Format: https://docs.searxng.org/dev/search_api.html.

    Its time ranges are coarse (day, week, month, year): the shortest that reaches `since` is asked
    for. No results while engines did not respond is a failure, not an empty answer.
    """

    name = "searxng"

    def __init__(
        self,
        url: str,
        options: Options | None = None,
        timeout: float = 20.0,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._endpoint = Endpoint(url, "SEARXNG_URL", timeout=timeout)
        self._options = options or Options()
        self._today = today

    def search(self, query: str) -> tuple[Hit, ...]:
        """What the engines answer themselves, then pages. Raises SearchFailed."""
        try:
            body = self._endpoint.call("/search", params=self._asked(query))
        except SearchFailed as failure:
            off = failure.outcome == "blocked" and failure.message.startswith("HTTP 403")
            failure.remedy = OFF if off else failure.remedy
            raise
        found = (*_answers(body), *_results(self._endpoint.listed(body, "results")))
        if not found and body.get("unresponsive_engines"):
            silent = ", ".join(_silent(body["unresponsive_engines"]))
            raise self._endpoint.failed("unavailable", f"its engines did not answer: {silent}")
        return found

    def _asked(self, query: str) -> dict[str, str]:
        asked = {"q": self._options.with_sites(query), "format": "json"}
        asked["language"] = self._options.locale(query).language
        span = self._options.span(self._today())
        return asked | ({"time_range": span} if span else {})


def _answers(body: dict[str, Any]) -> Iterator[Hit]:
    for row in rows(body, "answers"):  # an answer without a source is a string, or has no url
        yield from hit(row.get("url"), row.get("title"), row.get("answer"))
    for row in rows(body, "infoboxes"):
        url = dig(row, "urls", 0, "url")
        yield from hit(url, row.get("infobox"), row.get("content"))


def _results(listed: list[dict[str, Any]]) -> Iterator[Hit]:
    for row in listed:
        day = row.get("publishedDate")
        yield from hit(row.get("url"), row.get("title"), row.get("content"), day)


def _silent(engines: object) -> list[str]:
    """The names in a list of `[name, reason]`."""
    listed = engines if isinstance(engines, list) else []
    return [name for engine in listed if isinstance(name := dig(engine, 0), str)]
