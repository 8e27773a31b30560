"""An outside call that is made once: answered by the journal, shared in flight, or made now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import Field

from agent.errors import (
    AgentError,
    Halt,
    JournalDamaged,
    JournalError,
    ModelFailed,
    OutsideError,
    ReadFailed,
    SearchFailed,
    Spent,
    Stopped,
)
from agent.outside.deadline import GroupDeadline, WaitLimits
from agent.outside.journal import Journal, call_key
from agent.outside.recording import CallLine
from agent.outside.threads import spawn
from agent.outside.turns import TURNS
from agent.state import Attempt, Frozen, ModelCost, Outcome
from agent.state.json_data import Json
from agent.state.values import MAX_TOKENS

#: What a failed call of each kind raises.
ERROR_CLASSES: dict[str, type[OutsideError]] = {
    "ask": ModelFailed,
    "search": SearchFailed,
    "read": ReadFailed,
}
STOPPED = "The run was stopped before it ended; the answer comes from what had been read."
Req = TypeVar("Req")
Res = TypeVar("Res")


class RecordedError(Frozen):
    """How a failed call is written in a journal."""

    outcome: Outcome
    message: str
    remedy: str
    attempts: tuple[Attempt, ...]
    #: Of replies that could not be used; not written where there were none.
    input_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    output_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    usd: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)
    costs: tuple[ModelCost, ...] = ()


@dataclass(frozen=True)
class CallFormat(Generic[Req, Res]):
    """How the calls of one kind are written in a journal."""

    kind: Literal["ask", "search", "read"]
    encode_request: Callable[[Req], Json]  # what identifies the request
    encode_response: Callable[[Res], Json]
    decode_response: Callable[[Req, Json], Res]  # may raise ValueError, TypeError, KeyError


@dataclass(frozen=True)
class CallHooks(Generic[Req, Res]):
    """What is done about a call besides making it."""

    permit: Callable[[Req], None]  # before it goes outside; raises Halt to forbid it
    check_time: Callable[[Req], None]  # while it is waited for; raises Halt to end the wait
    on_end: Callable[[Req], None] = lambda _: None  # after it went outside and was recorded
    on_recall: Callable[[Res], None] = lambda _: None  # gets each response from the journal


class RecordedCall(Generic[Req, Res]):
    """An outside call that is made once: answered by the journal, shared in flight, or made now."""

    def __init__(
        self,
        journal: Journal,
        call: Callable[[Req], Res],
        form: CallFormat[Req, Res],
        hooks: CallHooks[Req, Res],
        limits: WaitLimits,
    ) -> None:
        """`call` goes outside: it raises OutsideError when it fails."""
        self._journal = journal
        self._call = call
        self._form = form
        self._hooks = hooks
        self._limits = limits
        self._slowest_recalled = 0.0  # seconds that a call from the journal took when it was made

    def __call__(self, request: Req) -> Res:
        """Make the call and wait. Raises OutsideError, or Halt."""
        outcome = next(iter(self.collect([request])))
        if isinstance(outcome, OutsideError):
            raise outcome
        return outcome

    def start(self, request: Req) -> Future[Res]:
        """Make the call without waiting. Equal requests share one result."""
        body = self._form.encode_request(request)
        key = call_key(self._form.kind, body)
        with self._journal.lock:
            if flight := self._journal.in_flight.get(key):
                return flight
            future: Future[Res] = Future()
            self._journal.in_flight[key] = future
        if self._recall(request, body, key, future):
            pass
        elif self._journal.is_replay:
            future.set_exception(self._missing_call_error(body))
        elif halt := self._check_permitted(request):
            future.set_exception(halt)
        else:
            self._journal.start_times[key] = self._journal.elapsed_seconds()
            spawn(lambda: self._make(request, body, key, future))
        return future

    def _missing_call_error(self, body: Json) -> AgentError:
        """Why a replay's journal does not hold a call: the run was halted here, or was another."""
        if self._journal.halt_reason:
            return Halt(self._journal.halt_reason)
        return JournalError(
            "The run was cut off, is still under way, or is of another version; "
            f"its journal does not hold: {_describe_call(self._form.kind, body)}",
            "Wait for its end, or go on with it: --resume and its name.",
        )

    def _check_permitted(self, request: Req) -> Halt | None:
        """The Halt that keeps a call from going outside; None if it may go. It is not recorded."""
        if self._journal.stop.is_set():
            return Stopped(STOPPED)
        try:
            self._hooks.permit(request)
        except Halt as halt:
            return halt
        return None

    def result_if_done(self, request: Req) -> Res | None:
        """The result of a call that ended well before gathering ended; None if there is none."""
        key = self._key_of(request)
        if self._journal.find_call(key) is None and not self._journal.has_ended_in_time(key):
            return None
        flight = self.start(request)
        return flight.result() if flight.done() and not flight.exception() else None

    def collect(self, requests: Sequence[Req]) -> Iterator[Res | OutsideError]:
        """Outcomes in the order of the requests. Raises Halt."""
        try:
            yield from self._collect(requests)
        except Halt as halt:
            self._journal.halt(halt.message, self._abandoned_keys(requests))
            raise

    def _abandoned_keys(self, requests: Sequence[Req]) -> list[str]:
        """The calls that nobody waits for after a halt.

        A halt in a search or a read ends all gathering. After one in a model call, others go on.
        """
        if self._form.kind == "ask":
            return [self._key_of(request) for request in requests]
        return list(self._journal.in_flight)

    def _collect(self, requests: Sequence[Req]) -> Iterator[Res | OutsideError]:
        flights = [(request, self.start(request)) for request in requests]
        group = [flight for _, flight in flights]
        deadline = GroupDeadline(group, self._limits, lambda: self._slowest_recalled)
        for request, flight in flights:
            with TURNS.give():
                while (
                    not flight.done()
                    and not deadline.outcome()
                    and not self._ended_at_halt(request, requests)
                ):
                    wait([flight], timeout=0.05, return_when=FIRST_COMPLETED)
            if not flight.done():
                self._give_up(request, flight, deadline.outcome())
            try:
                yield flight.result()
            except OutsideError as error:
                yield error

    def _ended_at_halt(self, request: Req, requests: Sequence[Req]) -> bool:
        """Whether a call ended at the very moment at which gathering did.

        It then counts, because a replay knows it too. Raises Halt if gathering has ended and the
        call has not.
        """
        try:
            if self._journal.stop.is_set():
                raise Stopped(STOPPED)
            self._hooks.check_time(request)
        except Halt as halt:
            self._journal.halt(halt.message, self._abandoned_keys(requests))
            if not self._journal.has_ended_in_time(self._key_of(request)):
                raise
            return True
        return False

    def _make(self, request: Req, body: Json, key: str, future: Future[Res]) -> None:
        """Go outside, and record what comes of it."""
        line: Json = {"call": self._form.kind, "key": key, "request": body}
        try:
            response = self._call(request)
            line["response"] = self._form.encode_response(response)
            finish: Callable[[], Res] = lambda: response  # noqa: E731
        except Exception as error:  # a provider's failure becomes a recorded outcome
            failure = error if isinstance(error, OutsideError) else self._unexpected_error(error)
            line["error"] = _encode_error(failure)
            finish = _raiser(failure)
        self._settle(request, future, line | self._timing(key), finish, write=True)

    def _give_up(self, request: Req, future: Future[Res], outcome: str) -> None:
        """Record that a call was given up. A response that comes later is not used."""
        kind, body = self._form.kind, self._form.encode_request(request)
        timed_out = outcome == "timeout"
        reason = "did not answer in time" if timed_out else "was much slower than the others"
        error = ERROR_CLASSES[kind](
            f"The {kind} {reason} and was given up.", outcome="timeout" if timed_out else "missed"
        )
        key = call_key(kind, body)
        line = {"call": kind, "key": key, "request": body, **self._timing(key)}
        line |= {"error": _encode_error(error)}
        self._settle(request, future, line, _raiser(error), write=True)

    def _timing(self, key: str) -> Json:
        """When a call went outside, and how long it took, in seconds of the run."""
        began = self._journal.start_times[key]
        return {"began": began, "seconds": round(self._journal.elapsed_seconds() - began, 3)}

    def _unexpected_error(self, error: Exception) -> OutsideError:
        """For a bug, here or in a library: its type alone, since its text may hold a key."""
        kind = self._form.kind
        return ERROR_CLASSES[kind](f"An unexpected {type(error).__name__} in the {kind}.")

    def _settle(
        self,
        request: Req,
        future: Future[Res],
        line: Json,
        finish: Callable[[], Res],
        *,
        write: bool,
    ) -> None:
        """Record a call's outcome, then publish it. Only the first outcome of a call counts."""
        if not self._journal.record(line, write):
            return
        if write:
            self._hooks.on_end(request)
        try:
            result = finish()
        except OutsideError as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _recall(self, request: Req, body: Json, key: str, future: Future[Res]) -> bool:
        """Answer a call from the journal; False where it does not hold the call.

        Its line may be edited, or from another version.
        """
        try:
            if (line := self._journal.find_call(key)) is None:
                return False
            recorded = CallLine.model_validate(line)
            result, finish = self._decode_result(request, recorded)
        except JournalDamaged as error:
            future.set_exception(error)
        except (ValueError, TypeError, LookupError, AttributeError):
            call = _describe_call(self._form.kind, body)
            message = f"The journal's line of this call cannot be used: {call}"
            future.set_exception(JournalDamaged(message, "Remove that line and --resume the run."))
        else:
            self._slowest_recalled = max(self._slowest_recalled, recorded.seconds)
            # no more of the line than was validated: others compute with it
            line = {"call": self._form.kind, "key": key, "request": body, **result}
            timing = recorded.model_dump(include={"began", "seconds", "late"}, exclude_unset=True)
            self._settle(request, future, line | timing, finish, write=False)
        return True

    def _decode_result(self, request: Req, line: CallLine) -> tuple[Json, Callable[[], Res]]:
        """What a line says came of a call, as it is written, and as a function.

        The function returns the recorded response, or raises the recorded error.
        """
        if "error" in line.model_fields_set:
            error = _decode_error(self._form.kind, line.error)
            return {"error": _encode_error(error)}, _raiser(error)
        response = self._form.decode_response(request, line.response)
        self._hooks.on_recall(response)
        return {"response": self._form.encode_response(response)}, lambda: response

    def _key_of(self, request: Req) -> str:
        return call_key(self._form.kind, self._form.encode_request(request))


def _describe_call(kind: str, body: Json) -> str:
    """A call in words for the user."""
    return f"{kind} {body.get('query') or body.get('url') or body.get('task') or ''}"


def _raiser(error: OutsideError) -> Callable[[], Any]:
    """A function that raises an error."""

    def raise_error() -> Any:
        raise error

    return raise_error


def _encode_error(error: OutsideError) -> Json:
    recorded = RecordedError(
        outcome=error.outcome,
        message=error.message,
        remedy=error.remedy,
        attempts=error.attempts,
        **error.spent._asdict(),
        costs=error.costs,
    )
    unpaid = set() if any(error.spent) else {*Spent._fields, "costs"}
    return recorded.model_dump(mode="json", exclude=unpaid)


def _decode_error(kind: str, error: Json) -> OutsideError:
    recorded = RecordedError.model_validate(error)
    return ERROR_CLASSES[kind](
        recorded.message,
        recorded.remedy,
        outcome=recorded.outcome,
        attempts=recorded.attempts,
        spent=Spent(recorded.input_tokens, recorded.output_tokens, recorded.usd),
        costs=recorded.costs,
    )
