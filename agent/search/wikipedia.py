"""Wikipedia, in the language of the query: no key needed."""

from __future__ import annotations

from urllib.parse import quote

from agent import USER_AGENT
from agent.outside.http import Endpoint
from agent.search.hits import MAX_TITLE, parse_hit
from agent.search.options import SearchOptions
from agent.state import Hit, Outcome
from agent.state.json_data import get_path
from agent.state.sanitizing import sanitize_line

#: Code of an `error` object -> outcome. Any other code is `rejected`.
#: https://www.mediawiki.org/wiki/API:Errors_and_warnings
ERROR_CODES: dict[str, Outcome] = {
    "ratelimited": "rate_limited",
    "maxlag": "unavailable",
    "readonly": "unavailable",
}


class Wikipedia:
    """Format: https://www.mediawiki.org/wiki/API:Search.

    `base_url` may name any MediaWiki; "" is the Wikipedia of the query's language. The User-Agent
    is required by https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy.
    """

    name = "wikipedia"

    def __init__(
        self,
        base_url: str = "",
        options: SearchOptions | None = None,
        timeout: float = 20.0,
        user_agent: str = USER_AGENT,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._options = options or SearchOptions()
        self._timeout = timeout
        self._headers = {"User-Agent": user_agent}

    def search(self, query: str) -> tuple[Hit, ...]:
        """Articles, best first. Raises SearchFailed.

        They have no date: that of the last edit says nothing about the subject.
        """
        query, _ = self._options.for_query(query)
        wiki = self._base_url or f"https://{self._options.locale_for(query).language}.wikipedia.org"
        endpoint = Endpoint(wiki, "WIKIPEDIA_BASE_URL", timeout=self._timeout)
        body = endpoint.call("/w/api.php", headers=self._headers, params=self._parameters(query))
        if error := body.get("error"):
            outcome = ERROR_CODES.get(str(get_path(error, "code")), "rejected")
            raise endpoint.error_from_message(body, outcome)
        return tuple(
            hit
            for row in endpoint.get_results(body, "query", "search")
            if (title := sanitize_line(row.get("title"), MAX_TITLE))
            for url in [f"{wiki}/wiki/{quote(title.replace(' ', '_'), safe='/:,()!*')}"]
            for hit in parse_hit(url, title, row.get("snippet"))
        )

    def _parameters(self, query: str) -> dict[str, str]:
        parameters = {"action": "query", "list": "search", "format": "json", "srsearch": query}
        return {**parameters, "srlimit": str(self._options.max_results)}
