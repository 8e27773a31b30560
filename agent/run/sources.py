"""What a run searches and reads: the web behind a cache, a corpus, or both."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agent import USER_AGENT
from agent.characters import strip_controls
from agent.errors import ReadFailed
from agent.outside.budget import Budget
from agent.outside.plugins import load_plugins
from agent.outside.rate_limits import RateLimiter
from agent.search.given_texts import GivenTexts
from agent.settings import Settings, user_folder
from agent.state import Page, SearchResults
from agent.state.clock import utc_now
from agent.state.sanitizing import sanitize_for_display, sanitize_line

if TYPE_CHECKING:
    from agent.pages.fetch import PageReader
    from agent.search import Provider
    from agent.search.corpus import Corpus
    from agent.search.mcp.source import McpSource
    from agent.search.options import SearchOptions

MAX_TITLE = 300  # characters
#: Seconds that a run waits for the index of a corpus; then it searches what is in it so far.
INDEX_PATIENCE = 30.0
MAX_SKIPPED_SHOWN = 10  # files of a corpus that warnings name as unreadable, and as unknown

DEMO = Path(__file__).parents[1] / "demo"

Search = Callable[[str], SearchResults]
Read = Callable[[str], Page]


class AddedReader(Protocol):
    """A reader that another package adds."""

    def takes(self, url: str) -> bool:
        """Whether it reads this address."""
        ...

    def read(self, url: str) -> tuple[str, str]:
        """Title and text. Raises ReadFailed."""
        ...


def _refuse_call(_: str) -> Any:
    raise AssertionError("a replay goes nowhere")


class Sources(NamedTuple):
    """How a run searches and reads."""

    search: Search  # by query
    read: Read  # by URL
    warm: Callable[[], None]  # imports what reading needs
    close: Callable[[], None]
    warnings: Callable[[], tuple[str, ...]]  # for the user, as of now; "" counts for none
    # of searches that cost money: the run's budget, and each search that its journal answered
    limit_spending: Callable[[Budget], None] = lambda _: None
    count_earlier: Callable[[SearchResults], None] = lambda _: None
    # of the pages of the runs that the run follows
    search_parent: Search = _refuse_call
    read_parent: Read = _refuse_call


def _do_nothing() -> None:
    pass


#: For a replay, which takes every result from its journal.
NO_SOURCES = Sources(_refuse_call, _refuse_call, _do_nothing, _do_nothing, tuple)


def open_sources(
    settings: Settings,
    rate_limiter: RateLimiter | None = None,
    corpus: Corpus | None = None,
    seconds: float | None = None,
) -> Sources:
    """The sources that the settings name. Close them.

    They are the web, if the settings name no corpus; the web and the corpus, if `corpus` is one of
    the search providers; else the corpus alone. `offline` allows a corpus only, by default the
    demo's. `corpus` is the corpus of the settings where it is already open; closing the sources
    leaves it open. `seconds`: for reading the files of a corpus that is not open. Raises
    UsageError.
    """
    if settings.corpus is None and not settings.offline:
        return _open_web(settings, rate_limiter)
    opened = corpus or open_corpus(settings, seconds)
    if "corpus" in settings.search and not settings.offline:
        return _open_web(settings, rate_limiter, opened)
    # of the demo's folder, which is ours, nobody wants to hear what else lies in it
    warnings = _corpus_warnings(opened) if settings.corpus else tuple[str, ...]
    return _corpus_sources(opened, warnings, _do_nothing if corpus else opened.close)


def find_corpus(settings: Settings) -> Path | None:
    """Where the corpus of the settings lies: offline by default the demo's. None without one."""
    path = settings.corpus or (DEMO if settings.offline else None)
    return path and Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - as Corpus has it


def open_corpus(settings: Settings, seconds: float | None = None) -> Corpus:
    """The corpus of the settings, or else the demo's, with its index up to date. Close it.

    `seconds`: after which no more files are read. All who open it in a process share its index,
    which goes on reading files until the last one closes it.
    """
    from agent.search.corpus import Corpus
    from agent.search.open_indexes import shared_indexes

    path, cache = settings.corpus or DEMO, settings.cache_dir or user_folder("cache")
    return Corpus(path, cache, seconds, INDEX_PATIENCE, indexes=shared_indexes())


def open_page_reader(settings: Settings) -> PageReader:
    """The reader of web pages. Close it."""
    from agent.pages.fetch import PageReader

    return PageReader(
        timeout=settings.page_timeout,
        max_bytes=settings.page_max_bytes,
        allow_private_network=settings.allow_private_network,
        through_proxy=settings.fetch_through_proxy,
        respect_robots=settings.respect_robots,
        user_agent=settings.user_agent or USER_AGENT,
        browser=settings.page_browser,
        browser_path=settings.page_browser_path,
    )


