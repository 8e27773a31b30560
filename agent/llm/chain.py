"""The chain of models: the order in which they are asked, retries and fallback.

This is the one place that decides what happens when a model fails.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic

from agent.errors import NON_RETRYABLE, ModelFailed, Spent
from agent.llm.model import Generation, Model
from agent.llm.replies import parse_reply
from agent.outside import AnswerT, Reply, Task, run_with_timeout
from agent.state import Attempt, Outcome

_RETRYABLE: frozenset[Outcome] = frozenset({"rate_limited", "unavailable", "timeout"})
#: Outcomes after which the next model is asked. After any other (an unusable reply, a safety
#: block) the task fails, and its step decides what to do without an answer.
_FALLBACK_OUTCOMES: frozenset[Outcome] = _RETRYABLE | NON_RETRYABLE | {"rejected", "not_found"}
MIN_REPLY_TOKENS = 200  # a model that may write less is not asked again
MAX_RETRY_WAIT = 60.0  # seconds; a service that asks for a longer wait is not retried


class ModelChain:
    """`ask`: the models in order, each with retries; a model that failed is not asked again."""

    def __init__(
        self,
        models: Sequence[Model],
        timeout: float = 60.0,
        retry_waits: Sequence[float] = (),
        sleep: Callable[[float], None] = time.sleep,
        may_retry: Callable[[], bool] = lambda: True,
        acquire: Callable[[Model, Task[Any]], None] = lambda *_: None,
        on_failure: Callable[[Model, ModelFailed], None] = lambda *_: None,
        limit_reply: Callable[[Model, Task[Any], Spent], int | None] = lambda *_: None,
    ) -> None:
        """`timeout` and `retry_waits` are seconds: a try's time limit, the wait before each retry.

        `may_retry` says whether one more request may be made. `acquire` waits until a request may
        be sent; that wait is not part of a try's time. `on_failure` is told each failed try.
        `limit_reply` says how many tokens a reply may have, after what the task has spent so far;
        None: no limit.
        """
        self._all_models = tuple(models)
        self._models = list(models)
        self._timeout = timeout
        self._retry_waits = tuple(retry_waits)
        self._sleep = sleep
        self._may_retry = may_retry
        self._acquire = acquire
        self._on_failure = on_failure
        self._limit_reply = limit_reply

    def warm(self) -> None:
        """Warm the model that will be asked first."""
        for model in self._models[:1]:
            model.warm()

    def switch_to(self, name: str) -> None:
        """Leave out the models before the named one, as a resumed run had done."""
        names = [model.name for model in self._models]
        if name in names:
            self._models = self._models[names.index(name) :]

    def close(self) -> None:
        """Close all models."""
        for model in self._all_models:
            model.close()

    def __call__(self, task: Task[AnswerT]) -> Reply[AnswerT]:
        """A valid answer to a task. Raises ModelFailed when no model gives one."""
        attempts = _TaskAttempts(task)
        last_error = ModelFailed(
            "No model is left to ask.", "Check the keys, or run with --offline."
        )
        for model in list(self._models):
            if model not in self._models:
                continue  # its provider refused the key
            try:
                return self._ask(model, attempts)
            except ModelFailed as error:
                last_error = error
                if error.outcome not in _FALLBACK_OUTCOMES:
                    break
                self._drop(model, error)
        if last_error.outcome in _RETRYABLE:
            self._retry_waits = ()  # no model is available: the next task is not retried
        raise ModelFailed(
            last_error.message,
            last_error.remedy,
            outcome=last_error.outcome,
            attempts=tuple(attempts.recorded),
            spent=attempts.total_cost,
        )

    def _drop(self, failed: Model, error: ModelFailed) -> None:
        """Drop a model that failed, or all of its provider's if the key or the credit failed.

        The last model is never dropped.
        """
        remaining = [
            model
            for model in self._models
            if model is not failed
            and not (error.outcome in NON_RETRYABLE and model.provider == failed.provider)
        ]
        self._models = remaining or [failed]

    def _ask(self, model: Model, attempts: _TaskAttempts[AnswerT]) -> Reply[AnswerT]:
        """One model's valid answer. After an unusable reply it is asked once more, told why."""
        correction = ""
        for is_first in (True, False):
            if not is_first and not (self._may_reply(model, attempts) and self._may_retry()):
                break
            generation = self._generate_with_retries(model, attempts, correction)
            attempts.add_cost(model, generation)
            try:
                answer = parse_reply(generation, attempts.task)
            except ValueError as error:
                correction = str(error)
                attempts.record(model, "invalid", correction)
            else:
                attempts.record(model, "ok")
                return attempts.build_reply(model, answer)
        raise ModelFailed(
            f"{model.name} gave no usable reply: {correction}",
            "Try again, or another model with --llm.",
            outcome="invalid",
        )

    def _may_reply(self, model: Model, attempts: _TaskAttempts[AnswerT]) -> bool:
        """Whether enough is left of the budget for another reply."""
        limit = self._limit_reply(model, attempts.task, attempts.total_cost)
        return limit is None or limit >= MIN_REPLY_TOKENS

    def _generate_with_retries(
        self, model: Model, attempts: _TaskAttempts[AnswerT], correction: str
    ) -> Generation:
        for wait in self._retry_waits:
            try:
                return self._generate(model, attempts, correction)
            except ModelFailed as error:
                pause = max(wait, error.retry_after or 0.0)
                if (
                    error.outcome not in _RETRYABLE
                    or pause > MAX_RETRY_WAIT
                    or not self._may_retry()
                ):
                    raise
                self._sleep(pause)
        return self._generate(model, attempts, correction)

    def _generate(
        self, model: Model, attempts: _TaskAttempts[AnswerT], correction: str
    ) -> Generation:
        """One try, within the time limit. A failure is recorded and raised."""
        self._acquire(model, attempts.task)
        limit = self._limit_reply(model, attempts.task, attempts.total_cost)
        task = attempts.task.model_copy(update={"max_reply_tokens": limit})
        attempts.start_clock()
        try:
            return run_with_timeout(self._timeout, lambda: model.generate(task, correction))
        except TimeoutError:
            error = ModelFailed(
                f"{model.name} did not answer within {self._timeout:g} s",
                "Try again, or raise LLM_TIMEOUT.",
                outcome="timeout",
            )
        except ModelFailed as failure:
            error = failure
        attempts.record(model, error.outcome, error.message, error.remedy)
        self._on_failure(model, error)
        raise error


