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
from agent.settings import BASE_URLS, Settings, user_folder
from agent.state import Page, SearchResults
from agent.state.clock import utc_now
from agent.state.sanitizing import sanitize_for_display, sanitize_line

if TYPE_CHECKING:
    from agent.pages.fetch import PageReader
    from agent.search import Provider
    from agent.search.corpus import Corpus
    from agent.search.options import SearchOptions
    from agent.search.run_pages import RunPages

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

    def read(self, url: str) -> tuple[str, str]:
        """Title and text. Raises ReadFailed."""


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


def _in_turn(*actions: Callable[[], None]) -> Callable[[], None]:
    """All of these, one after the other."""

    def act() -> None:
        for action in actions:
            action()

    return act


#: For a replay, which takes every result from its journal.
NO_SOURCES = Sources(_refuse_call, _refuse_call, _do_nothing, _do_nothing, tuple)


def open_sources(
    settings: Settings,
    rate_limiter: RateLimiter | None = None,
    corpus: Corpus | None = None,
    seconds: float | None = None,
) -> Sources:
    """The sources that the settings name. Close them.

    They are the web, if the settings name no corpus; the web and the corpus, if `corpus` is one
    of the search providers; else the corpus alone. `offline` allows a corpus only, by default
    the demo's, and what earlier runs read. `corpus` is the corpus of the settings where it is
    already open; closing the sources leaves it open. `seconds`: for reading the files of a
    corpus that is not open. Raises UsageError.
    """
    if settings.offline and settings.run_source:
        own = (corpus or open_corpus(settings, seconds)) if settings.corpus else None
        return _offline_sources(open_run_pages(settings), own, is_ours=corpus is None)
    is_web = uses_web(settings)
    if settings.corpus is None and is_web:
        return _open_web(settings, rate_limiter)
    opened = corpus or open_corpus(settings, seconds)
    end = _do_nothing if corpus else opened.close
    if is_web:
        web = _open_web(settings, rate_limiter, opened)
        return web._replace(close=_in_turn(web.close, end))
    # of the demo's folder, which is ours, nobody wants to hear what else lies in it
    warnings = _corpus_warnings(opened) if settings.corpus else tuple[str, ...]
    return _corpus_sources(opened, warnings, end)


def uses_web(settings: Settings) -> bool:
    """Whether anything but a corpus is searched and read."""
    return not settings.offline and (settings.corpus is None or "corpus" in settings.search)


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


def open_run_pages(settings: Settings) -> RunPages:
    """The pages of earlier runs, as the settings name them. Close them."""
    from agent.search.run_pages import RunPages

    folder = settings.runs_dir or user_folder("data") / "runs"
    cache = settings.cache_dir or user_folder("cache")
    return RunPages(settings.run_source, folder, cache, search_options(settings))


def _with_run_pages(runs: RunPages, web: Sources) -> Sources:
    """The same sources, which read what an earlier run read from its journal.

    A page that was deleted meanwhile is read anew.
    """
    return _with_kept(web, runs)._replace(read=_read_first(runs.read, web.read))


def _read_first(first: Read, second: Read) -> Read:
    """A reader of what the first has, and of all else by the second."""

    def read(url: str) -> Page:
        try:
            return first(url)
        except ReadFailed:
            return second(url)

    return read


def _offline_sources(runs: RunPages, corpus: Corpus | None, *, is_ours: bool) -> Sources:
    """What earlier runs read, then a corpus if there is one. Nothing leaves the machine."""
    from agent.search import SearchChain

    close = _in_turn(runs.close, corpus.close) if corpus and is_ours else runs.close
    search = _with_time(SearchChain([runs, corpus] if corpus else [runs]))
    read = corpus.read if corpus else runs.read
    return _with_run_pages(runs, Sources(search, read, _do_nothing, close, tuple))