def _corpus_sources(
    corpus: Corpus, warnings: Callable[[], tuple[str, ...]], close: Callable[[], None]
) -> Sources:
    """A corpus alone: no query leaves the machine, so none can give a private document away."""
    from agent.search import SearchChain

    search = _with_time(SearchChain([corpus]))
    return Sources(search, corpus.read, _do_nothing, close, warnings)


def _corpus_warnings(corpus: Corpus) -> Callable[[], tuple[str, ...]]:
    """What is not in a corpus when it is first asked for; the same all through a run."""
    return lru_cache(lambda: _describe_left_out(corpus))


def _describe_left_out(corpus: Corpus) -> tuple[str, ...]:
    """The files that are not in a corpus: each unreadable one, and the others in one line."""
    from agent.search.corpus import PARTIAL

    skipped, unknown = corpus.skipped_files, corpus.unknown_files
    warnings = [f"Not in the corpus: {reason}" for reason in skipped[:MAX_SKIPPED_SHOWN]]
    if more := len(skipped) - len(warnings):
        warnings.append(f"Not in the corpus: {more} more files that cannot be read in whole.")
    if unknown:
        warnings.append(f"Not in the corpus: {_count(unknown, 'of another type')}")
    if corpus.partial_files:
        warnings.append(f"Not all in the corpus: {_count(corpus.partial_files, PARTIAL)}")
    if corpus.progress:
        warnings.append(f"{corpus.progress} Ask again for the rest.")
    return tuple(map(sanitize_for_display, warnings))


def _count(files: tuple[str, ...], what: str) -> str:
    """How many files, and the first names."""
    names = ", ".join(files[:MAX_SKIPPED_SHOWN])
    more = ", ..." if len(files) > MAX_SKIPPED_SHOWN else ""
    return f"{len(files)} file{'s' if len(files) > 1 else ''} {what}: {names}{more}"


def _open_web(
    settings: Settings, rate_limiter: RateLimiter | None, corpus: Corpus | None = None
) -> Sources:
    """The web behind the cache; with a `corpus` among the search providers, without a cache.

    What MCP servers give is never in the cache: it may be private.
    """
    from agent.search import build_search_chain
    from agent.search.mcp.source import open_servers

    servers = open_servers(settings)
    own: dict[str, Provider] = {server.name: server for server in servers}
    own |= {"corpus": corpus} if corpus else {}
    chain = build_search_chain(settings, search_options(settings), own, rate_limiter)
    reader = open_page_reader(settings)
    given = GivenTexts(reader, is_wanted=settings.search_page_text)
    web = _with_stand_ins(settings, reader, _plugin_or_web(settings, given.read))
    web = _refuse_older(web, settings.since)
    web = _with_registries(settings, web)
    read = _corpus_or_web(corpus, web) if corpus else web
    warnings = _corpus_warnings(corpus) if corpus else tuple[str, ...]

    def close() -> None:
        reader.close()
        chain.close()

    sources = Sources(
        _with_time(lambda query: given.keep(chain(query))),
        read,
        reader.warm,
        close,
        warnings,
        chain.limit_spending,
        chain.count_earlier,
    )
    if settings.cache and settings.cache_ttl and not corpus:
        sources = _with_cache(settings, sources, searches=not servers)
    sources = _with_servers(servers, sources, reader) if servers else sources
    return _with_open_texts(settings, sources, reader) if _scholarly(settings) else sources


def _with_servers(servers: list[McpSource], web: Sources, reader: PageReader) -> Sources:
    """The same sources, which read at an MCP server what it found."""
    from agent.search.mcp.source import McpReader

    own = McpReader(servers, reader, web.read)

    def count_earlier(results: SearchResults) -> None:
        own.keep(results)
        web.count_earlier(results)

    return web._replace(
        search=lambda query: own.keep(web.search(query)),
        read=own.read,
        warnings=lambda: (*web.warnings(), *own.warnings()),
        count_earlier=count_earlier,
    )


def _scholarly(settings: Settings) -> list[str]:
    """The bibliographic services that a run may ask; all of them for the set."""
    from agent.search.providers import research_services
    from agent.search.scholar.fusion import SERVICES, Scholar

    named = {*settings.search, *research_services(settings)}
    return [name for name in SERVICES if {name, Scholar.name} & named]


def _with_open_texts(settings: Settings, web: Sources, reader: PageReader) -> Sources:
    """The same sources, which read the open text of a work where its address is to be read.

    It is before the cache and told of what the journal answers, so it knows every work of the run.
    """
    from agent.search.scholar.open_texts import OpenTexts

    texts = OpenTexts(settings, reader, web.read)

    def count_earlier(results: SearchResults) -> None:
        texts.keep(results)
        web.count_earlier(results)

    search = lambda query: texts.keep(web.search(query))  # noqa: E731
    return web._replace(search=search, read=texts.read, count_earlier=count_earlier)


