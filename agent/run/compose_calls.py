"""The external calls of a run: the one place where journal, budget and providers are composed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from typing import Any

from pydantic import SecretStr

from agent.calls import ExternalCalls, Parent, Task, spawn
from agent.calls.budget import Budget, Caps, sum_usage
from agent.calls.egress_filter import QueryGuard
from agent.calls.journal import Journal
from agent.calls.journal_lines import parent_of
from agent.calls.rate_limits import RateLimiter
from agent.errors import Spent
from agent.llm import Model, ModelChain
from agent.run.costs import (
    PROMPT_FRAME_TOKENS,
    REPLY_TOKENS,
    estimate_cost,
    estimate_task_tokens,
    limit_reply,
)
from agent.run.header import RunSpec
from agent.run.journal_calls import (
    ANSWER_TASKS,
    CallContext,
    RecordedAsk,
    RecordedSource,
    cost_of,
)
from agent.run.models import Orders, answer_extractively, order_models
from agent.run.retriever import Sources
from agent.settings import BASE_URLS, Settings, user_folder
from agent.settings.mcp_servers import find_mcp_servers
from agent.state import Page, SearchResults

PARENT_TIMEOUT = 60.0  # seconds to find or read a page in the journals of earlier runs
WARM_UP_TIMEOUT = 2.0  # seconds for which the first search waits for the model's import


def compose_calls(
    spec: RunSpec,
    journal: Journal,
    models: Sequence[Model],
    sources: Sources,
    rate_limiter: RateLimiter,
) -> ExternalCalls:
    """Compose the three calls of a run, each with what wraps it, the outermost first:

    ask:    journal(budget(fallback and retry(rate limit(model))))
    search: journal(budget(query guard(cache(fallback(rate limit(provider))))))
    read:   journal(budget(cache(page reader)))

    The sources come with their fallback, behind `cache_sources`. Replies of models are not cached.
    """
    settings = spec.settings
    orders = order_models(settings, models)
    budget = _make_budget(spec, journal, orders)
    sources.limit(rate_limiter.acquire, budget)
    waited, is_rendering = rate_limiter.seconds_waited, sources.is_rendering
    context = CallContext(journal, budget, settings.patience, waited, is_rendering)
    chain = _make_chain(settings, models, orders, budget, rate_limiter)
    guard = QueryGuard(secrets_of(settings), str(journal.header["topic"]))
    warm_up = spawn(chain.warm)  # the first reply takes longest: its import and request go first
    sources.warms.insert(0, lambda: wait([warm_up], timeout=WARM_UP_TIMEOUT))
    sources.closes.append(chain.close)

    def search(query: str) -> SearchResults:
        guard.check(query)
        wait([warm_up], timeout=WARM_UP_TIMEOUT)
        return sources.search(query)

    timeout = 2 * settings.search_timeout
    recorded_search = RecordedSource(context, "search", SearchResults, search, timeout)
    recorded_search.recalled = sources.count_earlier
    return ExternalCalls(
        RecordedAsk(context, chain, orders, settings, guard),
        answer_extractively,
        recorded_search,
        RecordedSource(context, "read", Page, sources.read, settings.read_timeout),
        sources.warm,
        sources.close,
        sources.warnings,
        _record_parent(context, sources),
    )


def cache_sources(settings: Settings, sources: Sources) -> Sources:
    """The sources behind the cache that all runs share, with the keepers before it."""
    from agent.calls.cache import Cache, DiskStore

    if sources.cached and settings.cache and settings.cache_ttl:
        folder = (settings.cache_dir or user_folder("cache")) / "web"
        cache = Cache(DiskStore(folder), settings.cache_ttl)
        if sources.cached == "all":
            sources.find = cache.wrap_search(sources.find, **_search_key_fields(settings))
        sources.read = cache.wrap_read(sources.read, **_read_key_fields(settings))
        sources.problems.append(lambda: (cache.problem,))
        sources.warms.append(cache.warm)
    sources.add_keepers()
    return sources


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


def _record_parent(context: CallContext, sources: Sources) -> Parent | None:
    """The recorded calls of the runs that this one follows; None if it follows none.

    They cost nothing and leave the machine as little as the journal does, so the budget and the
    query guard do not see them. Their requests name the run: they are other calls than those of the
    same query or page outside.
    """
    parent = parent_of(context.journal.header)
    if parent is None:
        return None
    name = parent.run or "earlier"  # of a conversation elsewhere, which has no run
    return Parent(
        tuple(parent.earlier),
        RecordedSource(
            context, "search", SearchResults, sources.search_parent, PARENT_TIMEOUT, name
        ),
        RecordedSource(context, "read", Page, sources.read_parent, PARENT_TIMEOUT, name),
    )


def secrets_of(settings: Settings) -> list[str]:
    """The keys that the settings hold."""
    values = (*vars(settings).values(), *settings.keys.values())
    held = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    held += [key for _, key in settings.servers.values()]
    return held + [secret for one in find_mcp_servers(settings) for secret in one.secrets]


def _make_budget(spec: RunSpec, journal: Journal, orders: Orders) -> Budget:
    """The caps of the settings. One call with a full prompt is reserved for the answer."""
    settings, effort = spec.settings, spec.settings.effort
    caps = Caps(
        seconds=settings.max_seconds,
        usd=settings.max_usd,
        tokens=settings.max_tokens,
        calls=settings.max_calls,
    )
    evidence = effort.report_tokens if spec.request.report else effort.evidence_tokens
    reserved = estimate_cost(orders["write"], evidence + PROMPT_FRAME_TOKENS)
    return Budget(
        caps,
        lambda: sum_usage(journal.calls),
        lambda: journal.recalled_external_count,
        reserved,
        spec.began,
    )


def _make_chain(
    settings: Settings,
    models: Sequence[Model],
    orders: Orders,
    budget: Budget,
    rate_limiter: RateLimiter,
) -> ModelChain:
    """The models with fallback and retries. Each try waits for the rate limit and is reported."""

    def acquire(model: Model, task: Task[Any]) -> None:
        if rate_limiter.is_limited(model.provider, model.name):
            longest = estimate_task_tokens(task) + REPLY_TOKENS
            rate_limiter.acquire(model.provider, model.name, longest)

    def limit(model: Model, task: Task[Any], spent: Spent) -> int | None:
        left = budget.left_for_call(cost_of(task, orders), last=task.name in ANSWER_TASKS)
        return limit_reply(model, estimate_task_tokens(task), left, spent)

    return ModelChain(
        models,
        settings.llm_timeout,
        settings.llm_retry_waits,
        may_retry=budget.reserve_retry,
        acquire=acquire,
        limit_reply=limit,
        orders=orders,
    )
