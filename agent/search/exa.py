"""Exa: search by meaning."""

from __future__ import annotations

from agent.search.hits import MAX_SNIPPET
from agent.search.service import Service
from agent.state import Hit, Json, get_objects


class Exa(Service):
    """Format: https://exa.ai/docs/reference/search.

    The request asks for highlights and text: without them a result has no snippet.
    """

    name, needs_key = "exa", True
    row_names = ("url", "title", "snippet", "publishedDate")

    def search(self, query: str) -> tuple[Hit, ...]:
        """Pages by likeness to the query. Raises SearchFailed."""
        headers = {"x-api-key": self.key}
        body = self.endpoint.call("/search", headers=headers, body=self._request_body(query))
        if body.get("error"):
            raise self.endpoint.error_from_message(body)
        for row in get_objects(body, "results"):
            highlights = row.get("highlights")
            texts = highlights if isinstance(highlights, list) else []
            joined = " … ".join(text for text in texts if isinstance(text, str))
            row["snippet"] = joined or row.get("text")
        return self.parse_rows(body)

    def _request_body(self, query: str) -> Json:
        query, options = self.options.for_query(query)
        contents = {"highlights": True, "text": {"maxCharacters": MAX_SNIPPET}}
        body = {"query": query, "numResults": options.max_results, "type": "auto"}
        filters = {
            "includeDomains": list(options.allow_domains),
            "excludeDomains": list(options.block_domains),
            "startPublishedDate": options.since and f"{options.since}T00:00:00.000Z",
        }
        return {**body, "contents": contents} | {k: v for k, v in filters.items() if v}
