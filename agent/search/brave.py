"""Brave: an index of its own."""

from __future__ import annotations

from agent.search.service import Service
from agent.state import Hit, get_objects, utc_today

MAX_WORDS = 50  # of a query; it takes 400 characters
MAX_CHARS = 400


class Brave(Service):
    """Format: https://api-dashboard.search.brave.com/app/documentation/web-search/get-started."""

    name, needs_key = "brave", True
    row_names = ("url", "title", "snippet", "page_age")

    def search(self, query: str) -> tuple[Hit, ...]:
        """Pages by rank. Raises SearchFailed."""
        query, options = self.options.for_query(query)
        until = f"{options.since}to{utc_today()}" if options.since else ""
        words = self.options.add_site_operators(query).split()[:MAX_WORDS]
        parameters = {"q": " ".join(words)[:MAX_CHARS], "count": str(options.max_results)}
        parameters |= {"freshness": until} if until else {}
        headers = {"X-Subscription-Token": self.key, "Accept": "application/json"}
        body = self.endpoint.call("/res/v1/web/search", headers=headers, params=parameters)
        if body.get("type") == "search" and "web" not in body:  # nothing was found
            return ()
        for row in get_objects(body, "web", "results"):
            more = row.get("extra_snippets")
            texts = [row.get("description"), *(more if isinstance(more, list) else ())]
            row["snippet"] = " … ".join(text for text in texts if isinstance(text, str))
        return self.parse_rows(body, "web", "results")
