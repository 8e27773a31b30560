"""The outside calls of a run: the one place where journal, budget and providers are composed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from typing import Any, NamedTuple, TypeVar

from pydantic import SecretStr

from agent.errors import Halt, OutsideError, Spent
from agent.llm import Model, ModelChain
from agent.outside import AnswerT, Ask, Outside, Parent, Reply, Task, TaskKind, Thinking, spawn
from agent.outside.budget import Budget, Caps, Cost, sum_usage
from agent.outside.deadline import WaitLimits
from agent.outside.journal import Journal, call_key
from agent.outside.query_guard import QueryGuard
from agent.outside.rate_limits import RateLimiter
from agent.outside.recorded_call import CallKind, RecordedCall
from agent.outside.recording import parent_of
from agent.run.costs import (
    PROMPT_FRAME_TOKENS,
    REPLY_TOKENS,
    estimate_cost,
    estimate_task_tokens,
    limit_reply,
)
from agent.run.models import answer_extractively, order_models
from agent.run.resources import open_rate_limits
from agent.run.sources import Sources
from agent.settings import Settings
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
    settings: Settings,
    journal: Journal,
    models: Sequence[Model],
    sources: Sources,
    rate_limiter: RateLimiter | None = None,
) -> Outside:
    """Compose the three calls of a run, each with what wraps it, the outermost first:

    ask:    journal(budget(fallback and retry(rate limit(model))))
    search: journal(budget(query guard(cache(fallback(rate limit(provider))))))
    read:   journal(budget(cache(page reader)))

    The sources come with their cache, fallback and limits. Replies of models are not cached,
    but for those that say what a judge is worth.
    Without `rate_limiter`, the limits are those that all runs on this machine share.
    """
    rate_limiter = rate_limiter or RateLimiter(open_rate_limits(settings))
    orders = order_models(settings, models)
    budget = _make_budget(settings, journal, orders)
    sources.limit_spending(budget)
    waited = rate_limiter.seconds_waited
    recorder = CallRecorder(journal, budget, settings.patience, waited)
    chain = _make_chain(settings, models, orders, budget, rate_limiter)
    guard = QueryGuard(secrets_of(settings), str(journal.header["topic"]))
    warm_up = spawn(chain.warm)
    prepare = _preparation(settings, journal, guard)
    ask = recorder.record_ask(chain, chain, orders, prepare)

    def search(query: str) -> SearchResults:
        guard.check(query)
        # the first reply takes longest, so the model's import and its request go first
        wait([warm_up], timeout=WARM_UP_TIMEOUT)
        return sources.search(query)

    def warm() -> None:
        wait([warm_up], timeout=WARM_UP_TIMEOUT)
        sources.warm()

    def close() -> None:
        chain.close()
        sources.close()

    return Outside(
        ask,
        answer_extractively,
        recorder.record_source(
            SearchResults, search, 2 * settings.search_timeout, sources.count_earlier
        ),
        recorder.record_source(Page, sources.read, settings.read_timeout),
        warm,
        close,
        sources.warnings,
        _record_parent(recorder, sources, journal),
    )


def _preparation(
    settings: Settings, journal: Journal, guard: QueryGuard
) -> Callable[[Task[Any]], Task[Any]]:
    """What gives each task the day on which its run began, and how much to think.

    So a resumed or replayed run asks the same. The query guard sees each task before it is asked.
    """
    today = str(journal.header["at"])[:10]

    def prepare(task: Task[Any]) -> Task[Any]:
        guard.watch(task)
        given = {"today": today, "thinking": choose_thinking(task, settings)}
        return task.model_copy(update=given)

    return prepare


def _record_parent(recorder: CallRecorder, sources: Sources, journal: Journal) -> Parent | None:
    """The recorded calls of the runs that this one follows; None if it follows none.

    They cost nothing and leave the machine as little as the journal does, so the budget and the
    query guard do not see them. Their requests name the run: they are other calls than those of the
    same query or page outside.
    """
    parent = parent_of(journal.header)
    if parent is None:
        return None
    return Parent(
        tuple(parent.earlier),
        recorder.record_source(
            SearchResults, sources.search_parent, PARENT_TIMEOUT, run=parent.run
        ),
        recorder.record_source(Page, sources.read_parent, PARENT_TIMEOUT, run=parent.run),
    )


def choose_thinking(task: Task[Any], settings: Settings) -> Thinking:
    """How much a model is to think for a task."""
    if settings.thinking != "auto":
        return settings.thinking
    if task.kind in ("plan", "judge"):
        return "low"
    return "high" if settings.depth == "deep" else ""


def secrets_of(settings: Settings) -> list[str]:
    """The keys that the settings hold."""
    values = (getattr(settings, name) for name in type(settings).model_fields)
    held = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    held += [key for _, key in settings.servers.values()]
    return held + [secret for one in find_mcp_servers(settings) for secret in one.secrets]


def _make_budget(settings: Settings, journal: Journal, orders: Orders) -> Budget:
    """The caps of the settings. One call with a full prompt is reserved for the answer."""
    caps = Caps(
        seconds=settings.max_seconds,
        usd=settings.max_usd,
        tokens=settings.max_tokens,
        calls=settings.max_calls,
    )
    evidence = settings.effort.report_tokens if settings.report else settings.effort.evidence_tokens
    reserved = estimate_cost(orders["write"], evidence + PROMPT_FRAME_TOKENS)
    return Budget(
        caps, lambda: sum_usage(journal.calls), lambda: journal.recalled_outside_count, reserved
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
    """The recorded calls of models."""

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


class CallRecorder(NamedTuple):
    """Wraps the calls of a run with its journal and its budget."""

    journal: Journal
    budget: Budget
    patience: float  # seconds, as in WaitLimits
    rate_limit_wait: Callable[[], float]  # seconds for which this run's calls have waited so far

    def record_ask(
        self,
        chain: ModelChain,
        ask: Ask,
        orders: Orders,
        prepare: Callable[[Task[Any]], Task[Any]],
    ) -> RecordedAsk:
        """Recorded calls of models. A resumed run goes on without those that failed."""
        budget = self.budget
        kind = CallKind[Task[Any], Reply[Any]](
            "ask",
            ask,
            encode_request=_encode_task,
            encode_response=lambda r: r.model_dump(mode="json", serialize_as_any=True),
            decode_response=_decode_reply,
            permit=lambda task: budget.reserve_call(
                _cost_of(task, orders), last=task.name in ANSWER_TASKS
            ),
            check_time=lambda task: budget.check_time(last=task.name in ANSWER_TASKS),
            on_end=lambda task: budget.release(_cost_of(task, orders)),
            on_recall=chain.recall,
            prepare=prepare,
        )
        # no task is given up for being slow: one that is tried again takes its time
        limits = WaitLimits(ASK_TIMEOUT, ASK_TIMEOUT, self.rate_limit_wait)
        return RecordedAsk(self.journal, kind, limits)

    def record_source(
        self,
        response_type: type[ResponseT],
        call: Callable[[str], ResponseT],
        timeout: float,
        on_recall: Callable[[ResponseT], None] = lambda _: None,
        run: str = "",
    ) -> RecordedCall[str, ResponseT]:
        """Recorded searches, or reads of pages. `timeout` is in seconds.

        `run`: an earlier run, whose journal is asked: no outside call, it costs time alone. In the
        journal it is another call than that of the same query or page outside.
        """
        permit = self.budget.check_time if run else self.budget.reserve_call
        of_run = {"run": run} if run else {}
        is_search = issubclass(response_type, SearchResults)
        kind = CallKind[str, ResponseT](
            "search" if is_search else "read",
            call,
            encode_request=lambda asked: (
                ({"query": asked} if is_search else {"url": canonical_url(asked)}) | of_run
            ),
            encode_response=lambda response: response.model_dump(mode="json"),
            decode_response=lambda _, line: response_type.model_validate(line),
            permit=lambda _: permit(),
            check_time=lambda _: self.budget.check_time(),
            on_recall=on_recall,
        )
        limits = WaitLimits(timeout, self.patience, self.rate_limit_wait)
        return RecordedCall(self.journal, kind, limits)


def _encode_task(task: Task[Any]) -> Json:
    """What identifies a task in the journal: its prompts, and its turns with tools if any.

    Of the turns only the last one is written out: the lines before have the others.
    """
    request = {"task": task.name, "system": task.system_prompt(), "prompt": task.prompt()}
    exchanges = [exchange.model_dump(mode="json") for exchange in task.exchanges]
    before = call_key("exchanges", {"exchanges": exchanges[:-1]}) if exchanges[1:] else ""
    told = {"before": before, "exchanges": exchanges[-1:]}
    return request | {name: value for name, value in told.items() if value}


def _decode_reply(task: Task[AnswerT], response: Json) -> Reply[AnswerT]:
    answer = task.answer_type.model_validate(response["answer"])
    return Reply[AnswerT].model_validate({**response, "answer": answer})