class _TaskAttempts(Generic[AnswerT]):
    """Every attempt at one task, and what they cost together, unusable replies included."""

    def __init__(self, task: Task[AnswerT]) -> None:
        self.task = task
        self.recorded: list[Attempt] = []
        self._costs: list[tuple[Generation, float | None]] = []
        self._started = time.monotonic()

    def start_clock(self) -> None:
        self._started = time.monotonic()

    def record(self, model: Model, outcome: Outcome, detail: str = "", remedy: str = "") -> None:
        is_same = model.provider == model.name
        attempt = Attempt(
            what="llm",
            provider=model.provider if is_same else f"{model.provider}:{model.name}",
            outcome=outcome,
            detail=detail,
            remedy=remedy,
            seconds=round(time.monotonic() - self._started, 3),
        )
        self.recorded.append(attempt)

    def add_cost(self, model: Model, generation: Generation) -> None:
        self._costs.append((generation, model.cost_usd(generation)))

    @property
    def total_cost(self) -> Spent:
        """What all replies so far cost."""
        prices = [usd for _, usd in self._costs if usd is not None]
        return Spent(
            input_tokens=sum(generation.input_tokens for generation, _ in self._costs),
            output_tokens=sum(generation.output_tokens for generation, _ in self._costs),
            usd=math.fsum(prices) if len(prices) == len(self._costs) else None,
        )

    def build_reply(self, model: Model, answer: AnswerT) -> Reply[AnswerT]:
        return Reply[AnswerT](
            answer=answer,
            model=model.name,
            attempts=tuple(self.recorded),
            **self.total_cost._asdict(),
        )
