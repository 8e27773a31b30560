"""Wikipedia, in the language of the query: no key needed."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from agent import USER_AGENT
from agent.outside.http import Endpoint
from agent.sources.search.hits import hit
from agent.sources.search.options import Options
from agent.state import Hit, Outcome
from agent.state.plain import dig, plain

#: Codes of the `error` object -> outcome: https://www.mediawiki.org/wiki/API:Errors_and_warnings
CODES: dict[str, Outcome] = {
    "ratelimited": "rate_limited",
    "maxlag": "unavailable",
    "readonly": "unavailable",
}


class Wikipedia:
    """Format: https://www.mediawiki.org/wiki/API:Search. Any MediaWiki can be named instead.

    `base_url` "": the Wikipedia of the query's language. The User-Agent is asked for by
    https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy.
    """

    name = "wikipedia"

    def __init__(
        self,
        base_url: str = "",
        options: Options | None = None,
        timeout: float = 20.0,
        user_agent: str = USER_AGENT,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._options = options or Options()
        self._timeout = timeout
        self._headers = {"User-Agent": user_agent}

    def search(self, query: str) -> tuple[Hit, ...]:
        """Articles, best first; no date, since that of the last edit says nothing of the subject.

        Raises SearchFailed.
        """
        wiki = self._base_url or f"https://{self._options.locale(query).language}.wikipedia.org"
        endpoint = Endpoint(wiki, "WIKIPEDIA_BASE_URL", timeout=self._timeout)
        body = endpoint.call("/w/api.php", headers=self._headers, params=self._asked(query))
        if error := body.get("error"):
            code = dig(error, "code")
            raise endpoint.refusal(
                body, CODES.get(code if isinstance(code, str) else "", "rejected")
            )
        return tuple(
            one
            for row in endpoint.listed(body, "query", "search")
            if (title := plain(row.get("title"), 300))
            for one in hit(_page(wiki, title), title, row.get("snippet"))
        )

    def _asked(self, query: str) -> dict[str, Any]:
        asked = {"action": "query", "list": "search", "format": "json", "srsearch": query}
        return {**asked, "srlimit": str(self._options.max_results)}


def _page(wiki: str, title: str) -> str:
    return f"{wiki}/wiki/{quote(title.replace(' ', '_'), safe='/:,()!*')}"