def _plugin_or_web(settings: Settings, reader: Read) -> Read:
    """Reads an address with the first added reader that takes it, else as a web page."""
    added: list[AddedReader] = [make(settings) for make in load_plugins("readers")]

    def read(url: str) -> Page:
        own = next((one for one in added if one.takes(url)), None)
        if own is None:
            return reader(url)
        title, text = own.read(url)
        clean = strip_controls(text)[: settings.page_max_bytes]
        return Page.from_text(url, sanitize_line(title, MAX_TITLE), clean, utc_now())

    return read if added else reader


def _with_stand_ins(settings: Settings, reader: PageReader, web: Read) -> Read:
    """The same reader, with what the user allows to stand in for a page that cannot be read."""
    from agent.pages.archive import WebArchive
    from agent.pages.jina import JinaReader
    from agent.pages.stand_ins import LOST, REFUSED, StandIn, StandIns

    others: list[StandIn] = []
    if settings.jina_reader:
        jina = JinaReader(settings, reader)
        others.append(StandIn(jina.name, jina.read, REFUSED))
    if settings.archive:
        archive = WebArchive(settings.archive_base_url, web)
        others.append(StandIn("archive", archive.read, LOST))
    if not others:
        return web
    return StandIns(web, tuple(others))


def _with_registries(settings: Settings, web: Read) -> Read:
    """The same reader, which also reads what registries say of a DOI."""
    from agent.search import retractions

    notices = retractions.Retractions(settings.crossref_base_url, settings.europepmc_base_url)

    def read(url: str) -> Page:
        if not url.startswith(retractions.SCHEME):
            return web(url)
        notice = notices.find_notice(url.removeprefix(retractions.SCHEME))
        return Page.from_text(url, notice, notice, utc_now())

    return read


def _refuse_older(read: Read, since: date | None) -> Read:
    """The same reader, without the pages that are older than `since` by their own date."""
    if since is None:
        return read
    from agent.pages.download import host_of

    def read_recent(url: str) -> Page:
        page = read(url)
        if page.date and page.date < since.isoformat():
            fault = f"{host_of(page.url)}: it is of {page.date} by its own date, before {since}."
            raise ReadFailed(fault, "Name an earlier day with --since.", outcome="skipped")
        return page

    return read_recent


def search_options(settings: Settings) -> SearchOptions:
    """What the settings say of the pages that may be found."""
    from agent.search.options import SearchOptions

    return SearchOptions(
        language=settings.lang,
        since=settings.since,
        allow_domains=settings.allow_domains,
        block_domains=settings.block_domains,
        page_text=settings.search_page_text,
    )


def _corpus_or_web(corpus: Corpus, web: Read) -> Read:
    """Reads a document of the corpus where the URL is of one, else the web page."""

    def read(url: str) -> Page:
        try:
            return corpus.read(url)
        except ReadFailed:
            return web(url)

    return read


def _with_time(search: Search) -> Search:
    """The same search, whose results say when it was made."""
    return lambda query: search(query).model_copy(update={"at": utc_now()})


def _with_cache(settings: Settings, web: Sources, *, searches: bool) -> Sources:
    """The web behind the cache that all runs share, with or without its searches."""
    from agent.outside.cache import open_cache

    folder = (settings.cache_dir or user_folder("cache")) / "web"
    cache = open_cache(settings.cache_url.get_secret_value(), folder, settings.cache_ttl)

    def warm() -> None:
        web.warm()
        cache.warm()

    def close() -> None:
        web.close()
        cache.close()

    search = cache.wrap_search(web.search, **_search_key_fields(settings))
    search = search if searches else web.search
    read = cache.wrap_read(web.read, **_read_key_fields(settings))
    warnings = lambda: (*web.warnings(), cache.problem)  # noqa: E731
    return web._replace(search=search, read=read, warm=warm, close=close, warnings=warnings)


def _search_key_fields(settings: Settings) -> dict[str, Any]:
    """The settings that affect the results of a search. Of an API key: whether it is set."""
    names = {"search", "searxng_url", "lang", "since", "allow_domains", "block_domains"}
    names |= {"search_page_text"}
    asked = (*settings.search, *_scholarly(settings))
    names |= {f"{name}_base_url" for name in asked} & Settings.model_fields.keys()
    fields = settings.model_dump(mode="json", include=names)
    api_keys = [bool(getattr(settings, f"{name}_api_key", "")) for name in asked]
    if "google" in settings.search:  # whose key and address are those of Gemini
        account = settings.gemini_account
        fields |= {"google": [account.is_usable, account.base_url, settings.gemini_model]}
    return {**fields, "keys": api_keys}


def _read_key_fields(settings: Settings) -> dict[str, Any]:
    """The settings that permit reading: a page that a run may not read is a miss for it."""
    return settings.model_dump(
        mode="json",
        include={
            *("allow_private_network", "fetch_through_proxy", "respect_robots", "page_browser"),
            *("search_page_text", "since", "archive", "archive_base_url"),
            *("jina_reader", "jina_reader_base_url"),
            *("crossref_base_url", "europepmc_base_url"),
        },
    )
