"""The tools that need no model: `search`, `read` and `find_quote`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from pydantic import Field

from agent.answer.addresses import SCHEME, CorpusAddresses
from agent.errors import AgentError, OutsideError
from agent.evidence.quoting import locate_quote, nearest_passage
from agent.outside.query_guard import QueryGuard
from agent.outside.rate_limits import RateLimiter
from agent.run.calls import secrets_of
from agent.run.resources import open_rate_limits
from agent.run.sources import Sources, find_corpus, open_page_reader, open_sources, uses_web
from agent.search.mcp.source import load_place
from agent.serving.request import Configure
from agent.settings import Settings
from agent.state import Frozen, Hit, Page, Quote, Source

LONGEST_READ = 50_000  # characters of a page that one call returns
LONGEST_QUOTE = 5000  # characters
SAME = set("url title sha256 retrieved_at date partial_text".split())  # as the page has it


class SearchCall(Frozen):
    """A query for the search services of the server's settings."""

    query: str = Field(min_length=1, max_length=500)


class FoundPage(Frozen):
    """A page that a search found; its `id` is what `read` takes."""

    id: str
    title: str
    url: str
    snippet: str
    date: str | None


class FoundPages(Frozen):
    """What a search found, best first, and which service answered."""

    query: str
    provider: str
    results: tuple[FoundPage, ...]


class ReadCall(Frozen):
    """A page of the public web, or a document of the server's corpus."""

    url: str = Field(min_length=1, max_length=2000)
    offset: int = Field(default=0, ge=0, description="of the first character to return")


class ReadText(Frozen):
    """A page's text from an offset on; `next_offset` is null at its end."""

    url: str
    title: str
    text: str
    characters: int = Field(description="of the whole text, to which `sha256` belongs too")
    next_offset: int | None
    sha256: str
    retrieved_at: str
    date: str
    partial_text: str = Field(description="why the text is not all of the page, or empty")


class QuoteCall(Frozen):
    """Words that may stand on a page."""

    url: str = Field(min_length=1, max_length=2000)
    quote: str = Field(min_length=1, max_length=LONGEST_QUOTE)


class QuotePlaces(Frozen):
    """Where the words of a quote stand: `text[start:end]` of the page, as the page has them."""

    url: str
    sha256: str
    found: bool
    places: tuple[Quote, ...]
    nearest: str = Field(description="the most similar passage where it does not stand, or empty")


class PageTools:
    """Search and read as a run does, with the same guard, limits and cache; no run is begun.

    An asker may name addresses, so private ones are refused whatever the settings say.
    """

    def __init__(self, configure: Configure) -> None:
        self._configure = configure

    def search(self, call: SearchCall) -> FoundPages:
        """Raises AgentError."""
        with self._open() as (settings, sources):
            QueryGuard(secrets_of(settings), "").check(call.query)
            found = sources.search(call.query)
        shorten = _addresses(settings).shorten_url
        rows = [(hit, shorten(hit.url)) for hit in found.hits]
        results = tuple(
            FoundPage(id=url, title=hit.title, url=url, snippet=hit.snippet, date=hit.date)
            for hit, url in rows
        )
        return FoundPages(query=found.query, provider=found.provider, results=results)

    def read(self, call: ReadCall) -> ReadText:
        """Raises AgentError."""
        page = self._read(call.url)
        told = {name: getattr(page, name) for name in ReadText.model_fields.keys() & SAME}
        end = call.offset + LONGEST_READ
        following = end if end < len(page.text) else None
        text = page.text[call.offset : end]
        return ReadText(text=text, characters=len(page.text), next_offset=following, **told)

    def find_quote(self, call: QuoteCall) -> QuotePlaces:
        """Raises AgentError."""
        page = self._read(call.url)
        source = Source.of(1, page, Hit(url=page.url, title=page.title))
        places = locate_quote(call.quote, source)
        nearest = "" if places else nearest_passage(call.quote, source)
        told = {"url": page.url, "sha256": page.sha256, "places": places, "nearest": nearest}
        return QuotePlaces(found=bool(places), **told)

    def _read(self, url: str) -> Page:
        with self._open() as (settings, sources):
            corpus = find_corpus(settings)
            if corpus and url.startswith(SCHEME):
                url = f"{corpus.as_uri()}/{url.removeprefix(SCHEME)}"
            is_at_server = url.startswith("mcp:") and uses_web(settings)
            page = _read_at_server(settings, url) if is_at_server else sources.read(url)
        return page.model_copy(update={"url": _addresses(settings).shorten_url(page.url)})

    @contextmanager
    def _open(self) -> Iterator[tuple[Settings, Sources]]:
        """The settings as they now are, and their sources."""
        settings = self._configure({}).model_copy(update={"allow_private_network": False})
        sources = open_sources(settings, RateLimiter(open_rate_limits(settings)))
        try:
            yield settings, sources
        except OutsideError as error:  # which may name a file of this machine
            text = _addresses(settings).shorten_text(error.message)
            raise AgentError(text, error.remedy) from None
        finally:
            sources.close()


def _read_at_server(settings: Settings, url: str) -> Page:
    """A page that only an MCP server of the settings has. Raises ReadFailed."""
    row = load_place(settings, url)
    with closing(open_page_reader(settings)) as reader:
        return reader.build(url, row.title, row.body, row.media_type)


def _addresses(settings: Settings) -> CorpusAddresses:
    return CorpusAddresses(str(find_corpus(settings) or ""))
