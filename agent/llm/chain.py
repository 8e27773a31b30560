"""Models: the order in which they are asked, retries, and asking again when a reply is unusable.

The one place that decides what happens when a model fails.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol

from pydantic import ValidationError

from agent.errors import FINAL, ModelFailed
from agent.outside import A, Reply, Task, within
from agent.state import Attempt, Frozen, Outcome

REPLY_LIMIT = 200_000  # characters; a longer reply is no answer to any of our tasks
_RETRIED: frozenset[Outcome] = frozenset({"rate_limited", "unavailable", "timeout"})
#: A refusal for another reason (an unusable reply, a safety block) is the step's to deal with.
_OTHERS_MAY_ANSWER: frozenset[Outcome] = _RETRIED | FINAL | {"rejected", "not_found"}
LONGEST_WAIT = 60.0  # seconds; a service that asks for more is not waited for


class Generated(Frozen):
    """What a model wrote, and the tokens that it counted (thoughts are output).

    `problem` says why the text cannot be the whole answer: cut off at the limit, empty.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    problem: str = ""


class Model(Protocol):
    """One model of one provider."""

    provider: str
    name: str

    def generate(self, task: Task[Any], correction: str) -> Generated:
        """Answer a task as JSON text; `correction` says what was wrong with the last reply.

        Raises ModelFailed, with the outcome of this one try.
        """
        ...

    def probe(self) -> str:
        """Whether it could be asked now, in words; costs nothing. Raises ModelFailed."""
        ...

    def price(self, generated: Generated) -> float | None:
        """What a reply cost in US dollars; None where the price is not known."""
        ...

    def warm(self) -> None:
        """Import and connect what the first call needs."""
        ...

    def close(self) -> None:
        """Let go of connections; calls under way end. Can be called twice."""
        ...


class Models:
    """`ask`: the models in order, each with retries; the choice stays once it has moved."""

    def __init__(
        self,
        models: Sequence[Model],
        timeout: float = 60.0,
        waits: Sequence[float] = (),
        sleep: Callable[[float], None] = time.sleep,
        again: Callable[[], bool] = lambda: True,
        admit: Callable[[Model, Task[Any]], None] = lambda *_: None,
        refused: Callable[[Model, ModelFailed], None] = lambda *_: None,
    ) -> None:
        self._all = tuple(models)
        self._models = list(models)
        self._timeout = timeout
        self._waits = tuple(waits)
        self._sleep = sleep
        self._again = again  # whether one more request may be made
        self._admit = admit  # waits until a request may go; its time is no model's
        self._refused = refused

    def warm(self) -> None:
        """Make ready the model that will be asked first."""
        for model in self._models[:1]:
            model.warm()

    def move_to(self, name: str) -> None:
        """Go on with the model that answered last, as a run that is resumed had done."""
        names = [model.name for model in self._models]
        if name in names:
            self._models = self._models[names.index(name) :]

    def close(self) -> None:
        """Let go of what all models hold."""
        for model in self._all:
            model.close()

    def __call__(self, task: Task[A]) -> Reply[A]:
        """A valid answer to a task. Raises ModelFailed when no model gives one."""
        asking = _Asking(task)
        last = ModelFailed("No model is left to ask.", "Check the keys, or run with --offline.")
        for model in list(self._models):
            if model not in self._models:
                continue  # its provider refused the key
            try:
                return self._valid(model, asking)
            except ModelFailed as error:
                last = error
                if error.outcome not in _OTHERS_MAY_ANSWER:
                    break
                self._move_on(model, error)
        if last.outcome in _RETRIED:
            self._waits = ()  # all are down: the next task tries once and does not wait again
        raise ModelFailed(
            last.message, last.remedy, outcome=last.outcome, attempts=tuple(asking.attempts)
        )

    def _move_on(self, failed: Model, error: ModelFailed) -> None:
        """Leave a model that failed, or all of its provider's when the key is refused."""
        left = [
            model
            for model in self._models
            if model is not failed
            and not (error.outcome in FINAL and model.provider == failed.provider)
        ]
        self._models = left or [failed]

    def _valid(self, model: Model, asking: _Asking[A]) -> Reply[A]:
        """One model's valid answer; an unusable one is asked for again, once, saying why."""
        correction = ""
        for first in (True, False):
            if not (first or self._again()):
                break
            generated = self._persistent(model, asking, correction)
            asking.pay(model, generated)
            try:
                answer = read(generated, asking.task)
            except ValueError as error:
                correction = str(error)
                asking.note(model, "invalid", correction)
            else:
                asking.note(model, "ok")
                return asking.reply(model, answer)
        raise ModelFailed(
            f"{model.name} gave no usable reply: {correction}",
            "Try again, or another model with --llm.",
            outcome="invalid",
        )

    def _persistent(self, model: Model, asking: _Asking[A], correction: str) -> Generated:
        """One model, asked until it replies or the waits are used up."""
        for wait in self._waits:
            try:
                return self._once(model, asking, correction)
            except ModelFailed as error:
                pause = max(wait, error.retry_after or 0.0)
                if error.outcome not in _RETRIED or pause > LONGEST_WAIT or not self._again():
                    raise
                self._sleep(pause)
        return self._once(model, asking, correction)

    def _once(self, model: Model, asking: _Asking[A], correction: str) -> Generated:
        self._admit(model, asking.task)
        asking.begin()
        try:
            return within(self._timeout, lambda: model.generate(asking.task, correction))
        except TimeoutError:
            error = ModelFailed(
                f"{model.name} did not answer within {self._timeout:g} s",
                "Try again, or raise LLM_TIMEOUT.",
                outcome="timeout",
            )
        except ModelFailed as failure:
            error = failure
        asking.note(model, error.outcome, error.message, error.remedy)
        self._refused(model, error)
        raise error


