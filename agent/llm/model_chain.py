"""The chain of models: the order in which they are asked, retries and fallback.

This is the one place that decides what happens when a model fails.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic

from agent.calls import AnswerT, Reply, Task, TaskKind, run_with_timeout
from agent.errors import ANOTHER_MODEL, NON_RETRYABLE, ModelFailed, Spent
from agent.llm.model import Generation, Model
from agent.llm.replies import parse_reply
from agent.llm.reply_forms import ReplyForms
from agent.state import Attempt, ModelCost, Outcome

_RETRYABLE: frozenset[Outcome] = frozenset({"rate_limited", "unavailable", "timeout"})
#: Outcomes after which a model is asked nothing more, and the next one is.
_LOST: frozenset[Outcome] = _RETRYABLE | NON_RETRYABLE | {"rejected", "not_found"}
#: Outcomes after which the next model is asked this task. After any other (a safety block) the task
#: fails.
_UNUSABLE: frozenset[Outcome] = frozenset({"invalid", "too_long"})
MIN_REPLY_TOKENS = 200  # a model that may write less is not asked again
MAX_RETRY_WAIT = 60.0  # seconds; a service that asks for a longer wait is not retried
STREAM_TIMEOUT = 900.0  # seconds for a whole reply that keeps coming
THINKING_ROOM = 8  # times the tokens of a reply, where a model thinks before it
MAX_KEPT_REPLY = 4000  # characters of a reply that could not be parsed, kept in the journal
FITTING_SHARE = 0.5  # of a prompt that is too long
MAX_CUTS = 2  # how often a prompt is shortened until it fits
MAX_ASKED = 2  # how often a task is asked in one form


class ModelChain:
    """`ask`: the models in order, each with retries; one that is out of service is left out."""

    def __init__(
        self,
        models: Sequence[Model],
        timeout: float = 60.0,
        retry_waits: Sequence[float] = (),
        sleep: Callable[[float], None] = time.sleep,
        may_retry: Callable[[], bool] = lambda: True,
        acquire: Callable[[Model, Task[Any]], None] = lambda *_: None,
        limit_reply: Callable[[Model, Task[Any], Spent], int | None] = lambda *_: None,
        orders: Mapping[TaskKind, Sequence[Model]] | None = None,
    ) -> None:
        """`timeout` and `retry_waits` are seconds: a try's time limit, the wait before each retry.

        `may_retry`: whether one more request may be made. `acquire` waits until a request may be
        sent, which is not part of a try's time. `limit_reply`: the tokens that a reply may have
        after what was spent; None: no limit. `orders`: the models of a kind of task; without it
        all.
        """
        self._all_models = tuple(models)
        self._orders = orders or {}
        self._lost: set[str] = set()  # labels of models that are asked nothing more
        self._timeout = timeout
        self._retry_waits = tuple(retry_waits)
        self._sleep = sleep
        self._may_retry = may_retry
        self._acquire = acquire
        self._limit_reply = limit_reply
        self._thinking = {model_label(model) for model in models if getattr(model, "thinks", False)}
        self._window: dict[str, int] = {}  # characters of a prompt that a model can take, if known

    def warm(self) -> None:
        """Warm the model that will be asked first."""
        for model in self._order("plan")[:1]:
            model.warm()

    def recall(self, reply: Reply[Any]) -> None:
        """Leave out the models that an earlier reply did without, as a resumed run had done."""
        ends = {attempt.provider: attempt.outcome for attempt in reply.attempts}
        for model in self._all_models:
            if (outcome := ends.get(model_label(model))) in _LOST:
                self._drop(model, outcome)

    def close(self) -> None:
        """Close all models."""
        for model in self._all_models:
            model.close()

    def __call__(self, task: Task[AnswerT]) -> Reply[AnswerT]:
        """A valid answer to a task. Raises ModelFailed when no model gives one."""
        attempts = _TaskAttempts(task)
        remedy = "Check the keys, or run with --offline."
        last_error = ModelFailed("No model is left to ask.", remedy)
        order = self._order(task.kind)
        for model in order:
            if model_label(model) in self._lost and len(order) > 1:
                continue  # its provider refused the key
            if attempts.costs and not self._may_ask_again(model, attempts):
                break
            try:
                return self._ask(model, attempts)
            except ModelFailed as error:
                last_error = error
                if error.outcome in _LOST:
                    self._drop(model, error.outcome)
                elif error.outcome not in _UNUSABLE:
                    break
        if last_error.outcome in _RETRYABLE:
            self._retry_waits = ()  # no model is available: the next task is not retried
        last_error.attempts = tuple(attempts.recorded)
        last_error.spent, last_error.costs = attempts.total_cost, attempts.costs
        raise last_error

    def _order(self, kind: TaskKind) -> list[Model]:
        """The models that a kind of task is asked of, in order; the last one where all are lost."""
        order = self._orders.get(kind, self._all_models)
        left = [model for model in order if model_label(model) not in self._lost]
        return left or list(order[-1:])

    def _drop(self, failed: Model, outcome: Outcome) -> None:
        """Ask a model nothing more, nor its provider's others if the key or the credit failed."""
        self._lost |= {
            model_label(model)
            for model in self._all_models
            if model is failed or (outcome in NON_RETRYABLE and model.provider == failed.provider)
        }

    def _ask(self, model: Model, attempts: _TaskAttempts[AnswerT]) -> Reply[AnswerT]:
        forms = getattr(model, "forms", None) or ReplyForms("")
        forms_tried: list[str] = []
        attempts.correction = ""
        while forms_tried.count(forms.current) < MAX_ASKED:
            if forms_tried and not self._may_ask_again(model, attempts):
                break
            generation = self._generate_fitting(model, attempts)
            if generation.is_blocked:
                refused = f"{model.name} refused to reply ({generation.problem})"
                remedy = "Rephrase the question, or try another model with --llm."
                raise attempts.fail(model, ModelFailed(refused, remedy, outcome="blocked"))
            if generation.is_cut_off:
                self._thinking.add(model_label(model))  # it may have thought: it gets more tokens
            try:
                answer, mended = parse_reply(generation, attempts.task)
            except ValueError as error:
                attempts.correction = str(error)
                forms_tried.append(generation.form or forms.current)
                attempts.record(model, "invalid", str(error), generation.unread, generation.text)
                forms.leave(generation.form)
            else:
                attempts.record(model, "ok", remedy=generation.unread)
                if not mended:
                    forms.keep(generation.form)
                return attempts.build_reply(model, generation, answer, mended)
        fault = f"{model.name} gave no usable reply: {attempts.correction}"
        remedy = next((one.remedy for one in attempts.recorded if one.remedy), ANOTHER_MODEL)
        raise ModelFailed(fault, remedy, outcome="invalid")

    def _may_ask_again(self, model: Model, attempts: _TaskAttempts[AnswerT]) -> bool:
        limit = self._limit_reply(model, attempts.task, attempts.total_cost)
        return (limit is None or limit >= MIN_REPLY_TOKENS) and self._may_retry()

    def _generate_fitting(
        self, model: Model, attempts: _TaskAttempts[AnswerT], cuts: int = MAX_CUTS
    ) -> Generation:
        """A generation; of a shortened task where the prompt does not fit the model's window."""
        label = model_label(model)
        attempts.task = _fit_window(attempts.task, self._window.get(label))
        length = _prompt_length(attempts.task)
        try:
            generation = self._generate_with_retries(model, attempts)
            if not generation.unread or label in self._window:
                return generation
            self._window[label] = 3 * generation.input_tokens
        except ModelFailed as error:
            if error.outcome != "too_long" or not cuts:
                raise
            self._window[label] = int(length * FITTING_SHARE)
            if _fit_window(attempts.task, self._window[label]) == attempts.task:
                raise  # nothing can be left out
        else:
            shorter = _fit_window(attempts.task, self._window[label])
            if shorter == attempts.task or not self._may_ask_again(model, attempts):
                return generation
            cut = "the prompt was cut"
            attempts.record(model, "invalid", cut, generation.unread, generation.text)
        return self._generate_fitting(model, attempts, cuts - 1)

    def _generate_with_retries(self, model: Model, attempts: _TaskAttempts[AnswerT]) -> Generation:
        for wait in self._retry_waits:
            try:
                return self._generate(model, attempts)
            except ModelFailed as error:
                pause = max(wait, error.retry_after or 0.0)
                is_last = error.outcome not in _RETRYABLE or pause > MAX_RETRY_WAIT
                if is_last or not self._may_retry():
                    raise
                self._sleep(pause)
        return self._generate(model, attempts)

    def _generate(self, model: Model, attempts: _TaskAttempts[AnswerT]) -> Generation:
        self._acquire(model, attempts.task)
        times = THINKING_ROOM if model_label(model) in self._thinking else 1
        tokens = attempts.task.reply_tokens * times
        limit = self._limit_reply(model, attempts.task, attempts.total_cost)
        limit = tokens if limit is None else min(limit, tokens)
        task = attempts.task.model_copy(update={"max_reply_tokens": limit})
        timeout = STREAM_TIMEOUT if getattr(model, "streams", False) else self._timeout
        attempts.start_clock()
        try:
            generation = run_with_timeout(
                timeout, lambda: model.generate(task, attempts.correction)
            )
            attempts.add_cost(model, generation)
            return generation
        except TimeoutError:
            fault = f"{model.name} did not answer within {timeout:g} s"
            error = ModelFailed(fault, "Try again, or raise LLM_TIMEOUT.", outcome="timeout")
        except ModelFailed as failure:
            error = failure
        raise attempts.fail(model, error)


