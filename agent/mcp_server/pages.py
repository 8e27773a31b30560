"""The tools that need no model and begin no run: `search` and `read`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from pydantic import Field

from agent.answer.addresses import SCHEME, CorpusAddresses
from agent.errors import AgentError, ExternalCallError
from agent.run.page_readers import open_page_reader
from agent.run.retriever import Retriever, find_corpus, uses_web
from agent.run.search_once import open_limited_retriever, search_once
from agent.search.mcp.source import load_place
from agent.server.research_request import Configure
from agent.settings import Settings
from agent.state import Frozen, Json, Page

LONGEST_READ = 50_000  # characters of a page that one call returns
PAGE_FIELDS = ("url", "title", "sha256", "retrieved_at", "date", "partial_text")


class SearchCall(Frozen):
    """A query for the search services of the server's settings."""

    query: str = Field(min_length=1, max_length=500)


class ReadCall(Frozen):
    """A page of the public web, or a document of the server's corpus."""

    url: str = Field(min_length=1, max_length=2000)
    offset: int = Field(default=0, ge=0, description="of the first character to return")


class PageTools:
    """Search and read as a run does, with the same guard, limits and cache.

    A caller may name addresses, so private ones are refused whatever the settings say.
    """

    def __init__(self, configure: Configure) -> None:
        self._configure = configure

    def search(self, call: SearchCall) -> Json:
        """The results, best first, and which providers were tried. Raises AgentError."""
        with self._open() as (settings, retriever):
            return search_once(call.query, settings, retriever)

    def read(self, call: ReadCall) -> Json:
        """The text of a page from an offset on; `next_offset` is null at its end.

        `characters` and `sha256` are of the whole text. Raises AgentError.
        """
        page = self._load(call.url)
        end = call.offset + LONGEST_READ
        is_cut = end < len(page.text)
        return {name: getattr(page, name) for name in PAGE_FIELDS} | {
            "text": page.text[call.offset : end],
            "characters": len(page.text),
            "next_offset": end if is_cut else None,
        }

    def _load(self, url: str) -> Page:
        with self._open() as (settings, retriever):
            corpus = find_corpus(settings)
            if corpus and url.startswith(SCHEME):
                url = f"{corpus.as_uri()}/{url.removeprefix(SCHEME)}"
            is_at_server = url.startswith("mcp:") and uses_web(settings)
            page = _load_from_server(settings, url) if is_at_server else retriever.read(url)
        return page.model_copy(update={"url": _addresses(settings).shorten_url(page.url)})

    @contextmanager
    def _open(self) -> Iterator[tuple[Settings, Retriever]]:
        """The settings as they are now, and their sources."""
        settings = self._configure({}).model_copy(update={"allow_private_network": False})
        with open_limited_retriever(settings) as retriever:
            try:
                yield settings, retriever
            except ExternalCallError as error:  # which may name a file of this machine
                text = _addresses(settings).shorten_text(error.message)
                raise AgentError(text, error.remedy) from None


def _load_from_server(settings: Settings, url: str) -> Page:
    """A page that only an MCP server of the settings has. Raises ReadFailed."""
    row = load_place(settings, url)
    with closing(open_page_reader(settings)) as reader:
        return reader.build(url, row.title, row.body, row.media_type)


def _addresses(settings: Settings) -> CorpusAddresses:
    return CorpusAddresses(str(find_corpus(settings) or ""))
