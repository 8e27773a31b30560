"""The retriever of a run: behind the cache that all runs share, with the pages of followed runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.calls.journal_lines import parent_of
from agent.run.follow import find_chain
from agent.run.header import RunSpec, journal_path
from agent.run.retriever import Retriever, open_retriever, search_options
from agent.settings import BASE_URLS, Settings, user_folder

if TYPE_CHECKING:
    from agent.search.corpus import Corpus

#: Of `max_seconds`, for reading the files of a corpus; files that are left are read by later runs.
CORPUS_TIME_SHARE = 0.5


def open_run_retriever(spec: RunSpec, corpus: Corpus | None) -> Retriever:
    """The sources of the settings, with the pages of the runs that the run follows, if any."""
    settings = spec.settings
    seconds = settings.max_seconds and CORPUS_TIME_SHARE * settings.max_seconds
    retriever = open_cached_retriever(settings, corpus, seconds)
    if spec.request.beside:
        from agent.search.cited_files import read_beside

        retriever.read = read_beside(spec.request.beside, retriever.read)
    parent = parent_of(spec.header)
    if parent is None:
        return retriever
    from agent.search.parent_pages import ParentPages, find_nothing

    if not parent.run:
        retriever.search_parent = find_nothing
        return retriever
    named = journal_path(settings, spec.request.follow) if spec.request.follow else None
    chain = find_chain(parent, spec.path.parent, named)
    pages = ParentPages(chain, search_options(settings))
    retriever.search_parent, retriever.read_parent = pages.search, pages.read
    return retriever


def open_cached_retriever(
    settings: Settings, corpus: Corpus | None = None, seconds: float | None = None
) -> Retriever:
    """`open_retriever` with the cache that all runs share, behind its page stores."""
    from agent.calls.cache import Cache, DiskStore

    retriever = open_retriever(settings, corpus, seconds)
    if retriever.cached and settings.cache and settings.cache_ttl:
        folder = (settings.cache_dir or user_folder("cache")) / "web"
        cache = Cache(DiskStore(folder), settings.cache_ttl)
        if retriever.cached == "all":
            retriever.find = cache.wrap_search(retriever.find, **_search_key_fields(settings))
        retriever.read = cache.wrap_read(retriever.read, **_read_key_fields(settings))
        retriever.problems.append(lambda: (cache.problem,))
        retriever.warms.append(cache.warm)
    retriever.add_page_stores()
    return retriever


def _search_key_fields(settings: Settings) -> dict[str, Any]:
    """The settings that affect the results of a search. Of an API key: whether it is set."""
    from agent.search.providers import SETS, account_of, find_services

    in_sets = (name for one in SETS for name in find_services(settings, one))
    asked = [*map(account_of, (*settings.search, *in_sets))]
    names = {"search", "lang", "since", "allow_domains", "block_domains"}
    fields = settings.model_dump(mode="json", include=names)
    fields |= {name: settings.base_url(name) for name in asked if name in BASE_URLS}
    fields["keys"] = [bool(settings.key(name)) for name in asked]
    if "google" in settings.search:  # whose key and address are those of Gemini
        account = settings.gemini_account
        fields["google"] = [account.is_usable, account.base_url, settings.gemini_model]
    return fields


def _read_key_fields(settings: Settings) -> dict[str, Any]:
    """The settings that permit reading: a page that a run may not read is a miss for it."""
    names = "allow_private_network fetch_through_proxy respect_robots page_browser since archive"
    return settings.model_dump(mode="json", include={*names.split(), "base_urls"})