def model_label(model: Model) -> str:
    """A model's provider and name, as attempts have them."""
    is_same = model.provider == model.name
    return model.provider if is_same else f"{model.provider}:{model.name}"


def _prompt_length(task: Task[Any]) -> int:
    results = sum(exchange.size for exchange in task.exchanges)
    return len(task.system_prompt()) + len(task.prompt()) + results


def _fit_window(task: Task[AnswerT], window: int | None) -> Task[AnswerT]:
    excess = 0 if window is None else _prompt_length(task) - window
    return task.shorten(excess) if excess > 0 else task


class _TaskAttempts(Generic[AnswerT]):
    """Every attempt at one task, and what they cost together, unusable replies included."""

    def __init__(self, task: Task[AnswerT]) -> None:
        self.task = task
        self.correction = ""  # of the model that is asked: why its last reply was unusable
        self.recorded: list[Attempt] = []
        self._paid: list[ModelCost] = []  # for each reply
        self._started = time.monotonic()

    def start_clock(self) -> None:
        self._started = time.monotonic()

    def record(
        self, model: Model, outcome: Outcome, detail: str = "", remedy: str = "", reply: str = ""
    ) -> None:
        attempt = Attempt(
            what="llm",
            provider=model_label(model),
            outcome=outcome,
            detail=detail,
            remedy=remedy,
            seconds=round(time.monotonic() - self._started, 3),
            reply=reply[:MAX_KEPT_REPLY],
        )
        self.recorded.append(attempt)

    def fail(self, model: Model, error: ModelFailed) -> ModelFailed:
        self.record(model, error.outcome, error.message, error.remedy)
        return error

    def add_cost(self, model: Model, generation: Generation) -> None:
        self._paid.append(
            ModelCost(
                provider=model.provider,
                model=model.name,
                input_tokens=generation.input_tokens,
                cached_tokens=generation.cache_read_tokens,
                output_tokens=generation.output_tokens,
                usd=model.cost_usd(generation),
            )
        )

    @property
    def costs(self) -> tuple[ModelCost, ...]:
        return tuple(cost for cost in self._paid if cost.provider != "extractive")

    @property
    def total_cost(self) -> Spent:
        prices = [cost.usd for cost in self._paid if cost.usd is not None]
        return Spent(
            input_tokens=sum(cost.input_tokens for cost in self._paid),
            output_tokens=sum(cost.output_tokens for cost in self._paid),
            usd=math.fsum(prices) if len(prices) == len(self._paid) else None,
        )

    def build_reply(
        self, model: Model, generation: Generation, answer: AnswerT, mended: tuple[str, ...]
    ) -> Reply[AnswerT]:
        return Reply[AnswerT](
            answer=answer,
            model=model.name,
            confidence=generation.confidence,
            mended=mended,
            attempts=tuple(self.recorded),
            costs=self.costs,
            **self.total_cost._asdict(),
        )
