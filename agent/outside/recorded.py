"""An outside call that is made once: known from the journal, shared in flight, or made now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Generic, TypeVar

from agent.errors import (
    AgentError,
    Halt,
    JournalDamaged,
    JournalError,
    ModelFailed,
    OutsideError,
    ReadFailed,
    SearchFailed,
    Stopped,
)
from agent.outside.journal import Journal, Json, digest
from agent.outside.threads import spawn
from agent.state import Attempt

#: What a failed call of each kind raises.
ERRORS: dict[str, type[OutsideError]] = {
    "ask": ModelFailed,
    "search": SearchFailed,
    "read": ReadFailed,
}
STOPPED = "The run was stopped before it ended; the answer comes from what had been read."
Req = TypeVar("Req")
Res = TypeVar("Res")


class Recorded(Generic[Req, Res]):
    """An outside call that is made once: known from the journal, shared in flight, or made now.

    `request` says what identifies a request, `encode` and `decode` are the response's JSON form;
    `recalled` is told what the journal answered; `permit` raises Halt if a call may not be made,
    `go_on` if it may not be waited for any longer. A call not answered after `limit` seconds is
    recorded as timed out; in a group, one that is still missing `patience` seconds after two thirds
    of the group ended is recorded as missed. `held` says how long this run's calls have waited for
    their turn with a provider: that is nobody's slowness and does not count.
    """

    def __init__(
        self,
        journal: Journal,
        kind: str,
        go: Callable[[Req], Res],
        *,
        request: Callable[[Req], Json],
        encode: Callable[[Res], Json],
        decode: Callable[[Req, Json], Res],
        permit: Callable[[Req], None],
        recalled: Callable[[Res], None] = lambda _: None,
        go_on: Callable[[Req], None],
        limit: float,
        patience: float,
        held: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._journal = journal
        self._kind = kind
        self._go = go
        self._request = request
        self._encode = encode
        self._decode = decode
        self._permit = permit
        self._recalled = recalled
        self._go_on = go_on
        self._limit = limit
        self._patience = patience
        self._held = held
        self._pace = 0.0  # seconds that calls took which the journal knew: here they take none

    def __call__(self, request: Req) -> Res:
        """Make the call and wait. Raises OutsideError, or Halt."""
        outcome = next(iter(self.collect([request])))
        if isinstance(outcome, OutsideError):
            raise outcome
        return outcome

    def start(self, request: Req) -> Future[Res]:
        """Make the call without waiting. Whoever asks for the same shares the result."""
        body = self._request(request)
        key = digest(self._kind, body)
        with self._journal.lock:
            if flight := self._journal.flights.get(key):
                return flight
            future: Future[Res] = Future()
            self._journal.flights[key] = future
        known = self._journal.known(key)
        if known is not None:
            self._recall(request, body, known, future)
        elif self._journal.closed_world:
            future.set_exception(self._unknown(body))
        elif refusal := self._refusal(request):
            future.set_exception(refusal)
        else:
            self._journal.began[key] = self._journal.elapsed()
            spawn(lambda: self._make(request, body, key, future))
        return future

    def _unknown(self, body: Json) -> AgentError:
        """In a replay: the run had been halted here, or it was another one."""
        if self._journal.halted:
            return Halt(self._journal.halted)
        return JournalError(
            "The run was cut off, is still under way, or is of another version; "
            f"its journal does not hold: {_named(self._kind, body)}",
            "Wait for its end, or go on with it: --resume and its name.",
        )

    def _refusal(self, request: Req) -> Halt | None:
        """Why a call may not go outside; nothing of it is recorded."""
        if self._journal.stop.is_set():
            return Stopped(STOPPED)
        try:
            self._permit(request)
        except Halt as halt:
            return halt
        return None

    def ready(self, request: Req) -> Res | None:
        """The result of a call that had ended well before gathering did; None if there is none."""
        key = digest(self._kind, self._request(request))
        if self._journal.known(key) is None and not self._journal.ended_in_time(key):
            return None
        flight = self.start(request)
        return flight.result() if flight.done() and not flight.exception() else None

    def collect(self, requests: Sequence[Req]) -> Iterator[Res | OutsideError]:
        """Outcomes in the order of the requests. Raises Halt."""
        try:
            yield from self._collected(requests)
        except Halt as halt:
            self._journal.halt(halt.message, self._given_up(requests))
            raise

    def _given_up(self, requests: Sequence[Req]) -> list[str]:
        """The calls that nobody waits for after a halt.

        After a search or a page nothing more is gathered; after a model, others may go on.
        """
        if self._kind == "ask":
            return [digest(self._kind, self._request(request)) for request in requests]
        return list(self._journal.flights)

    def _collected(self, requests: Sequence[Req]) -> Iterator[Res | OutsideError]:
        flights = [(request, self.start(request)) for request in requests]
        give_up = self._deadline([flight for _, flight in flights])
        for request, flight in flights:
            while not flight.done() and not give_up() and not self._just_ended(request, requests):
                wait([flight], timeout=0.05, return_when=FIRST_COMPLETED)
            if not flight.done():
                self._miss(request, flight, give_up())
            try:
                yield flight.result()
            except OutsideError as error:
                yield error

    def _just_ended(self, request: Req, requests: Sequence[Req]) -> bool:
        """Whether a call ended at the very moment in which gathering did: a replay knows it, so it
        counts. Raises Halt for one that is late."""
        try:
            if self._journal.stop.is_set():
                raise Stopped(STOPPED)
            self._go_on(request)
        except Halt as halt:
            self._journal.halt(halt.message, self._given_up(requests))
            if not self._journal.ended_in_time(digest(self._kind, self._request(request))):
                raise
            return True
        return False

    def _deadline(self, flights: list[Future[Res]]) -> Callable[[], str]:
        """A function that says why waiting for the rest of a group is over, if it is."""
        begun = time.monotonic() - self._held()
        most_done: list[float] = []

        def give_up() -> str:
            now = time.monotonic() - self._held() - begun
            if now > self._limit:
                return "timeout"
            if not most_done and 3 * sum(f.done() for f in flights) >= 2 * len(flights) > 2:
                most_done.append(now)
            longest = max(self._patience, most_done[0], self._pace) if most_done else 0.0
            late = bool(most_done) and now > most_done[0] + longest
            return "missed" if late else ""

        return give_up

    def _make(self, request: Req, body: Json, key: str, future: Future[Res]) -> None:
        line: Json = {"call": self._kind, "key": key, "request": body}
        try:
            response = self._go(request)
            line["response"] = self._encode(response)
            finish: Callable[[], Res] = lambda: response  # noqa: E731
        except Exception as error:  # a provider's failure becomes a recorded outcome
            failure = error if isinstance(error, OutsideError) else self._unexpected(error)
            line["error"] = _told(failure)
            finish = _raiser(failure)
        self._settle(future, line | self._times(key), finish, write=True)

    def _miss(self, request: Req, future: Future[Res], why: str) -> None:
        """Record that a call was given up; what it brings later is not used."""
        body = self._request(request)
        text = "did not answer in time" if why == "timeout" else "was much slower than the others"
        error = ERRORS[self._kind](
            f"The {self._kind} {text} and was given up.",
            outcome="timeout" if why == "timeout" else "missed",
        )
        key = digest(self._kind, body)
        line = {"call": self._kind, "key": key, "request": body, **self._times(key)}
        self._settle(future, {**line, "error": _told(error)}, _raiser(error), write=True)

    def _times(self, key: str) -> Json:
        """When a call went outside and how long it took, in seconds of the run."""
        began = self._journal.began[key]
        return {"began": began, "seconds": round(self._journal.elapsed() - began, 3)}

    def _unexpected(self, error: Exception) -> OutsideError:
        """A bug or a library's surprise: its type is told, not its text, which may hold a key."""
        return ERRORS[self._kind](f"An unexpected {type(error).__name__} in the {self._kind}.")

    def _settle(
        self, future: Future[Res], line: Json, finish: Callable[[], Res], *, write: bool
    ) -> None:
        """The first outcome of a call counts; it is on disk before anyone learns of it."""
        if not self._journal.record(line, write):
            return
        try:
            result = finish()
        except OutsideError as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _recall(self, request: Req, body: Json, line: Json, future: Future[Res]) -> None:
        """Answer from the journal. Its line may have been edited, or be another version's."""
        try:
            finish = self._remembered(request, line)
        except (ValueError, TypeError, KeyError):
            message = f"The journal's line of this call cannot be used: {_named(self._kind, body)}"
            future.set_exception(JournalDamaged(message, "Remove that line and --resume the run."))
        else:
            self._pace = max(self._pace, float(line.get("seconds", 0.0)))
            self._settle(future, line, finish, write=False)

    def _remembered(self, request: Req, line: Json) -> Callable[[], Res]:
        if "error" in line:
            return _raiser(_retold(self._kind, line["error"]))
        response = self._decode(request, line["response"])
        self._recalled(response)
        return lambda: response


def _named(kind: str, body: Json) -> str:
    """A call in words for the user."""
    return f"{kind} {body.get('query') or body.get('url') or body.get('task') or ''}"


def _raiser(error: OutsideError) -> Callable[[], Any]:
    def finish() -> Any:
        raise error

    return finish


def _told(error: OutsideError) -> Json:
    return {
        "outcome": error.outcome,
        "message": error.message,
        "remedy": error.remedy,
        "attempts": [attempt.model_dump(mode="json") for attempt in error.attempts],
    }


def _retold(kind: str, told: Json) -> OutsideError:
    return ERRORS[kind](
        told["message"],
        told["remedy"],
        outcome=told["outcome"],
        attempts=tuple(Attempt.model_validate(row) for row in told["attempts"]),
    )
