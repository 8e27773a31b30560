"""Wikipedia, in the language of the query: no key needed."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from agent.search.hits import MAX_TITLE, parse_hit
from agent.search.service import Service
from agent.state import Hit, Outcome, get_path, sanitize_line

#: Code of an `error` object -> outcome. Any other code is `rejected`.
#: https://www.mediawiki.org/wiki/API:Errors_and_warnings
ERROR_CODES: dict[str, Outcome] = {
    "ratelimited": "rate_limited",
    "maxlag": "unavailable",
    "readonly": "unavailable",
}


class Wikipedia(Service):
    """Format: https://www.mediawiki.org/wiki/API:Search.

    `base_url` may name any MediaWiki; "" is the Wikipedia of the query's language. The User-Agent
    is required by https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy.
    """

    name = "wikipedia"

    def search(self, query: str) -> tuple[Hit, ...]:
        """Articles, best first. Raises SearchFailed.

        They have no date: that of the last edit says nothing about the subject.
        """
        query, _ = self.options.for_query(query)
        wiki = f"https://{self.options.locale_for(query).language}.wikipedia.org"
        wiki = self.endpoint.base_url.rstrip("/") or wiki
        endpoint = replace(self.endpoint, base_url=wiki)
        parameters = {"action": "query", "list": "search", "format": "json", "srsearch": query}
        parameters["srlimit"] = str(self.options.max_results)
        body = endpoint.call("/w/api.php", headers=self.headers, params=parameters)
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
