"""MCP servers as search providers, and as readers of what their searches found."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from agent.errors import ExternalCallError, ReadFailed, SearchFailed
from agent.pages.address_guard import AddressGuard
from agent.pages.fallbacks import ANY, Fallback, FallbackReader
from agent.search.hits import MCP_SCHEME, parse_hit
from agent.search.mcp.result_rows import Row, read_document, read_resource, read_rows
from agent.search.mcp.tool_choice import ADDRESSES, McpTool
from agent.search.paid_terms import PaidHits
from agent.settings import Settings
from agent.settings.mcp_servers import McpServer, find_mcp_servers
from agent.state import Attempt, Hit, Page, SearchResults
from agent.state.sanitizing import sanitize_line
from agent.state.urls import canonical_url, is_web_url
from agent.state.values import hash_text

if TYPE_CHECKING:
    from agent.pages.fetch import PageReader
    from agent.search.mcp.client import McpClient

PREFIX = f"{MCP_SCHEME}:"  # of the names of providers
#: Seconds to start and to name its tools, and for one call. The first silence gives a server up.
PATIENCE = 15.0
MAX_KEPT = 20_000_000  # bytes of the texts that the searches of a run gave
Read = Callable[[str], Page]


class McpPlace(NamedTuple):
    """Where a server has a text: `fetch` of an id, a `resource`, or in the search that gave it."""

    server: str
    kind: str
    key: str

    def __str__(self) -> str:
        return f"{MCP_SCHEME}://{self.server}/{self.kind}/{quote(self.key, safe='')}"

    @classmethod
    def parse(cls, address: str) -> McpPlace | None:
        """The place of an address; None for any other address."""
        if not address.startswith(f"{MCP_SCHEME}://"):
            return None
        parts = urlsplit(address)
        kind, _, key = parts.path.removeprefix("/").partition("/")
        return cls(parts.netloc, kind, unquote(key)) if key else None


class McpSource:
    """One server of a run. It starts when it is first asked. Thread-safe."""

    is_own = True

    def __init__(
        self, server: McpServer, seconds: float = PATIENCE, *, allow_private: bool = False
    ) -> None:
        self.name = PREFIX + server.name
        self.server, self._seconds = server, seconds
        self._guard = AddressGuard(allow_private=allow_private)
        self._lock = threading.Lock()
        self._client: McpClient | None = None
        self._is_closed = False
        self._given: dict[McpPlace, Row] = {}
        self._room = MAX_KEPT

    @property
    def problem(self) -> str:
        """Why the server is asked no more; "" where it still is."""
        fault = self._client and self._client.fault
        return f"{self.name}: {fault.message}" if fault and not self._is_closed else ""

    def search(self, query: str) -> PaidHits:
        """What its tool finds, and an attempt for each refused row. Raises SearchFailed."""
        try:
            client = self._open()
            tool = client.tools.search
            if tool is None:
                remedy = "Name its tool under search in RESEARCH_AGENT_MCP_SERVERS, if it has one."
                raise ExternalCallError("it has no search tool", remedy, outcome="unsupported")
            rows = read_rows(client.call(tool.tool, {tool.argument: query}))
            fetch = client.tools.fetch
        except ExternalCallError as error:
            raise SearchFailed(error.message, error.remedy, outcome=error.outcome) from None
        refused: list[Attempt] = []
        hits = tuple(hit for row in rows for hit in self._hits_of(row, fetch, refused))
        return PaidHits(hits, attempts=tuple(refused))

    def probe(self) -> str:
        """Which of its tools are called. Raises SearchFailed."""
        try:
            tools = self._open().tools
        except ExternalCallError as error:
            raise SearchFailed(error.message, error.remedy, outcome=error.outcome) from None
        return ", ".join(f"{task}: {getattr(tools, task) or 'no tool'}" for task in tools._fields)

    def read(self, place: McpPlace) -> Row:
        """The text at a place. Raises ReadFailed."""
        try:
            return self._load(place)
        except ExternalCallError as error:
            fault = f"{self.name}: {error.message}"
            raise ReadFailed(fault, error.remedy, outcome=error.outcome) from None

    def _load(self, place: McpPlace) -> Row:
        if place.kind == "text":
            if row := self._given.get(place):
                return row
            raise ExternalCallError("its text came with a search of before", outcome="not_found")
        client = self._open()
        if place.kind == "resource":
            return read_resource(client.read(place.key))
        tool = client.tools.fetch
        if tool is None:
            raise ExternalCallError("it has no tool that fetches any more", outcome="unsupported")
        return read_document(client.call(tool.tool, {tool.argument: place.key}))

    def close(self) -> None:
        """End its process or connection."""
        with self._lock:
            self._is_closed = True
            if self._client:
                self._client.close()

    def _open(self) -> McpClient:
        with self._lock:
            if self._is_closed:
                raise ExternalCallError("the run is over")
            if self._client is None:
                if find_spec("mcp") is None:
                    remedy = "Install it: pip install 'llm-research-agent[mcp]'."
                    raise ExternalCallError("mcp is not installed", remedy, outcome="no_key")
                from agent.search.mcp.client import McpClient  # imports the SDK: half a second

                self._client = McpClient(self.server, self._seconds)
            return self._client

    def _hits_of(self, row: Row, fetch: McpTool | None, refused: list[Attempt]) -> Iterator[Hit]:
        """A row as a hit: under its own address if that is one of the web.

        One at a private address is added to `refused`.
        """
        place = self._place_of(row, fetch)
        if place and place.kind == "text":
            self._keep(place, row)
        web = row.url if is_web_url(row.url) else ""
        if web and place is None:
            try:
                self._guard.check_url(web)
            except ReadFailed as error:
                why = {"outcome": error.outcome, "detail": error.message, "remedy": error.remedy}
                refused.append(Attempt(what="search", provider=self.name, **why))
                return
        snippet = row.text or row.data[:4000].decode("utf-8", "replace")
        for hit in parse_hit(web or (place and str(place)), row.title, snippet, row.date):
            yield hit.model_copy(update={"places": (str(place),)}) if web and place else hit

    def _place_of(self, row: Row, fetch: McpTool | None) -> McpPlace | None:
        name = self.server.name
        if fetch and not row.is_resource:
            keys = (row.url, row.id) if fetch.argument in ADDRESSES else (row.id, row.url)
            if key := keys[0] or keys[1]:
                return McpPlace(name, "fetch", key)
        if row.url and not row.data and not is_web_url(row.url):
            return McpPlace(name, "resource", row.url)
        if row.data or (row.text and not row.is_resource):
            key = row.url or hash_text(row.text, "replace")[:16]
            return McpPlace(name, "text", key)
        return None

    def _keep(self, place: McpPlace, row: Row) -> None:
        size = len(row.data) + len(row.text)
        with self._lock:
            if place not in self._given and size <= self._room:
                self._given[place] = row
                self._room -= size


def open_servers(settings: Settings) -> list[McpSource]:
    """The servers of the settings, none of which is started yet. Raises UsageError."""
    seconds = min(PATIENCE, settings.search_timeout)
    allow = settings.allow_private_network
    servers = find_mcp_servers(settings)
    return [McpSource(server, seconds, allow_private=allow) for server in servers]


def load_place(settings: Settings, url: str) -> Row:
    """What a server of the settings has at an `mcp:` address. Raises ReadFailed."""
    place = McpPlace.parse(url)
    sources = {source.name: source for source in open_servers(settings)}
    source = sources.get(PREFIX + place.server) if place else None
    if not (place and source):
        fault = f"{sanitize_line(url, 200)}: this is at no MCP server that is set up."
        remedy = f"Name it with --mcp or in MCP_SERVERS; there is {', '.join(sources) or 'none'}."
        raise ReadFailed(fault, remedy, outcome="forbidden")
    with closing(source):
        return source.read(place)


class McpReader:
    """Reads what the searches of servers found, and all other pages as they are. Thread-safe.

    A server is asked only for what its own search named: no page or report can have it read
    anything.
    """

    def __init__(self, sources: Sequence[McpSource], reader: PageReader, web: Read) -> None:
        """`reader` takes text out of bytes; `web` reads any page, behind the guard."""
        self._sources = {source.name: source for source in sources}
        self._reader, self._web = reader, web
        self._places: dict[str, McpPlace] = {}
        self._finders: dict[str, str] = {}  # the servers of the pages that they found

    def keep(self, results: SearchResults) -> SearchResults:
        """Remember where a server has what it found."""
        for hit in results.hits:
            if (finder := hit.own or results.provider) not in self._sources:
                continue
            self._finders.setdefault(canonical_url(hit.url), finder)
            for place in filter(None, map(McpPlace.parse, (*hit.places, hit.url))):
                if PREFIX + place.server == finder:
                    self._places.setdefault(canonical_url(hit.url), place)
        return results

    def read(self, url: str) -> Page:
        """A page: by the server that found it, or else from the web. Raises ReadFailed."""
        key = canonical_url(url)
        if key not in self._finders:
            return self._web(url)
        place = self._places.get(key)
        ways: list[Read] = [partial(self._read_place, place)] if place else []
        if is_web_url(url):  # a text that came with a search is often cut
            ways.insert(0 if place and place.kind == "text" else 1, self._web)
        finder = self._finders[key]
        others = tuple(Fallback(finder, way, ANY) for way in ways[1:])
        return FallbackReader(ways[0], others, finder)(url)

    def warnings(self) -> tuple[str, ...]:
        """Which servers were given up, and why."""
        return tuple(source.problem for source in self._sources.values())

    def _read_place(self, place: McpPlace, url: str) -> Page:
        name = PREFIX + place.server
        row = self._sources[name].read(place)
        page = self._reader.build(url, row.title, row.body, row.type)
        return page.model_copy(update={"text_from": name})