class _SearchOf:
    """A corpus in a search chain, whose end leaves it open."""

    name, local = "corpus", True

    def __init__(self, corpus: Corpus) -> None:
        self.search = corpus.search


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
    own |= {"corpus": _SearchOf(corpus)} if corpus else {}
    runs = open_run_pages(settings) if settings.run_source else None
    own |= {runs.name: runs} if runs else {}
    chain = build_search_chain(settings, search_options(settings), own, rate_limiter)
    reader = open_page_reader(settings)
    web = _with_archive(settings, reader, _plugin_or_web(settings, reader))
    web = _refuse_older(web, settings.since)
    web = _with_registries(settings, web)
    read = _read_first(corpus.read, web) if corpus else web
    warnings = _corpus_warnings(corpus) if corpus else tuple[str, ...]
    sources = Sources(
        _with_time(chain),
        read,
        reader.warm,
        _in_turn(reader.close, chain.close),
        warnings,
        chain.limit_spending,
        chain.count_earlier,
    )
    if settings.cache and settings.cache_ttl and not corpus:
        sources = _with_cache(settings, sources, searches=not (servers or runs))
    sources = _with_run_pages(runs, sources) if runs else sources
    if servers:
        from agent.search.mcp.source import McpReader

        own_reader = McpReader(servers, reader, sources.read)
        sources = _with_kept(sources, own_reader)
        told = sources.warnings
        sources = sources._replace(warnings=lambda: (*told(), *own_reader.warnings()))
    return _with_known_texts(settings, sources, reader)


class Keeper(Protocol):
    """A reader of pages that searches told it of."""

    def keep(self, found: SearchResults) -> SearchResults:
        """Remember what a search found."""

    def read(self, url: str) -> Page:
        """A page that was told of, or any other. Raises ReadFailed."""


def _with_kept(web: Sources, keeper: Keeper) -> Sources:
    """The same sources, which read by a keeper.

    It is before the cache and told of what the journal answers, so it knows every hit of the run.
    """

    def count_earlier(results: SearchResults) -> None:
        keeper.keep(results)
        web.count_earlier(results)

    search = lambda query: keeper.keep(web.search(query))  # noqa: E731
    return web._replace(search=search, read=keeper.read, count_earlier=count_earlier)


def _with_known_texts(settings: Settings, web: Sources, reader: PageReader) -> Sources:
    """The same sources, which read the open text of a work, and a computation as it was given."""
    from agent.search.providers import find_services
    from agent.search.scholar.fusion import Scholar
    from agent.search.scholar.open_texts import OpenTexts
    from agent.search.wolfram import ComputedPages, Wolfram

    if find_services(settings, Scholar):
        web = _with_kept(web, OpenTexts(settings, reader, web.read))
    if Wolfram.name in settings.search:
        web = _with_kept(web, ComputedPages(Wolfram(settings), reader, web.read))
    return web


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


def _with_archive(settings: Settings, reader: PageReader, web: Read) -> Read:
    """The same reader, with archived copies of pages that cannot be read, if the user allows it."""
    from agent.pages.archive import WebArchive
    from agent.pages.stand_ins import LOST, StandIn, StandIns

    if not settings.archive:
        return web
    archive = WebArchive(settings.base_url("archive"), web, reader.check_public)
    return StandIns(web, (StandIn("archive", archive.read, LOST),))


def _with_registries(settings: Settings, web: Read) -> Read:
    """The same reader, which also reads what registries say of a DOI."""
    from agent.search import retractions

    notices = retractions.Retractions(settings.base_url("crossref"), settings.base_url("europepmc"))

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
    from agent.state.urls import host_of

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
    )


def _with_time(search: Search) -> Search:
    """The same search, whose results say when it was made."""
    return lambda query: search(query).model_copy(update={"at": utc_now()})


def _with_cache(settings: Settings, web: Sources, *, searches: bool) -> Sources:
    """The web behind the cache that all runs share, with or without its searches."""
    from agent.outside.cache import Cache, DiskStore

    folder = (settings.cache_dir or user_folder("cache")) / "web"
    cache = Cache(DiskStore(folder), settings.cache_ttl)
    search = cache.wrap_search(web.search, **_search_key_fields(settings))
    search = search if searches else web.search
    read = cache.wrap_read(web.read, **_read_key_fields(settings))
    warnings = lambda: (*web.warnings(), cache.problem)  # noqa: E731
    warm, close = _in_turn(web.warm, cache.warm), _in_turn(web.close, cache.close)
    return web._replace(search=search, read=read, warm=warm, close=close, warnings=warnings)


def _search_key_fields(settings: Settings) -> dict[str, Any]:
    """The settings that affect the results of a search. Of an API key: whether it is set."""
    from agent.search.providers import SETS, account_of, find_services

    names = {"search", "lang", "since", "allow_domains", "block_domains"}
    in_sets = (name for one in SETS for name in find_services(settings, one))
    asked = list(map(account_of, (*settings.search, *in_sets)))
    fields = settings.model_dump(mode="json", include=names)
    fields |= {name: settings.base_url(name) for name in asked if name in BASE_URLS}
    api_keys = [bool(settings.key(name)) for name in asked]
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
            *("since", "archive", "base_urls"),
        },
    )
