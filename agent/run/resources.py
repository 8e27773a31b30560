"""What the runs of one process share: rate limits, connections to models, the index of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from agent.calls.plugins import plugin_names
from agent.calls.rate_limits import (
    RateLimits,
    SharedRateLimits,
    is_writable_folder,
    parse_rate_limits,
)
from agent.errors import UsageError
from agent.llm import Model
from agent.run.models import MODEL_PROVIDERS, make_models
from agent.run.retriever import open_corpus, open_retriever
from agent.settings import Settings, user_folder

if TYPE_CHECKING:
    from agent.search.corpus import Corpus


class SharedResources(NamedTuple):
    """What the runs of one process share. `corpus` is None where the settings name none."""

    limits: RateLimits
    models: Sequence[Model]
    corpus: Corpus | None


def share_resources(settings: Settings, limits: RateLimits | None = None) -> SharedResources:
    """Resources for all runs with these settings, for as long as the process lives.

    Without `limits`, those of `open_rate_limits`. Raises UsageError or NotConfigured for settings
    with which no run could be made.
    """
    limits = limits or open_rate_limits(settings)
    models = list(map(_share, make_models(settings)))
    needs_corpus = settings.offline or settings.corpus is not None
    corpus = open_corpus(settings) if needs_corpus else None
    open_retriever(settings, corpus).close()  # raises now for an unknown search provider
    # else the rate limiter counts the first requests before an import of a second, and they are
    # sent together after it
    models[0].warm()
    return SharedResources(limits, models, corpus)


def _share(model: Model) -> Model:
    """The same model, which the end of one run does not close: other runs use it."""
    shared = copy(model)
    shared.close = lambda: None  # type: ignore[method-assign]
    return shared


def open_rate_limits(settings: Settings) -> RateLimits:
    """The rate limits of the providers, counted together with all runs that use this cache folder.

    Raises UsageError for limits that cannot be parsed, are of an unknown provider, or cannot be
    counted because the folder is not writable.
    """
    rates = parse_rate_limits(settings.rate_limits)
    _check_providers(rates, settings.servers)
    folder = (settings.cache_dir or user_folder("cache")) / "limits"
    if rates and not is_writable_folder(folder):
        remedy = "RESEARCH_AGENT_RATE_LIMITS are counted there: name another folder with CACHE_DIR."
        raise UsageError(f"{folder} cannot be written.", remedy)
    return SharedRateLimits(rates, folder, settings.rate_window)


def _check_providers(limits: Iterable[str], servers: Iterable[str]) -> None:
    """Raises UsageError for the limit of an unknown provider, which would have no effect."""
    names = {name.partition(":")[0] for name in limits}
    if not names:
        return
    from agent.search.providers import PROVIDERS

    known = [*(name for name in MODEL_PROVIDERS if name != "extractive"), *servers, *PROVIDERS]
    known += [*plugin_names("models"), *plugin_names("search_providers")]
    for name in sorted(names.difference(known)):
        fault = f"RESEARCH_AGENT_RATE_LIMITS: there is no provider {name!r}."
        raise UsageError(fault, f"Choose from: {', '.join(known)}.")
