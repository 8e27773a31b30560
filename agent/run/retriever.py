"""What a run searches and reads: the web behind a cache, a corpus, or both."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.calls.budget import Budget
from agent.run.page_readers import Read, compose_reader, open_page_reader, read_first
from agent.settings import Settings, user_folder
from agent.state import SearchResults, sanitize_for_display

if TYPE_CHECKING:
    from agent.pages.fetch import PageReader
    from agent.search.corpus import Corpus
    from agent.search.mcp.source import McpSource
    from agent.search.provider_chain import Provider, SearchChain
    from agent.search.run_pages import RunPages
    from agent.search.search_options import SearchOptions

#: Seconds that a run waits for the index of a corpus; then it searches what is in it so far.
INDEX_PATIENCE = 30.0
MAX_SKIPPED_SHOWN = 10  # files of a corpus that warnings name as unreadable, and as unknown

DEMO = Path(__file__).parents[1] / "demo"

Search = Callable[[str], SearchResults]


def _refuse_call(_: str) -> Any:
    raise AssertionError("a replay makes no external call")


@dataclass
class Retriever:
    """How a run searches and reads; by default that of a replay, which does neither. Close it."""

    find: Search = _refuse_call  # without the page stores
    read: Read = _refuse_call
    chain: SearchChain | None = None
    #: Take what was found, by this process or by the part of the run that its journal holds.
    page_stores: list[Callable[[SearchResults], object]] = field(default_factory=list)
    warms: list[Callable[[], object]] = field(default_factory=list)  # import what reading needs
    closes: list[Callable[[], None]] = field(default_factory=list)
    is_rendering: Callable[[], bool] = lambda: False  # a page, in a browser
    problems: list[Callable[[], tuple[str, ...]]] = field(default_factory=list)
    #: What the cache of all runs may hold. The page stores are in front of it.
    cached: Literal["", "pages", "all"] = ""
    add_page_stores: Callable[[], object] = tuple  # none
    # of the pages of the runs that the run follows
    search_parent: Search = _refuse_call
    read_parent: Read = _refuse_call

    def add_page_store(self, keep: Callable[[SearchResults], object], read: Read) -> None:
        """Read from a store of pages, which is given every search result. No cache is before it."""
        self.page_stores.append(keep)
        self.read = read

    def search(self, query: str) -> SearchResults:
        """Search, and give the results to the page stores. Raises SearchFailed."""
        found = self.find(query)
        self._keep(found)
        return found

    def _keep(self, found: SearchResults) -> None:
        for keep in self.page_stores:
            keep(found)

    def warm(self) -> None:
        """Import what reading needs."""
        for warm in self.warms:
            warm()

    def close(self) -> None:
        """Close what was opened for them."""
        for close in self.closes:
            close()

    def warnings(self) -> tuple[str, ...]:
        """For the user, as of now; "" counts for none."""
        return tuple(warning for describe in self.problems for warning in describe())

    def limit(self, acquire: Callable[[str], None], budget: Budget | None = None) -> None:
        """Call `acquire` with a provider before each search, and ask the budget if it costs."""
        if self.chain:
            self.chain.acquire = acquire
            self.chain.paid.budget = budget

    def count_earlier(self, results: SearchResults) -> None:
        """Count a search that the journal answered."""
        self._keep(results)
        if self.chain:
            self.chain.paid.count_earlier(results)


def open_retriever(
    settings: Settings, corpus: Corpus | None = None, seconds: float | None = None
) -> Retriever:
    """The sources that the settings name. Close them.

    They are the web, if the settings name no corpus; the web and the corpus, if `corpus` is one
    of the search providers; else the corpus alone. `offline` allows a corpus only, by default
    the demo's, and what earlier runs read. `corpus` is the corpus of the settings where it is
    already open; closing the retriever leaves it open. `seconds`: for reading the files of a
    corpus that is not open. Raises UsageError.
    """
    is_web = uses_web(settings)
    has_runs = bool(settings.run_source) and (is_web or settings.offline)
    runs = open_run_pages(settings) if has_runs else None
    is_needed = settings.corpus or (settings.offline and not runs)
    opened = (corpus or open_corpus(settings, seconds)) if is_needed else None
    retriever = _open_web(settings, opened, runs) if is_web else _open_local(opened, runs)
    if opened and not corpus:
        retriever.closes.append(opened.close)
    if opened and settings.corpus:  # of the demo's folder nobody wants to hear what it lacks
        # what is left out when it is first asked for; the same all through a run
        retriever.problems.append(cache(partial(_describe_left_out, opened)))
    return retriever


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


def _open_local(corpus: Corpus | None, runs: RunPages | None) -> Retriever:
    """What earlier runs read, and a corpus. No query leaves the machine, so none can give a
    private document away.
    """
    from agent.search.provider_chain import SearchChain

    chain = SearchChain([one for one in (runs, corpus) if one])
    retriever = Retriever(chain, corpus.read if corpus else _refuse_call, chain)
    if runs:
        retriever.add_page_store(
            runs.keep, read_first(runs.read, corpus.read) if corpus else runs.read
        )
        retriever.closes.append(runs.close)
    return retriever


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
    more = ["..."] if len(files) > MAX_SKIPPED_SHOWN else []
    names = ", ".join([*files[:MAX_SKIPPED_SHOWN], *more])
    return f"{len(files)} file{'s' if len(files) > 1 else ''} {what}: {names}"


def open_run_pages(settings: Settings) -> RunPages:
    """The pages of earlier runs, as the settings name them. Close them."""
    from agent.search.run_pages import RunPages

    folder = settings.runs_dir or user_folder("data") / "runs"
    cache = settings.cache_dir or user_folder("cache")
    return RunPages(settings.run_source, folder, cache, search_options(settings))


class _SearchOf:
    """A corpus in a search chain, whose end leaves it open."""

    name, local, is_own = "corpus", True, True

    def __init__(self, corpus: Corpus) -> None:
        self.search = corpus.search


def _open_web(settings: Settings, corpus: Corpus | None, runs: RunPages | None) -> Retriever:
    """The web; with a `corpus` among the search providers, which no cache holds.

    What MCP servers give is never in the cache: it may be private.
    """
    from agent.search.mcp.source import open_servers
    from agent.search.providers import build_search_chain

    servers, reader = open_servers(settings), open_page_reader(settings)
    own: dict[str, Provider] = {server.name: server for server in servers}
    own |= {"corpus": _SearchOf(corpus)} if corpus else {}
    own |= {runs.name: runs} if runs else {}
    chain = build_search_chain(settings, search_options(settings), own)
    retriever = Retriever(chain, compose_reader(settings, reader), chain)
    retriever.is_rendering = reader.is_rendering
    retriever.warms.append(reader.warm)
    retriever.closes += [reader.close, chain.close]
    if corpus:
        retriever.read = read_first(corpus.read, retriever.read)
    else:
        retriever.cached = "pages" if servers or runs else "all"
    retriever.add_page_stores = partial(
        _add_page_stores, settings, retriever, reader, servers, runs
    )
    return retriever


def _add_page_stores(
    settings: Settings,
    retriever: Retriever,
    reader: PageReader,
    servers: Sequence[McpSource],
    runs: RunPages | None,
) -> None:
    """Add the readers of what only a search can name, the innermost first.

    They are: pages that earlier runs read (one that was deleted meanwhile is read anew), what
    MCP servers have, the open text of a work, and a computation as it was given.
    """
    from agent.search.mcp.source import McpReader
    from agent.search.providers import find_services
    from agent.search.scholar.fusion import Scholar
    from agent.search.scholar.open_texts import OpenTexts
    from agent.search.wolfram import ComputedPages, Wolfram

    if runs:
        retriever.add_page_store(runs.keep, read_first(runs.read, retriever.read))
    if servers:
        of_servers = McpReader(servers, reader, retriever.read)
        retriever.add_page_store(of_servers.keep, of_servers.read)
        retriever.problems.append(of_servers.warnings)
    if find_services(settings, Scholar):
        texts = OpenTexts(settings, reader, retriever.read)
        retriever.add_page_store(texts.keep, texts.read)
    if Wolfram.name in settings.search:
        computed = ComputedPages(Wolfram(settings), reader, retriever.read)
        retriever.add_page_store(computed.keep, computed.read)


def search_options(settings: Settings) -> SearchOptions:
    """What the settings say of the pages that may be found."""
    from agent.search.search_options import SearchOptions

    return SearchOptions(
        language=settings.lang,
        since=settings.since,
        allow_domains=settings.allow_domains,
        block_domains=settings.block_domains,
    )
