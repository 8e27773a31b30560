"""How a run searches and reads: the web, or a corpus, behind the cache where there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent import USER_AGENT
from agent.errors import ReadFailed
from agent.outside.limits import Turns
from agent.settings import Settings, user_folder
from agent.state import Found, Page
from agent.state.clock import utc_now

if TYPE_CHECKING:
    from agent.sources.pages.fetch import PageReader
    from agent.sources.search.corpus import Corpus

MOST_SKIPPED = 10  # files of a corpus that are named as unreadable


class Sources(NamedTuple):
    """How this run searches and reads: the web, or a corpus."""

    search: Callable[[str], Found]
    read: Callable[[str], Page]
    warm: Callable[[], None]  # imports what reading needs
    close: Callable[[], None]
    notes: Callable[[], tuple[str, ...]]  # what the user should know by now, in words


def _nothing() -> None:
    pass


def _nowhere(_: str) -> Any:
    raise AssertionError("a replay goes nowhere")


#: For a replay, which asks the journal alone.
NO_SOURCES = Sources(_nowhere, _nowhere, _nothing, _nothing, tuple)


def open_sources(
    settings: Settings, turns: Turns | None = None, corpus: Corpus | None = None
) -> Sources:
    """A corpus where one is named, else the web; both where `corpus` is one of `search`.

    `corpus`: the one that is named, already open; it is then left open. Raises UsageError.
    """
    if settings.corpus is None and not settings.offline:
        return _web(settings, turns)
    opened = corpus or open_corpus(settings)
    if "corpus" in settings.search and not settings.offline:
        return _web(settings, turns, opened)
    return _local(opened, _nothing if corpus else opened.close)


def open_corpus(settings: Settings) -> Corpus:
    """The corpus that is named, else the demo's; its index is made if there is none. Close it."""
    from agent.sources.search.corpus import Corpus

    path = settings.corpus or Path(__file__).parents[1] / "demo"
    return Corpus(path, settings.cache_dir or user_folder("cache"))


def _local(corpus: Corpus, close: Callable[[], None]) -> Sources:
    """Search and read a corpus and nothing else: nothing of a private document leaves by search."""
    from agent.sources.search import SearchChain

    skipped = tuple(f"Not in the corpus: {reason}" for reason in corpus.skipped[:MOST_SKIPPED])
    chain = _dated(SearchChain([corpus]))
    return Sources(chain, corpus.read, _nothing, close, lambda: skipped)


def page_reader(settings: Settings) -> PageReader:
    """What reads pages of the web. Close it."""
    from agent.sources.pages.fetch import PageReader

    return PageReader(
        timeout=settings.page_timeout,
        max_bytes=settings.page_max_bytes,
        allow_private_network=settings.allow_private_network,
        through_proxy=settings.fetch_through_proxy,
        respect_robots=settings.respect_robots,
        user_agent=settings.user_agent or USER_AGENT,
    )


def _web(settings: Settings, turns: Turns | None, corpus: Corpus | None = None) -> Sources:
    """The web and, where there is one, a corpus among its providers; then nothing is cached."""
    from agent.sources.search import build
    from agent.sources.search.options import Options

    options = Options(
        language=settings.lang,
        since=settings.since,
        allow_domains=settings.allow_domains,
        block_domains=settings.block_domains,
    )
    reader = page_reader(settings)
    search = _dated(build(settings, options, corpus, turns))
    if corpus:
        return Sources(search, _either(corpus, reader), reader.warm, reader.close, lambda: ())
    web = Sources(search, reader, reader.warm, reader.close, lambda: ())
    return _cached(settings, web) if settings.cache and settings.cache_ttl else web


def _either(corpus: Corpus, reader: PageReader) -> Callable[[str], Page]:
    """A document of the corpus by its address, else the page of the web."""

    def read(url: str) -> Page:
        try:
            return corpus.read(url)
        except ReadFailed:
            return reader(url)

    return read


def _dated(search: Callable[[str], Found]) -> Callable[[str], Found]:
    return lambda query: search(query).model_copy(update={"at": utc_now()})


def _cached(settings: Settings, web: Sources) -> Sources:
    """The web, asked only for what no earlier run has found or read."""
    from agent.sources.cache import open_cache

    folder = (settings.cache_dir or user_folder("cache")) / "web"
    cache = open_cache(settings.cache_url.get_secret_value(), folder, settings.cache_ttl)

    def warm() -> None:
        web.warm()
        cache.warm()

    def close() -> None:
        web.close()
        cache.close()

    search = cache.search(web.search, **_search_rules(settings))
    read = cache.read(web.read, **_read_rules(settings))
    return Sources(search, read, warm, close, lambda: (*web.notes(), cache.problem))


def _search_rules(settings: Settings) -> dict[str, Any]:
    """What changes the answer to a query, keys apart: who is asked, where, for what."""
    keys = (f"{name}_api_key" for name in settings.search)
    kept = {"search", "searxng_url", "lang", "since", "allow_domains", "block_domains"}
    kept |= {f"{name}_base_url" for name in settings.search} & Settings.model_fields.keys()
    rules = settings.model_dump(mode="json", include=kept)
    return {**rules, "keys": [bool(getattr(settings, key, "")) for key in keys]}


def _read_rules(settings: Settings) -> dict[str, Any]:
    """What permits reading: a page that this run may not read, the cache does not show it."""
    return settings.model_dump(
        mode="json", include={"allow_private_network", "fetch_through_proxy", "respect_robots"}
    )
