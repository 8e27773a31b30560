"""The outside calls of a run: the one place where journal, budget and providers are composed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from typing import Any, NamedTuple, TypeVar

from pydantic import SecretStr

from agent.errors import Halt, OutsideError, Spent
from agent.llm import Model, ModelChain
from agent.outside import Outside, Parent, Reply, Task, TaskKind, Thinking, spawn
from agent.outside.budget import Budget, Caps, Cost, sum_usage
from agent.outside.deadline import WaitLimits
from agent.outside.journal import Journal, call_key
from agent.outside.query_guard import QueryGuard
from agent.outside.rate_limits import RateLimiter
from agent.outside.recorded_call import RecordedCall
from agent.outside.recording import parent_of
from agent.run.costs import (
    PROMPT_FRAME_TOKENS,
    REPLY_TOKENS,
    estimate_cost,
    estimate_task_tokens,
    limit_reply,
)
from agent.run.header import RunSpec
from agent.run.models import answer_extractively, order_models
from agent.run.sources import Sources
from agent.settings import BASE_URLS, Settings, user_folder
from agent.settings.mcp_servers import find_mcp_servers
from agent.state import Frozen, Page, SearchResults
from agent.state.json_data import Json
from agent.state.urls import canonical_url

Orders = Mapping[TaskKind, Sequence[Model]]  # which models a kind of task is asked of
ResponseT = TypeVar("ResponseT", bound=Frozen)

#: Tasks that produce the answer. They may use what the budget reserves for it.
ANSWER_TASKS = frozenset("synthesize draft section summary verify mend".split())
ASK_TIMEOUT = 900.0  # seconds for all models and retries of one task: a safety net, not a target
PARENT_TIMEOUT = 60.0  # seconds to find or read a page in the journals of earlier runs
WARM_UP_TIMEOUT = 2.0  # seconds for which the first search waits for the model's import


def compose_calls(
    spec: RunSpec,
    journal: Journal,
    models: Sequence[Model],
    sources: Sources,
    rate_limiter: RateLimiter,
) -> Outside:
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
    warm_up = spawn(chain.warm)
    ask = RecordedAsk(context, chain, orders, settings, guard)

    def search(query: str) -> SearchResults:
        guard.check(query)
        # the first reply takes longest, so the model's import and its request go first
        wait([warm_up], timeout=WARM_UP_TIMEOUT)
        return sources.search(query)

    recorded_search = RecordedSearch(context, search, 2 * settings.search_timeout)
    recorded_search.recalled = sources.count_earlier

    def warm() -> None:
        wait([warm_up], timeout=WARM_UP_TIMEOUT)
        sources.warm()

    def close() -> None:
        chain.close()
        sources.close()

    return Outside(
        ask,
        answer_extractively,
        recorded_search,
        RecordedRead(context, sources.read, settings.read_timeout),
        warm,
        close,
        sources.warnings,
        _record_parent(context, sources),
    )


def cache_sources(settings: Settings, sources: Sources) -> Sources:
    """The sources behind the cache that all runs share, with the keepers before it."""
    from agent.outside.cache import Cache, DiskStore

    if sources.cached and settings.cache and settings.cache_ttl:
        folder = (settings.cache_dir or user_folder("cache")) / "web"
        cache = Cache(DiskStore(folder), settings.cache_ttl)
        if sources.cached == "all":
            sources.find = cache.wrap_search(sources.find, **_search_key_fields(settings))
        sources.read = cache.wrap_read(sources.read, **_read_key_fields(settings))
        sources.problems.append(lambda: (cache.problem,))
        sources.warms.append(cache.warm)
        sources.closes.append(cache.close)
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
    search = RecordedSearch(context, sources.search_parent, PARENT_TIMEOUT, name)
    read = RecordedRead(context, sources.read_parent, PARENT_TIMEOUT, name)
    return Parent(tuple(parent.earlier), search, read)


def choose_thinking(task: Task[Any], settings: Settings) -> Thinking:
    """How much a model is to think for a task."""
    if settings.thinking != "auto":
        return settings.thinking
    if task.kind in ("plan", "judge"):
        return "low"
    return "high" if settings.depth == "deep" else ""


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
        lambda: journal.recalled_outside_count,
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
        left = budget.left_for_call(_cost_of(task, orders), last=task.name in ANSWER_TASKS)
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


def _cost_of(task: Task[Any], orders: Orders) -> Cost:
    return estimate_cost(orders[task.kind], estimate_task_tokens(task))


class RecordedAsk(RecordedCall[Task[Any], Reply[Any]]):
    """The recorded calls of models. A resumed run goes on without those that failed.

    No task is given up for being slow: one that is tried again takes its time.
    """

    name = "ask"

    def __init__(
        self,
        context: CallContext,
        chain: ModelChain,
        orders: Orders,
        settings: Settings,
        guard: QueryGuard,
    ) -> None:
        waits = WaitLimits(ASK_TIMEOUT, ASK_TIMEOUT, context.rate_limit_wait)
        super().__init__(context.journal, waits)
        self._budget, self._chain, self._orders = context.budget, chain, orders
        self._settings, self._guard = settings, guard
        self._today = str(context.journal.header["at"])[:10]

    def prepare(self, request: Task[Any]) -> Task[Any]:
        """The task with how much to think, its reader, and the day of its run, also in a replay."""
        self._guard.watch(request)
        given = {"today": self._today, "thinking": choose_thinking(request, self._settings)}
        given["reader"] = self._settings.reader
        return request.model_copy(update=given)

    def make(self, request: Task[Any]) -> Reply[Any]:
        """Ask the models in order."""
        return self._chain(request)

    def encode_request(self, request: Task[Any]) -> Json:
        """What identifies a task: its prompts, and its turns with tools if any.

        Of the turns only the last one is written out: the lines before have the others.
        """
        prompts = {"system": request.system_prompt(), "prompt": request.prompt()}
        exchanges = [exchange.model_dump(mode="json") for exchange in request.exchanges]
        before = call_key("exchanges", {"exchanges": exchanges[:-1]}) if exchanges[1:] else ""
        turns = {"before": before, "exchanges": exchanges[-1:]}
        return {"task": request.name, **prompts} | {k: v for k, v in turns.items() if v}

    def encode_response(self, response: Reply[Any]) -> Json:
        """The reply as JSON."""
        return response.model_dump(mode="json", serialize_as_any=True)

    def decode_response(self, request: Task[Any], written: Json) -> Reply[Any]:
        """The reply, with the answer as the task has it."""
        answer = request.answer_type.model_validate(written["answer"])
        return Reply[Any].model_validate({**written, "answer": answer})

    def permit(self, request: Task[Any]) -> None:
        """Reserve what the reply may cost at most."""
        self._budget.reserve_call(_cost_of(request, self._orders), last=_is_last(request))

    def check_time(self, request: Task[Any]) -> None:
        """Raises Exhausted when the time is up."""
        self._budget.check_time(last=_is_last(request))

    def on_end(self, request: Task[Any]) -> None:
        """Release what was reserved."""
        self._budget.release(_cost_of(request, self._orders))

    def on_recall(self, response: Reply[Any]) -> None:
        """Let the chain know which models failed before."""
        self._chain.recall(response)

    def collect(  # type: ignore[override]  # a halt is an outcome too
        self, requests: Sequence[Task[Any]]
    ) -> Iterator[Reply[Any] | OutsideError | Halt]:
        """Ask side by side: outcomes in their order, after a halt those of what has ended."""
        left = list(requests)
        try:
            for outcome in super().collect(requests):
                left.pop(0)
                yield outcome
        except Halt as halt:
            yield from (self.result_if_done(task) or halt for task in left)


class RecordedSource(RecordedCall[str, ResponseT]):
    """Recorded searches, or reads of pages.

    With `run` the journal of that earlier run is asked: it costs time alone, and in the journal it
    is another call than that of the same query or page outside.
    """

    response_type: type[ResponseT]

    def __init__(
        self, context: CallContext, call: Callable[[str], ResponseT], timeout: float, run: str = ""
    ) -> None:
        """`timeout` is in seconds."""
        waited, is_rendering = context.rate_limit_wait, context.is_rendering
        waits = WaitLimits(timeout, context.patience, waited, is_rendering)
        super().__init__(context.journal, waits)
        self._budget, self._call, self._run = context.budget, call, run

    def make(self, request: str) -> ResponseT:
        """Search or read."""
        return self._call(request)

    @abstractmethod
    def identify(self, request: str) -> Json:
        """What identifies a request, besides the run."""

    def encode_request(self, request: str) -> Json:
        """The query or the page, and the earlier run if one is asked."""
        return self.identify(request) | ({"run": self._run} if self._run else {})

    def encode_response(self, response: ResponseT) -> Json:
        """The results or the page as JSON."""
        return response.model_dump(mode="json")

    def decode_response(self, request: str, written: Json) -> ResponseT:
        """The results or the page."""
        return self.response_type.model_validate(written)

    def permit(self, request: str) -> None:
        """Reserve a call; what comes from an earlier run needs time alone."""
        (self._budget.check_time if self._run else self._budget.reserve_call)()

    def check_time(self, request: str) -> None:
        """Raises Exhausted when the time is up."""
        self._budget.check_time()


class RecordedSearch(RecordedSource[SearchResults]):
    """Recorded searches."""

    name, response_type = "search", SearchResults
    recalled: Callable[[SearchResults], None] = staticmethod(lambda _: None)  # gets old results

    def identify(self, request: str) -> Json:
        """The query as it is."""
        return {"query": request}

    def on_recall(self, response: SearchResults) -> None:
        """Let the sources know what was found and paid before."""
        self.recalled(response)


class RecordedRead(RecordedSource[Page]):
    """Recorded reads of pages."""

    name, response_type = "read", Page

    def identify(self, request: str) -> Json:
        """The page, however its address is written."""
        return {"url": canonical_url(request)}


class CallContext(NamedTuple):
    """What wraps the calls of a run."""

    journal: Journal
    budget: Budget
    patience: float  # seconds, as in WaitLimits
    rate_limit_wait: Callable[[], float]  # seconds for which this run's calls have waited so far
    is_rendering: Callable[[], bool]  # a page, in a browser


def _is_last(task: Task[Any]) -> bool:
    """Whether a task may use what the budget reserves for the answer."""
    return task.name in ANSWER_TASKS
