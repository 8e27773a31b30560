"""The external calls of a run: the one place where journal, budget and providers are composed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from typing import Any

from agent.calls import ExternalCalls, Parent, Task, spawn
from agent.calls.budget import Budget, Caps, sum_usage
from agent.calls.egress_filter import EgressFilter
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
from agent.run.journal_calls import ANSWER_TASKS, CallContext, RecordedAsk, RecordedSource, cost_of
from agent.run.models import Orders, answer_extractively, order_models
from agent.run.retriever import Retriever
from agent.settings import Settings, secrets_of
from agent.state import Page, SearchResults

PARENT_TIMEOUT = 60.0  # seconds to find or read a page in the journals of earlier runs
WARM_UP_TIMEOUT = 2.0  # seconds for which the first search waits for the model's import


def compose_calls(
    spec: RunSpec,
    journal: Journal,
    models: Sequence[Model],
    retriever: Retriever,
    rate_limiter: RateLimiter,
) -> ExternalCalls:
    """Compose the three calls of a run, each with what wraps it, the outermost first:

    ask:    journal(budget(fallback and retry(rate limit(model))))
    search: journal(budget(query guard(cache(fallback(rate limit(provider))))))
    read:   journal(budget(cache(page reader)))

    The retriever comes behind the shared cache. Replies of models are not cached.
    """
    settings = spec.settings
    orders = order_models(settings, models)
    budget = _make_budget(spec, journal, orders)
    retriever.limit(rate_limiter.acquire, budget)
    waited, is_rendering = rate_limiter.seconds_waited, retriever.is_rendering
    context = CallContext(journal, budget, settings.patience, waited, is_rendering)
    chain = _make_chain(settings, models, orders, budget, rate_limiter)
    guard = EgressFilter(secrets_of(settings), str(journal.header["topic"]))
    warm_up = spawn(chain.warm)  # the first reply takes longest: its import and request go first
    retriever.warms.insert(0, lambda: wait([warm_up], timeout=WARM_UP_TIMEOUT))
    retriever.closes.append(chain.close)

    def search(query: str) -> SearchResults:
        guard.check(query)
        wait([warm_up], timeout=WARM_UP_TIMEOUT)
        return retriever.search(query)

    timeout = 2 * settings.search_timeout
    recorded_search = RecordedSource(context, "search", SearchResults, search, timeout)
    recorded_search.recalled = retriever.count_earlier
    return ExternalCalls(
        RecordedAsk(context, chain, orders, settings, guard),
        answer_extractively,
        recorded_search,
        RecordedSource(context, "read", Page, retriever.read, settings.read_timeout),
        retriever.warm,
        retriever.close,
        retriever.warnings,
        _record_parent(context, retriever),
    )


def _record_parent(context: CallContext, retriever: Retriever) -> Parent | None:
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
            context, "search", SearchResults, retriever.search_parent, PARENT_TIMEOUT, name
        ),
        RecordedSource(context, "read", Page, retriever.read_parent, PARENT_TIMEOUT, name),
    )


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
