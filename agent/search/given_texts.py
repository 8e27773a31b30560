"""The texts of pages that came with search results: each is read instead of its page."""

from __future__ import annotations

import threading
from contextlib import suppress

from agent.documents.html.walls import begins_with_notice
from agent.errors import ReadFailed
from agent.pages.fetch import GivenText, PageReader
from agent.search.hits import MAX_PAGE_TEXT
from agent.state import Hit, Page, SearchResults
from agent.state.urls import canonical_url

MAX_KEPT = 20_000_000  # characters of all texts of a run; the pages of later ones are fetched
MIN_WHOLE_PAGE = 1000  # characters of a text that may be one
CUT_MARKS = ("…", "...", "[…]", "[...]", "(…)")  # at the end of a text


class GivenTexts:
    """The texts that the searches of one run gave, and the reader that uses them. Thread-safe.

    A text is used once, by the read of its page, which the journal and the cache hold as they hold
    every page. A search from a journal or from the cache has no texts: what is then still to be
    read is fetched.
    """

    def __init__(self, reader: PageReader, *, is_wanted: bool) -> None:
        """`is_wanted`: whether searches were asked for texts; else every page is fetched."""
        self._reader = reader
        self._is_wanted = is_wanted
        self._texts: dict[str, GivenText] = {}
        self._room = MAX_KEPT
        self._lock = threading.Lock()

    def keep(self, found: SearchResults) -> SearchResults:
        """Take the texts off the hits of a search, and keep those that are a whole page."""
        with self._lock:
            for hit in found.hits if self._is_wanted else ():
                self._keep(hit, found.provider)
        bare = tuple(hit.model_copy(update={"page_text": ""}) for hit in found.hits)
        return found.model_copy(update={"hits": bare})

    def _keep(self, hit: Hit, provider: str) -> None:
        page = canonical_url(hit.url)
        if page not in self._texts and len(hit.page_text) <= self._room and is_whole_page(hit):
            self._texts[page] = GivenText(hit.url, hit.title, hit.page_text, provider)
            self._room -= len(hit.page_text)

    def read(self, url: str) -> Page:
        """A page by the text that was given, else as its address has it. Raises ReadFailed.

        A text that may not be used is passed over: reading the page then fails for the same reason.
        """
        with self._lock:
            given = self._texts.pop(canonical_url(url), None)
            self._room += len(given.text) if given else 0
        if given:
            with suppress(ReadFailed):
                return self._reader.read_given(given)
        return self._reader(url)


def is_whole_page(hit: Hit) -> bool:
    """Whether the text of a hit is a page: neither too short nor cut, and no wall.

    One of `MAX_PAGE_TEXT` characters may be cut, since no more are asked for.
    """
    text = hit.page_text.strip()
    is_cut = len(hit.page_text) >= MAX_PAGE_TEXT or text.endswith(CUT_MARKS)
    return len(text) > MIN_WHOLE_PAGE and not (is_cut or begins_with_notice(hit.title, text))
