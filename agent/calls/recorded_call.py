"""An external call that is made once: answered by the journal, shared in flight, or made now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from agent.calls.deadline import GroupDeadline, WaitLimits
from agent.calls.journal import Journal, call_key
from agent.calls.journal_lines import ERROR_CLASSES, CallLine, decode_error, encode_error
from agent.calls.threads import spawn
from agent.errors import AgentError, ExternalCallError, Halt, JournalDamaged, JournalError, Stopped
from agent.state import Json

STOPPED = "The run was stopped before it ended; the answer comes from what had been read."
Req = TypeVar("Req")
Res = TypeVar("Res")


class Flight(NamedTuple):
    """A call under way: its request, as it is written too, its key, and who waits for it."""

    request: Any
    body: Json
    key: str
    future: Future[Any]


class RecordedCall(ABC, Generic[Req, Res]):
    """An external call that is made once: answered by the journal, shared in flight, or made now.

    A subclass says how calls of its kind are made, written and paid for.
    """

    name: Literal["ask", "search", "read"]

    def __init__(self, journal: Journal, limits: WaitLimits) -> None:
        self._journal = journal
        self._limits = limits
        self._slowest_recalled = 0.0  # seconds that a call from the journal took when it was made

    @abstractmethod
    def make(self, request: Req) -> Res:
        """Make the call. Raises ExternalCallError."""

    @abstractmethod
    def encode_request(self, request: Req) -> Json:
        """What identifies a request."""

    @abstractmethod
    def encode_response(self, response: Res) -> Json:
        """A response as it is written."""

    @abstractmethod
    def decode_response(self, request: Req, written: Json) -> Res:
        """A response that was written. Raises ValueError, TypeError, LookupError."""

    @abstractmethod
    def permit(self, request: Req) -> None:
        """Before a call is made. Raises Halt to forbid it."""

    @abstractmethod
    def check_time(self, request: Req) -> None:
        """While a call is waited for. Raises Halt to end the wait."""

    def prepare(self, request: Req) -> Req:
        """The request as it is made and written."""
        return request

    def on_end(self, request: Req) -> None:
        """After a call was made and recorded."""

    def on_recall(self, response: Res) -> None:
        """After a response came from the journal."""

    def __call__(self, request: Req) -> Res:
        """Make the call and wait. Raises ExternalCallError, or Halt."""
        outcome = next(self._outcomes([request]))
        if isinstance(outcome, ExternalCallError):
            raise outcome
        return outcome

    def start(self, request: Req) -> Future[Res]:
        """Make the call without waiting. Equal requests share one result, as it is recorded."""
        return self._start(self.prepare(request))

    def _start(self, request: Req) -> Future[Res]:
        flight = self._flight_of(request)
        with self._journal.lock:
            future = self._journal.in_flight.setdefault(flight.key, flight.future)
        if future is flight.future:
            self._begin(flight)
        return future

    def _begin(self, flight: Flight) -> None:
        if self._recall(flight):
            return
        if refusal := self._find_refusal(flight):
            flight.future.set_exception(refusal)
            return
        self._journal.start_times[flight.key] = self._journal.elapsed_seconds()
        self._journal.subjects[flight.key] = self._describe(flight)
        spawn(lambda: self._make(flight))

    def _find_refusal(self, flight: Flight) -> AgentError | None:
        if self._journal.is_replay:
            return self._missing_call_error(flight)
        if self._journal.stop.is_set():
            return Stopped(STOPPED)
        try:
            self.permit(flight.request)
        except Halt as halt:
            return halt
        return None

    def _missing_call_error(self, flight: Flight) -> AgentError:
        """Why a replay's journal does not hold a call: the run was halted here, or was another."""
        if self._journal.halt_reason:
            reason = self._journal.halt_reason
            return Stopped(reason) if reason == STOPPED else Halt(reason)
        return JournalError(
            "The run was cut off, is still under way, or is of another version; "
            f"its journal does not hold: {self._describe(flight)}",
            "Wait for it to end, or continue it: --resume and its name.",
        )

    def result_if_done(self, request: Req) -> Res | None:
        """The result of a call that ended well before gathering ended; None if there is none."""
        request = self.prepare(request)
        key = self._flight_of(request).key
        has_ended = self._journal.find_call(key) or self._journal.has_ended_in_time(key)
        if not has_ended:
            return None
        future = self._start(request)
        if not future.done() or future.exception():
            return None
        return future.result()

    def collect(self, requests: Sequence[Req]) -> Iterator[Res | ExternalCallError]:
        """Outcomes in the order of the requests. Raises Halt."""
        return self._outcomes(requests)

    def _outcomes(self, requests: Sequence[Req]) -> Iterator[Res | ExternalCallError]:
        requests = list(map(self.prepare, requests))
        try:
            yield from self._collect(requests)
        except Halt as halt:
            first = self._journal.halt(halt.message, self._abandoned_keys(requests))
            if first == halt.message or isinstance(halt, Stopped):
                raise
            raise type(halt)(first) from None  # parallel calls may reach two limits

    def _abandoned_keys(self, requests: Sequence[Req]) -> list[str]:
        """The calls that nobody waits for after a halt.

        A halt in a search or a read ends all gathering. After one in a model call, others go on.
        """
        if self.name == "ask":
            return [self._flight_of(request).key for request in requests]
        return list(self._journal.in_flight)

    def _collect(self, requests: Sequence[Req]) -> Iterator[Res | ExternalCallError]:
        futures = [self._start(request) for request in requests]
        deadline = GroupDeadline(futures, self._limits, lambda: self._slowest_recalled)
        for request, future in zip(requests, futures, strict=True):
            while (
                not future.done()
                and not deadline.outcome()
                and not self._ended_at_halt(request, requests)
            ):
                wait([future], timeout=0.05, return_when=FIRST_COMPLETED)
            if not future.done():
                self._give_up(self._flight_of(request)._replace(future=future), deadline.outcome())
            try:
                yield future.result()
            except ExternalCallError as error:
                yield error

    def _ended_at_halt(self, request: Req, requests: Sequence[Req]) -> bool:
        """Whether a call ended at the very moment at which gathering did.

        It then counts, because a replay knows it too. Raises Halt if gathering has ended and the
        call has not.
        """
        try:
            if self._journal.stop.is_set():
                raise Stopped(STOPPED)
            self.check_time(request)
        except Halt as halt:
            self._journal.halt(halt.message, self._abandoned_keys(requests))
            if not self._journal.has_ended_in_time(self._flight_of(request).key):
                raise
            return True
        return False

    def _make(self, flight: Flight) -> None:
        outcome: Res | ExternalCallError
        try:
            outcome = self.make(flight.request)
            result = {"response": self.encode_response(outcome)}
        except Exception as error:  # a provider's failure becomes a recorded outcome
            outcome = (
                error if isinstance(error, ExternalCallError) else self._unexpected_error(error)
            )
            result = {"error": encode_error(outcome)}
        self._end(flight, outcome, result | self._timing(flight), write=True)

    def _give_up(self, flight: Flight, outcome: Literal["timeout", "missed", ""]) -> None:
        """Record that a call was given up. A response that comes later is not used."""
        name, timed_out = self.name, outcome == "timeout"
        reason = "did not answer in time" if timed_out else "was much slower than the others"
        error = ERROR_CLASSES[name](
            f"The {name} {reason} and was given up.", outcome="timeout" if timed_out else "missed"
        )
        result = {"error": encode_error(error)}
        self._end(flight, error, result | self._timing(flight), write=True)

    def _timing(self, flight: Flight) -> Json:
        began = self._journal.start_times[flight.key]
        return {"began": began, "seconds": round(self._journal.elapsed_seconds() - began, 3)}

    def _unexpected_error(self, error: Exception) -> ExternalCallError:
        """For a bug, here or in a library: its type alone, since its text may hold a key."""
        name = self.name
        return ERROR_CLASSES[name](f"An unexpected {type(error).__name__} in the {name}.")

    def _end(
        self, flight: Flight, outcome: Res | ExternalCallError, result: Json, *, write: bool
    ) -> None:
        """Record a call's outcome, then publish it. Only the first outcome of a call counts."""
        line = {"call": self.name, "key": flight.key, "request": flight.body, **result}
        if not self._journal.record(line, write):
            return
        if write:
            self.on_end(flight.request)
        if isinstance(outcome, ExternalCallError):
            flight.future.set_exception(outcome)
        else:
            flight.future.set_result(outcome)

    def _recall(self, flight: Flight) -> bool:
        """Answer a call from the journal; False where it does not hold the call.

        Its line may be edited, or from another version: a run that goes on makes the call again.
        """
        try:
            if (line := self._journal.find_call(flight.key)) is None:
                return False
            recorded = CallLine.model_validate(line)
            outcome, result = self._decode(flight.request, recorded)
        except JournalDamaged as error:
            flight.future.set_exception(error)
        except (ValueError, TypeError, LookupError, AttributeError):
            if not self._journal.is_replay:
                return False
            message = f"The journal's line of this call cannot be used: {self._describe(flight)}"
            damage = JournalDamaged(message, "Continue the run: --resume makes the call again.")
            flight.future.set_exception(damage)
        else:
            self._slowest_recalled = max(self._slowest_recalled, recorded.seconds)
            # no more of the line than was validated: others compute with it
            kept = {"began", "seconds", "late"}
            timing = recorded.model_dump(include=kept, exclude_unset=True)
            self._end(flight, outcome, result | timing, write=False)
        return True

    def _decode(self, request: Req, line: CallLine) -> tuple[Res | ExternalCallError, Json]:
        if "error" in line.model_fields_set:
            error = decode_error(self.name, line.error)
            return error, {"error": encode_error(error)}
        response = self.decode_response(request, line.response)
        self.on_recall(response)
        return response, {"response": self.encode_response(response)}

    def _flight_of(self, request: Req) -> Flight:
        body = self.encode_request(request)
        return Flight(request, body, call_key(self.name, body), Future())

    def _describe(self, flight: Flight) -> str:
        body = flight.body
        subject = body.get("query") or body.get("url") or body.get("task") or ""
        return f"{self.name} {subject}"
