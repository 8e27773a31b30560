"""Wolfram|Alpha: computations. What it computes is a page, which is read as it was given."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote_plus, unquote_plus

from agent.errors import ReadFailed, SearchFailed
from agent.pages.fetch import PLAIN_TEXT, PageReader
from agent.search.service import Service
from agent.state import Hit, Page, SearchResults, canonical_url

PAGE = "https://www.wolframalpha.com/input?i={}"
MAX_TEXT = 20_000  # characters; it gives 6,800 unless it is asked for more
_PICTURE = re.compile(r"^image: .*\n?", re.MULTILINE)


class Wolfram(Service):
    """Format: https://products.wolframalpha.com/llm-api/documentation, plain text."""

    name, needs_key = "wolfram", True

    def search(self, query: str) -> tuple[Hit, ...]:
        """The result; none where it cannot compute one (HTTP 501). Raises SearchFailed."""
        query = self.options.for_query(query)[0]
        headers = {"Authorization": f"Bearer {self.key}"}
        try:
            data = self.endpoint.fetch("/api/v1/llm-api", headers=headers, params={"input": query})
        except SearchFailed as failure:
            if failure.message.startswith("HTTP 501"):
                return ()
            raise
        text = _PICTURE.sub("", data.decode("utf-8", "replace"))[:MAX_TEXT].strip()
        if not text or text[0] in "<{[":
            raise self.endpoint.build_error("invalid", "no result in plain text")
        result = text.partition("\n\n")[2] or text  # without the query, which is its title
        url, title = PAGE.format(quote_plus(query)), f"Wolfram|Alpha: {query}"
        return (Hit(url=url, title=title, snippet=result, computed=text),)


class ComputedPages:
    """Reads results, as a search gave them or computed anew, and all other pages as they are."""

    def __init__(self, wolfram: Wolfram, reader: PageReader, read: Callable[[str], Page]) -> None:
        """`reader` takes the text out of bytes; `read` reads any page."""
        self._wolfram, self._reader, self._read = wolfram, reader, read
        self._hits: dict[str, Hit] = {}

    def keep(self, results: SearchResults) -> SearchResults:
        """Remember the results of a search."""
        self._hits |= {canonical_url(hit.url): hit for hit in results.hits if hit.computed}
        return results

    def read(self, url: str) -> Page:
        """A result, or any other page. Raises ReadFailed."""
        hit = self._hits.get(canonical_url(url)) or self._compute(url)
        if hit is None:
            return self._read(url)
        data = hit.computed.encode("utf-8", "replace")
        page = self._reader.build(hit.url, hit.title, data, PLAIN_TEXT)
        return page.model_copy(update={"text_from": Wolfram.name})

    def _compute(self, url: str) -> Hit | None:
        start, _, query = url.partition("?i=")
        if start != PAGE.partition("?")[0] or not query:
            return None
        try:
            return next(iter(self._wolfram.search(unquote_plus(query))), None)
        except SearchFailed as error:
            raise ReadFailed(error.message, error.remedy, outcome=error.outcome) from None
