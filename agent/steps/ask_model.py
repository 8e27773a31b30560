"""How a step asks a model, and the events that record the outcome.

A step that can go on without a model asks with a fallback: an `Ask` that is not recorded and never
fails, which is the extractive backend (`ExternalCalls.fallback`).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal

from agent.calls import AnswerT, Ask, Reply, Task
from agent.errors import NON_RETRYABLE, AgentError, ExternalCallError, Halt, ModelFailed, Stopped
from agent.state import Asked, Event, Failed, Halted, Outcome

#: What `ask` raises when a task gets no answer. The step then goes on without a model.
NO_REPLY = (ModelFailed, Halt)


def ask_with_fallback(
    task: Task[AnswerT], ask: Ask, fallback: Ask
) -> Generator[Event, None, AnswerT]:
    """Ask a model, or the fallback where no model answers. Returns the answer."""
    answer = yield from try_to_ask(task, ask)
    if answer is None:
        reply = fallback(task)
        yield reply_event(task, reply)
        answer = reply.answer
    return answer


def begin(task: Task[AnswerT], ask: Ask) -> None:
    """Ask without waiting, where `ask` can: who asks the same then gets that answer."""
    if start := getattr(ask, "start", None):
        start(task)


def try_to_ask(
    task: Task[AnswerT], ask: Ask, *, is_first: bool = False
) -> Generator[Event, None, AnswerT | None]:
    """Ask a model. Returns the answer; None where no model answers.

    Raises ModelFailed if the task is the first of the run, and the key or the credit of each model
    fails: the caller must then act.
    """
    try:
        reply = ask(task)
    except NO_REPLY as error:
        if is_first and isinstance(error, ModelFailed) and _ends_of(error) <= NON_RETRYABLE:
            raise
        yield failure_event(task, error)
        return None
    yield reply_event(task, reply)
    return reply.answer


def _ends_of(error: ModelFailed) -> set[Outcome]:
    """The outcome of the last try at each model."""
    ends = {attempt.provider: attempt.outcome for attempt in error.attempts}
    return set(ends.values()) or {error.outcome}


def reply_event(task: Task[AnswerT], reply: Reply[AnswerT]) -> Asked:
    """The event of a model's reply."""
    return Asked(
        task=task.name, model=reply.model, confidence=reply.confidence, attempts=reply.attempts
    )


def failure_event(task: Task[AnswerT], error: AgentError) -> Failed | Halted:
    """The event of a task that no model answered."""
    if not isinstance(error, ModelFailed):
        return Halted(reason=error.message, is_stop=isinstance(error, Stopped))
    return call_failure("llm", task.name, error)


def call_failure(
    what: Literal["llm", "search", "page"],
    subject: str,
    error: ExternalCallError,
    stand_in: str = "",
) -> Failed:
    """The event of a task, a query or a page that failed; the run goes on without it."""
    said = {name: getattr(error, name) for name in ("outcome", "message", "remedy", "attempts")}
    return Failed(what=what, subject=subject, stand_in=stand_in, **said)
