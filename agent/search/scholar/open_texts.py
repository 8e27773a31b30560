"""The texts of scholarly works: the whole where it is open, else the abstract, marked as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from urllib.parse import quote

from agent.calls import run_with_timeout
from agent.calls.http import Endpoint
from agent.errors import ExternalCallError, ReadFailed
from agent.pages.fetch import PLAIN_TEXT, PageReader
from agent.search.scholar.bibliographic import contact_headers
from agent.search.scholar.records import ARXIV_DOI, is_place
from agent.settings import Settings
from agent.state import Hit, Page, SearchResults, canonical_url, get_path

MAX_WORKS = 5000  # of a run, whose texts are known
#: Of the time for a page: what is left is for making a page of the abstract.
OPEN_SHARE = 0.8
NO_OPEN_TEXT = "only its abstract was read: no open full text could be"


class OpenTexts:
    """Reads the works that searches found, and all other pages as they are. Thread-safe.

    An open text is that of Europe PMC in JATS, else a PDF that a search or Unpaywall
    (https://unpaywall.org/products/api) names, read behind the page reader's guard.
    """

    def __init__(self, settings: Settings, reader: PageReader, read: Callable[[str], Page]) -> None:
        """`reader` takes the text out of bytes; `read` reads any page."""
        self._reader, self._read, self._contact = reader, read, settings.scholar_contact
        self._headers = contact_headers(settings)
        self._hits: dict[str, Hit] = {}
        self._seconds = OPEN_SHARE * settings.page_timeout
        base = settings.base_url("europepmc").rstrip("/")
        most = settings.page_max_bytes
        own = Endpoint(base, "", timeout=self._seconds, error_class=ReadFailed, max_bytes=most)
        self._europepmc = own
        self._unpaywall = replace(own, base_url=settings.base_url("unpaywall"))

    def keep(self, results: SearchResults) -> SearchResults:
        """Remember the works of a search."""
        for hit in results.hits:
            if hit.work and len(self._hits) < MAX_WORKS:
                self._hits.setdefault(canonical_url(hit.url), hit)
        return results

    def read(self, url: str) -> Page:
        """The text of a work, or of any other page. Raises ReadFailed."""
        hit = self._hits.get(canonical_url(url))
        if hit is None or hit.work is None:
            return self._read(url)
        abstract = hit.work.get("abstract", "")
        with suppress(TimeoutError):
            if page := run_with_timeout(self._seconds, partial(self._read_whole, hit)):
                return page
        if not abstract:
            return self._read(url)
        text = f"{hit.title}\n\n{abstract}".encode()
        made = self._reader.build(hit.url, hit.title, text, PLAIN_TEXT)
        marks = {"text_from": hit.work["source"], "partial_text": NO_OPEN_TEXT}
        return made.model_copy(update=marks)

    def _read_whole(self, hit: Hit) -> Page | None:
        """The first open text that is longer than the abstract: else it is a notice."""
        shortest = len((hit.work or {}).get("abstract", ""))
        for place in self._find_places(hit):
            with suppress(ExternalCallError):
                page = self._read_place(place, hit)
                if len(page.text) > shortest:
                    return page
        return None

    def _find_places(self, hit: Hit) -> Iterator[str]:
        """The addresses of a work's open text; Unpaywall is asked where no other can be read."""
        yield from hit.places
        doi = (hit.work or {}).get("DOI", "")
        if doi and self._contact and not doi.startswith(ARXIV_DOI):
            path, params = f"/{quote(doi, safe='/:;()._-')}", {"email": self._contact}
            with suppress(ExternalCallError):
                record = self._unpaywall.call(path, params=params, headers=self._headers)
                place = get_path(record, "best_oa_location", "url_for_pdf")
                yield from [place] if isinstance(place, str) and is_place(place) else []

    def _read_place(self, place: str, hit: Hit) -> Page:
        """The text at an address. That of Europe PMC is the user's own choice, as a provider."""
        base = self._europepmc.base_url
        if not place.startswith(f"{base}/"):
            return self._read(place)
        data = self._europepmc.fetch(place.removeprefix(base), headers=self._headers)
        page = self._reader.build(hit.url, hit.title, data, "application/jats+xml")
        return page.model_copy(update={"text_from": "europepmc"})