class _Asking(Generic[A]):
    """One task on its way: every attempt, and all that was paid for it, unusable replies too."""

    def __init__(self, task: Task[A]) -> None:
        self.task = task
        self.attempts: list[Attempt] = []
        self._paid: list[tuple[Generated, float | None]] = []
        self._begun = time.monotonic()

    def begin(self) -> None:
        self._begun = time.monotonic()

    def note(self, model: Model, outcome: Outcome, detail: str = "", remedy: str = "") -> None:
        seconds = round(time.monotonic() - self._begun, 3)
        who = model.provider if model.provider == model.name else f"{model.provider}:{model.name}"
        attempt = Attempt(
            what="llm",
            provider=who,
            outcome=outcome,
            detail=detail,
            remedy=remedy,
            seconds=seconds,
        )
        self.attempts.append(attempt)

    def pay(self, model: Model, generated: Generated) -> None:
        self._paid.append((generated, model.price(generated)))

    def reply(self, model: Model, answer: A) -> Reply[A]:
        prices = [usd for _, usd in self._paid if usd is not None]
        return Reply[A](
            answer=answer,
            model=model.name,
            input_tokens=sum(g.input_tokens for g, _ in self._paid),
            output_tokens=sum(g.output_tokens for g, _ in self._paid),
            usd=math.fsum(prices) if len(prices) == len(self._paid) else None,
            attempts=tuple(self.attempts),
        )


_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n?|\n?\s*```\s*$")


def read(generated: Generated, task: Task[A]) -> A:
    """A reply to a task: JSON, or tagged text where the task takes it. Raises ValueError."""
    within_limits = not generated.problem and len(generated.text) <= REPLY_LIMIT
    value = task.tagged(_FENCE.sub("", generated.text)) if within_limits else None
    return parse(generated, task.answer) if value is None else _fitting(value, task.answer)


def parse(generated: Generated, answer: type[A]) -> A:
    """A reply as the answer that was asked for. Raises ValueError saying what is wrong with it.

    Code fences, and prose around one JSON object, are forgiven: models add both.
    """
    if generated.problem:
        raise ValueError(generated.problem)
    if len(generated.text) > REPLY_LIMIT:
        raise ValueError(f"the reply is longer than {REPLY_LIMIT} characters")
    text = _FENCE.sub("", generated.text)
    begin = text.find("{")
    if begin < 0:
        raise ValueError("the reply holds no JSON object")
    try:
        value, _ = json.JSONDecoder().raw_decode(text, begin)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"the reply is not valid JSON: {error}") from None
    return _fitting(value, answer)


def _fitting(value: Any, answer: type[A]) -> A:
    try:
        return answer.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"the reply does not fit the schema: {where}: {first['msg']}") from None
