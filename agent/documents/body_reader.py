"""Reads pages and files in workers, each within its time.

A worker that misses the deadline of a body, or ends, costs that body; the next one gets a new
worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError

from agent.documents.body_text import (
    CUT,
    MAX_LOST,
    MAX_NOTE,
    TEXT,
    Body,
    BodyText,
    Mark,
    UnreadablePage,
)
from agent.documents.page_date import read_day
from agent.documents.worker_pool import MAX_WORKERS, WorkerPool, shared_pool
from agent.documents.worker_process import Countdown, ReaderProcess, WorkerEnded
from agent.errors import ReadFailed
from agent.state import Outcome, sanitize_line

#: Seconds for one page or file. The slowest honest ones measured take two.
TIMEOUT = 10.0
#: Seconds for a user's file, of which each part is ready within `TIMEOUT`: a scan of many pages.
MAX_FILE_SECONDS = 120.0
CRASH = "reading it ended the process that reads; it may be damaged or hostile"
T = TypeVar("T")
_DEFERRED = ConfigDict(defer_build=True)  # until the first answer, since it takes milliseconds
_READ = TypeAdapter(BodyText, config=_DEFERRED)
_MARKS: TypeAdapter[Iterable[Mark]] = TypeAdapter(list[Mark], config=_DEFERRED)


class BodyReader:
    """Reads bodies in the workers of a pool until it is closed. Can be used from many threads."""

    def __init__(self, pool: WorkerPool | None = None, timeout: float = TIMEOUT) -> None:
        """`timeout`: seconds for each body, the wait for a worker included."""
        self._pool = pool or shared_pool()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._busy: set[ReaderProcess] = set()
        self._is_closed = False

    @property
    def width(self) -> int:
        """How many workers may read files at once, so that one is left for pages."""
        return max(1, self._pool.size - 1)

    def warm(self) -> None:
        """Start a worker before the first body needs it, without waiting for it."""
        with suppress(OSError):  # the first body says so
            self._pool.warm()

    def read(self, body: Body) -> BodyText:
        """Title and text of a body, in whole or as far as they were read in time.

        Raises UnreadablePage, also where the body ends its worker; ReadFailed once the reader is
        closed.
        """
        (outcome,) = self.read_all([body])
        if isinstance(outcome, UnreadablePage):
            raise outcome
        return outcome

    def read_all(
        self, bodies: Sequence[Body], deadline: float = float("inf"), max_wait: float | None = None
    ) -> Iterator[BodyText | UnreadablePage]:
        """What `read` returns or raises, for each body in order. Raises ReadFailed.

        One worker reads ahead of the caller. `deadline`: of all bodies, on the monotonic clock.
        `max_wait`: seconds to wait for a worker, which do not count as those of the first body.
        """
        rest = list(bodies)
        tries = 0  # of the first of the rest
        while rest:
            tries += 1
            countdown = Countdown(self._timeout, deadline)
            try:
                for outcome in self._read_ahead(tuple(rest), countdown, max_wait):
                    del rest[0]
                    tries = 0
                    yield outcome
                    countdown.restart()
            except WorkerEnded as error:
                self.check_open()
                if not error.is_idle or tries > MAX_WORKERS:  # each may have ended by itself
                    del rest[0]
                    tries = 0
                    yield UnreadablePage(CRASH, "invalid")

    def check_open(self) -> None:
        """Raises ReadFailed once closed."""
        if self._is_closed:
            raise ReadFailed("The reader of pages is closed.", outcome="unavailable")

    def _read_ahead(
        self, bodies: Sequence[Body], countdown: Countdown, max_wait: float | None
    ) -> Iterator[BodyText | UnreadablePage]:
        """Outcomes of bodies, as many as one worker reads in time; at least one, or WorkerEnded."""
        self.check_open()
        reading = _BodyInParts()
        wait_until = countdown.end if max_wait is None else time.monotonic() + max_wait
        try:
            with self._pool.borrow(wait_until) as worker, self._track(worker):
                if max_wait is not None:
                    countdown.restart()
                answers = worker.answer(bodies, countdown)
                for position, body in enumerate(bodies, 1):
                    most = MAX_FILE_SECONDS if body.suffix else self._timeout
                    outcome = reading.finish(answers, partial(countdown.extend, most))
                    reading = _BodyInParts()
                    if position < len(bodies):
                        yield outcome
            yield outcome  # the worker is free: it is not ended where the caller takes no more
        except TimeoutError:
            yield reading.rest() or UnreadablePage("it took too long to read", "timeout")
        except WorkerEnded:
            if self._is_closed or not (rest := reading.rest()):
                raise
            yield rest
        except OSError as error:  # no process, no file descriptor, no memory
            fault = f"no process could be started to read it ({error.strerror or error})"
            yield UnreadablePage(fault, "unavailable")

    @contextmanager
    def _track(self, worker: ReaderProcess) -> Iterator[None]:
        """Let `close` find a worker that is busy. Raises WorkerEnded once closed."""
        with self._lock:
            if self._is_closed:
                raise WorkerEnded(is_idle=True)
            self._busy.add(worker)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(worker)

    def close(self) -> None:
        """Kill the workers that read for it; their reads raise ReadFailed. Can be called twice."""
        with self._lock:
            self._is_closed = True
            for worker in self._busy:
                worker.kill()


class _BodyInParts:
    """What a worker has answered of one body so far."""

    def __init__(self) -> None:
        self._title = ""
        self._parts: list[str] = []
        self._marks: list[Mark] = []

    def finish(
        self, answers: Iterator[Any], on_part: Callable[[], None]
    ) -> BodyText | UnreadablePage:
        """The outcome, after the parts that precede it. Raises WorkerEnded."""
        while not (outcome := self.take(next(answers))):
            on_part()
        return outcome

    def take(self, answer: Any) -> BodyText | UnreadablePage | None:
        """The outcome, once it is answered. Raises WorkerEnded for what no worker answers."""
        match answer:
            case {"done": list(values)}:
                read = _validate(_READ, values)
                plain = partial(sanitize_line, limit=MAX_NOTE)
                lost = ((plain(what), n, plain(why)) for what, n, why in read.not_read)
                not_read = tuple(islice(lost, MAX_LOST + 1))
                marks, day = _sort_marks(read.marks), read_day(read.date)
                return read._replace(marks=marks, date=day, not_read=not_read)
            case {"failed": [str(reason), str(outcome)]}:
                is_known = outcome in get_args(Outcome)
                return UnreadablePage(reason, cast(Outcome, outcome) if is_known else "invalid")
            case {"part": [str(title), str(text), list(marks)]}:
                self._title = title
                self._parts.append(text)
                self._marks += _validate(_MARKS, marks)
                return None
        raise WorkerEnded(is_idle=False)

    def rest(self) -> BodyText | None:
        """What was read before the worker ended; None if it has no text."""
        text = "".join(self._parts)
        marks, lost = _sort_marks(self._marks), ((TEXT, 1, CUT),)
        return BodyText(self._title, text, marks=marks, not_read=lost) if text else None


def _validate(adapter: TypeAdapter[T], values: list[Any]) -> T:
    """A value that a worker has answered. Raises WorkerEnded for what none answers."""
    try:
        return adapter.validate_python(values)
    except ValidationError:
        raise WorkerEnded(is_idle=False) from None


def _sort_marks(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    return tuple(sorted(marks, key=lambda mark: mark[0]))
