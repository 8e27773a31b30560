"""The external calls of a run as its journal records them: to models, searches and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from agent.calls import Reply, Task, Thinking
from agent.calls.budget import Budget, Cost
from agent.calls.deadline import WaitLimits
from agent.calls.egress_filter import EgressFilter
from agent.calls.journal import Journal, call_key
from agent.calls.recorded_call import RecordedCall
from agent.errors import ExternalCallError, Halt
from agent.llm import ModelChain
from agent.run.costs import estimate_cost, estimate_task_tokens
from agent.run.models import Orders
from agent.settings import Settings
from agent.state import Frozen, Json, canonical_url

ResponseT = TypeVar("ResponseT", bound=Frozen)

#: Tasks that produce the answer. They may use what the budget reserves for it.
ANSWER_TASKS = frozenset("synthesize draft section summary verify mend".split())
ASK_TIMEOUT = 900.0  # seconds for all models and retries of one task: a safety net, not a target


class CallContext(NamedTuple):
    """What wraps the calls of a run."""

    journal: Journal
    budget: Budget
    patience: float  # seconds, as in WaitLimits
    rate_limit_wait: Callable[[], float]  # seconds for which this run's calls have waited so far
    is_rendering: Callable[[], bool]  # a page, in a browser


def choose_thinking(task: Task[Any], settings: Settings) -> Thinking:
    """How much a model is to think for a task."""
    if settings.thinking != "auto":
        return settings.thinking
    if task.kind in ("plan", "judge"):
        return "low"
    return "high" if settings.depth == "deep" else ""


def cost_of(task: Task[Any], orders: Orders) -> Cost:
    """The most that a task may cost."""
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
        guard: EgressFilter,
    ) -> None:
        waits = WaitLimits(ASK_TIMEOUT, ASK_TIMEOUT, context.rate_limit_wait)
        super().__init__(context.journal, waits)
        self._budget, self._chain, self._orders = context.budget, chain, orders
        self._settings, self._guard = settings, guard
        self._today = str(context.journal.header["at"])[:10]

    def prepare(self, request: Task[Any]) -> Task[Any]:
        """The task with how much to think, its reader, and the day of its run, also in a replay."""
        self._guard.watch(request)
        thinking = choose_thinking(request, self._settings)
        given = {"today": self._today, "thinking": thinking, "reader": self._settings.reader}
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
        self._budget.reserve_call(cost_of(request, self._orders), last=request.name in ANSWER_TASKS)

    def check_time(self, request: Task[Any]) -> None:
        """Raises Exhausted when the time is up."""
        self._budget.check_time(last=request.name in ANSWER_TASKS)

    def on_end(self, request: Task[Any]) -> None:
        """Release what was reserved."""
        self._budget.release(cost_of(request, self._orders))

    def on_recall(self, response: Reply[Any]) -> None:
        """Let the chain know which models failed before."""
        self._chain.recall(response)

    def collect(  # type: ignore[override]  # a halt is an outcome too
        self, requests: Sequence[Task[Any]]
    ) -> Iterator[Reply[Any] | ExternalCallError | Halt]:
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

    def __init__(
        self,
        context: CallContext,
        name: Literal["search", "read"],
        response_type: type[ResponseT],
        call: Callable[[str], ResponseT],
        timeout: float,
        run: str = "",
    ) -> None:
        """`timeout` is in seconds."""
        waited, is_rendering = context.rate_limit_wait, context.is_rendering
        waits = WaitLimits(timeout, context.patience, waited, is_rendering)
        super().__init__(context.journal, waits)
        self.name, self._response_type = name, response_type
        self._budget, self._call, self._run = context.budget, call, run
        self.recalled: Callable[[ResponseT], None] = lambda _: None  # gets old responses

    def make(self, request: str) -> ResponseT:
        """Search or read."""
        return self._call(request)

    def encode_request(self, request: str) -> Json:
        """The query, or the page however its address is written, and the earlier run."""
        is_page = self.name == "read"
        about = {"url": canonical_url(request)} if is_page else {"query": request}
        return about | ({"run": self._run} if self._run else {})

    def encode_response(self, response: ResponseT) -> Json:
        """The results or the page as JSON."""
        return response.model_dump(mode="json")

    def decode_response(self, request: str, written: Json) -> ResponseT:
        """The results or the page."""
        return self._response_type.model_validate(written)

    def permit(self, request: str) -> None:
        """Reserve a call; what comes from an earlier run needs time alone."""
        (self._budget.check_time if self._run else self._budget.reserve_call)()

    def check_time(self, request: str) -> None:
        """Raises Exhausted when the time is up."""
        self._budget.check_time()

    def on_recall(self, response: ResponseT) -> None:
        """Let the sources know what was found and paid before."""
        self.recalled(response)
