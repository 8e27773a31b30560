"""Models: the order in which they are asked, retries, and asking again when a reply is unusable.

The one place that decides what happens when a model fails.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from agent.errors import FINAL, ModelFailed
from agent.outside import A, Reply, Task, within
from agent.research import Attempt, Frozen

REPLY_LIMIT = 200_000  # characters; a longer reply is no answer to any of our tasks
RETRIED = frozenset({"rate_limited", "unavailable", "timeout"})
LONGEST_WAIT = 60.0  # seconds; a service that asks for more is not waited for


class Generated(Frozen):
    """What a model wrote, and the tokens that it counted (thoughts are output)."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


class Model(Protocol):
    """One model of one provider."""

    name: str

    def generate(self, task: Task[Any], correction: str) -> Generated:
        """Answer a task as JSON text; `correction` says what was wrong with the last reply.

        Raises ModelFailed, with the outcome of this one try.
        """
        ...

    def price(self, generated: Generated) -> float | None:
        """What a reply cost in US dollars; None where the price is not known."""
        ...


class Models:
    """`ask`: the models in order, each with retries; the choice stays once it has moved."""

    def __init__(
        self,
        models: Sequence[Model],
        timeout: float,
        waits: Sequence[float],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._models = list(models)
        self._timeout = timeout
        self._waits = tuple(waits)
        self._sleep = sleep

    def __call__(self, task: Task[A]) -> Reply[A]:
        """A valid answer to a task. Raises ModelFailed when no model gives one."""
        asking = _Asking(task)
        last = ModelFailed("No model is left to ask.", "Check the keys, or run with --offline.")
        for model in list(self._models):
            try:
                return self._valid(model, asking)
            except ModelFailed as error:
                last = error
                if len(self._models) > 1:
                    self._models.remove(model)
        raise ModelFailed(
            last.message, last.remedy, outcome=last.outcome, attempts=tuple(asking.attempts)
        )

    def _valid(self, model: Model, asking: _Asking[A]) -> Reply[A]:
        """One model's valid answer; an unusable one is asked for again, once, saying why."""
        correction = ""
        for last in (False, True):
            generated = self._persistent(model, asking, correction)
            asking.add(model, generated)
            try:
                answer = parse(generated.text, asking.task.answer)
            except ValueError as error:
                asking.note(model, "invalid", str(error))
                if last:
                    raise ModelFailed(
                        f"{model.name} gave no usable reply: {error}",
                        "Try another model with --llm.",
                        outcome="invalid",
                    ) from None
                correction = str(error)
            else:
                asking.note(model, "ok")
                return asking.reply(model, answer)
        raise AssertionError("unreachable")

    def _persistent(self, model: Model, asking: _Asking[A], correction: str) -> Generated:
        """One model, asked until it replies or the waits are used up."""
        for wait in (*self._waits, None):
            try:
                return self._once(model, asking, correction)
            except ModelFailed as error:
                asking.note(model, error.outcome, error.message, error.remedy)
                pause = max(wait or 0.0, error.retry_after or 0.0)
                if wait is None or error.outcome not in RETRIED or pause > LONGEST_WAIT:
                    raise
                self._sleep(pause)
        raise AssertionError("unreachable")

    def _once(self, model: Model, asking: _Asking[A], correction: str) -> Generated:
        asking.begin()
        try:
            return within(self._timeout, lambda: model.generate(asking.task, correction))
        except TimeoutError:
            raise ModelFailed(
                f"{model.name} did not answer within {self._timeout:g} s",
                "Try again, or raise LLM_TIMEOUT.",
                outcome="timeout",
            ) from None
