"""The table of search providers, and the chain of those that the settings name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec

from agent.calls.plugins import load_plugin, plugin_names
from agent.errors import UsageError
from agent.search.code import Code
from agent.search.duckduckgo import DuckDuckGo
from agent.search.google_grounding import GoogleGrounding
from agent.search.paid_terms import Terms
from agent.search.parallel_search import SideBySide
from agent.search.provider_chain import Provider, SearchChain
from agent.search.scholar.fusion import Scholar
from agent.search.search_options import SearchOptions
from agent.search.service import Service
from agent.settings import BASE_URLS, DEFAULT_PROVIDERS, KEY_VARIABLES, Settings
from agent.settings.mcp_servers import find_mcp_servers

#: Services that are asked side by side under one name, and each of them by its own.
SETS: tuple[type[SideBySide], ...] = (Scholar, Code)
for _name in BASE_URLS:
    if find_spec(f"agent.search.{_name}"):
        import_module(f"agent.search.{_name}")
#: Services by name: each with a module of its name in this folder, and those of a set.
SERVICES = {
    one.name: one for one in Service.__subclasses__() if getattr(one, "name", "") in BASE_URLS
} | {name: service for one_set in SETS for name, service in one_set.services.items()}
#: Name in SEARCH_PROVIDERS -> how to build it. Without its key, `search` names the missing setting.
PROVIDERS: dict[str, Callable[[Settings, SearchOptions], Provider]] = {
    "google": GoogleGrounding,
    "duckduckgo": lambda settings, options: DuckDuckGo(options, settings.search_timeout),
    **{one.name: one for one in SETS},
    **SERVICES,
}


def find_paid_terms(settings: Settings) -> Terms | None:
    """The terms of the provider that a run asks first; None if that one costs nothing here."""
    first = next((n for n in map(str.lower, settings.search) if _has_key(n, settings)), "")
    is_paid = first == GoogleGrounding.name
    return GoogleGrounding(settings, SearchOptions()).terms if is_paid else None


def build_search_chain(
    settings: Settings,
    options: SearchOptions | None = None,
    own: Mapping[str, Provider] | None = None,
) -> SearchChain:
    """The chain of the providers that the settings name, in their order.

    `options` None: the language of the settings and nothing else. `own`: the user's own
    providers, by their names. Raises UsageError for an unknown name.
    """
    options = options or SearchOptions(language=settings.lang)
    own = own or {}
    factories = PROVIDERS | {name: _always(provider) for name, provider in own.items()}
    names = name_providers(settings, [name for name in own if name.startswith("mcp:")])
    for name in set(names) - factories.keys():
        if plugin := load_plugin("search_providers", name):
            factories = {**factories, name: plugin}
    if unknown := [name for name in names if name not in factories]:
        hint = " Name its folder with --corpus." if "corpus" in unknown else ""
        hint = " Name a server with --mcp." if unknown[0].startswith("mcp") else hint
        fault = f"There is no search provider {unknown[0]!r}.{hint}"
        known = dict.fromkeys([*factories, *plugin_names("search_providers")])
        raise UsageError(fault, f"Choose from: {', '.join(known)}.")

    def make(names: Iterable[str]) -> list[Provider]:
        return [factories[name](settings, options) for name in names]

    return SearchChain(make(names), options, for_research=make(research_services(settings)))


def research_services(settings: Settings) -> tuple[str, ...]:
    """Who is asked first for works of research: nobody where the user named who is asked."""
    names_its_own = settings.search != DEFAULT_PROVIDERS or settings.mcp or settings.mcp_servers
    return () if names_its_own else (Scholar.name,)


def _always(provider: Provider) -> Callable[[Settings, SearchOptions], Provider]:
    return lambda *_: provider


def name_providers(settings: Settings, servers: Sequence[str]) -> list[str]:
    """The names of the providers of the settings, in their order, each once.

    `servers` are the MCP servers. `mcp` means all of them; where none is named they are first.
    Before all others comes what earlier runs read.
    """
    named = [name.lower() for name in settings.search]
    if not any(name == "mcp" or name.startswith("mcp:") for name in named):
        named = ["mcp", *named] if servers else named
    each = ([*servers] if name == "mcp" and servers else [name] for name in named)
    names = dict.fromkeys(name for names in each for name in names)
    return sorted(names, key=lambda name: name != settings.run_source)


def account_of(name: str) -> str:
    """The name that a provider's settings have."""
    return (SERVICES[name].account if name in SERVICES else "") or name


def find_services(settings: Settings, one_set: type[SideBySide]) -> list[str]:
    """The services of a set that a run may ask; all of them where the set is named."""
    named = {*settings.search, *research_services(settings)}
    return [name for name in one_set.services if {name, one_set.name} & named]


def find_searches(settings: Settings) -> tuple[str, ...]:
    """The names of the providers that can be asked with these settings, in their order.

    `demo` is the demo's corpus, `corpus` the user's.
    """
    runs = settings.run_source
    if settings.offline:
        own = ("corpus",) if settings.corpus else () if runs else ("demo",)
        return (runs, *own) if runs else own
    if settings.corpus and "corpus" not in settings.search:
        return ("corpus",)
    servers = [f"mcp:{server.name}" for server in find_mcp_servers(settings)]
    names = name_providers(settings, servers)
    return tuple(name for name in names if _can_be_asked(name, settings))


def _can_be_asked(name: str, settings: Settings) -> bool:
    if name == "duckduckgo":
        return find_spec("ddgs") is not None
    return bool(settings.base_url(name)) if name == "searxng" else _has_key(name, settings)


def _has_key(name: str, settings: Settings) -> bool:
    if (service := SERVICES.get(name)) and not service.needs_key:  # its key only allows more
        return True
    if name == GoogleGrounding.name:
        return GoogleGrounding(settings, SearchOptions()).terms is not None
    account = account_of(name)
    return account not in KEY_VARIABLES or bool(settings.key(account))
