"""Processes that read what is hostile, and that can be killed: `worker.py` is what they run.

All pages and files of a process go through one pool: the command line has one worker, a server or
a batch has more while the first ones are busy. A worker that misses the deadline of a page, or
ends, costs that page; the next one gets a new worker.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

from agent.errors import ReadFailed
from agent.settings import system_environment
from agent.shell import write_all
from agent.sources.formats.body_text import BodyText, Mark, UnreadablePage
from agent.state import Outcome

#: Seconds for one page or file. The slowest honest ones measured take two: benchmarks/pages.py.
TIMEOUT = 10.0
#: Seconds for a user's file, of which each part is ready within `TIMEOUT`: a scan of many pages.
MAX_FILE_SECONDS = 120.0
MAX_WORKERS = max(2, min(4, os.cpu_count() or 2))
#: Seconds that a page waits for a worker that is busy before another one is started, which takes
#: 0.3 s. The nine pages of a run take less than that together.
PATIENCE = 0.5
MIN_ANSWER = 64_000_000  # bytes that a worker may answer for any body,
ANSWER_RATIO = 6  # and for each byte of a larger one: JSON may write a character in six
CRASH = "reading it ended the process that reads; it may be damaged or hostile"
CUT = "only what was read in time is used"
EXIT_SECONDS = 1.0  # in which a worker that ends by itself must be gone
CAN_POLL = hasattr(select, "poll")  # not on Windows, where threads wait for the pipes
_CHUNK = 2**16  # bytes: the buffer of a pipe
_PACKAGE = str(Path(__file__).parents[3])  # the folder that holds `agent`


class Body(NamedTuple):
    """What is to be read: a page with its declared type and URL, or a file with its suffix.

    `is_report`: its sentences are to be checked, so its links are wanted too.
    """

    data: bytes
    content_type: str = ""
    url: str = ""
    suffix: str = ""
    is_report: bool = False

    def encode_header(self) -> bytes:
        """The line that precedes the data on the way to a worker."""
        header = {**self._asdict(), "size": len(self.data)}
        del header["data"]
        return json.dumps(header).encode() + b"\n"


class Countdown:
    """Seconds that are left for one body after the other, all of them until a deadline."""

    def __init__(self, seconds: float, deadline: float = float("inf")) -> None:
        """`deadline` is on the monotonic clock, and so is `end`."""
        self._seconds = seconds
        self._deadline = deadline
        self.restart()

    def restart(self) -> None:
        """Begin anew, with all of the seconds."""
        self._began = time.monotonic()
        self.end = min(time.monotonic() + self._seconds, self._deadline)

    def extend(self, most: float) -> None:
        """Give all of the seconds again, but end so many seconds after the beginning at most."""
        latest = min(self._began + most, self._deadline)
        self.end = min(time.monotonic() + self._seconds, latest)

    def remaining(self) -> float:
        """Seconds, never less than none."""
        return max(0.0, self.end - time.monotonic())


class WorkerEnded(Exception):
    """A worker ended before its answer; `is_idle`: by its own rule, before it saw the request."""

    def __init__(self, *, is_idle: bool) -> None:
        super().__init__("a worker ended")
        self.is_idle = is_idle


class ReaderProcess:
    """One process. Used by one thread at a time; `kill` may be called by any."""

    def __init__(self, *, is_warm: bool) -> None:
        """`is_warm`: it imports at once what pages in HTML need. Raises OSError."""
        paths = [path for path in sys.path if Path(path).is_absolute()]
        arguments = [json.dumps([*paths, _PACKAGE]), *(["warm"] if is_warm else [])]
        self._process = subprocess.Popen(
            [sys.executable, "-ISXutf8", str(Path(__file__).with_name("worker.py")), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env=system_environment(),  # no key, no proxy, nothing that changes how Python starts
            start_new_session=True,  # Ctrl-C is not meant for it
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # nor on Windows
        )
        assert self._process.stdin and self._process.stdout
        self.pid = self._process.pid
        self._requests = self._process.stdin.fileno()
        self._answers = self._process.stdout.fileno()
        self._received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        if CAN_POLL:
            os.set_blocking(self._requests, False)
        else:
            threading.Thread(target=self._receive, daemon=True).start()

    def answer(self, bodies: Sequence[Body], countdown: Countdown) -> Iterator[Any]:
        """What the worker answers to each body: any number of `part`, then `done` or `failed`.

        The bodies are sent while it works, so that it never waits for the next one. Raises
        TimeoutError where the countdown ends, WorkerEnded.
        """
        unsent = b"".join(part for body in bodies for part in (body.encode_header(), body.data))
        most = max(MIN_ANSWER, ANSWER_RATIO * len(unsent))
        line = bytearray()
        for chunk in self._exchange(memoryview(unsent), countdown):
            first, *others = chunk.split(b"\n")
            line += first
            for other in others:
                yield parse_answer(bytes(line))
                line = bytearray(other)
            most -= len(chunk)
            if most < 0:
                raise WorkerEnded(is_idle=False)
        raise WorkerEnded(is_idle=not line and self._exit_status() == 0)

    def _exchange(self, unsent: memoryview, countdown: Countdown) -> Iterator[bytes]:
        """Send bytes while receiving what the worker writes, until it closes its end."""
        if not CAN_POLL:
            yield from self._exchange_by_threads(unsent, countdown)
            return
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        poll.register(self._requests, select.POLLOUT)
        while True:
            ready = dict(poll.poll(1000 * countdown.remaining()))
            if not ready:
                raise TimeoutError
            if self._requests in ready:
                unsent = self._send(unsent)
                if not unsent:
                    poll.unregister(self._requests)
            if self._answers in ready:
                chunk = os.read(self._answers, _CHUNK)
                if not chunk:
                    return
                yield chunk

    def _exchange_by_threads(self, unsent: memoryview, countdown: Countdown) -> Iterator[bytes]:
        """The same where pipes cannot be polled: one thread sends, another one receives."""

        def send() -> None:
            with suppress(OSError):  # the worker has ended, which the other thread sees
                write_all(lambda rest: os.write(self._requests, rest), unsent)

        threading.Thread(target=send, daemon=True).start()
        while True:
            try:
                chunk = self._received.get(timeout=countdown.remaining())
            except queue.Empty:
                raise TimeoutError from None
            if not chunk:
                self._received.put(b"")  # the end stays the end
                return
            yield chunk

    def _receive(self) -> None:
        """Queue what the worker writes, and nothing at its end."""
        with suppress(OSError):
            while chunk := os.read(self._answers, _CHUNK):
                self._received.put(chunk)
        self._received.put(b"")

    def _send(self, unsent: memoryview) -> memoryview:
        """Send as much as the pipe takes; returns the rest, which is nothing once it is broken."""
        try:
            return unsent[os.write(self._requests, unsent[:_CHUNK]) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            return unsent[:0]

    def _exit_status(self) -> int:
        """The exit status of a process that has closed its end, or is killed for not ending."""
        try:
            return self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def is_alive(self) -> bool:
        """Whether the process has not ended yet."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process now; whoever waits for its answer reads the end of it."""
        self._process.kill()

    def close(self) -> None:
        """End the process and leave nothing of it. Not while another thread reads."""
        self.kill()
        with self._process:  # closes its pipes and waits for it
            pass


def parse_answer(line: bytes) -> Any:
    """One answer of a worker. Raises WorkerEnded for what none writes: it is not itself."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise WorkerEnded(is_idle=False) from None


class WorkerPool:
    """The workers of this process, started when they are needed. Thread-safe."""

    def __init__(self, size: int = MAX_WORKERS) -> None:
        self._size = size
        self._idle: list[ReaderProcess] = []
        self._count = 0  # of all workers, busy ones too
        self._is_warm = False
        self._owner = os.getpid()
        self._condition = threading.Condition()

    def warm(self) -> None:
        """Start the first worker, without waiting for it. Raises OSError."""
        with self._condition:
            self._is_warm = True
            if self._count:
                return
            self._count += 1
        self._release(self._start())

    @contextmanager
    def borrow(self, deadline: float) -> Iterator[ReaderProcess]:
        """A worker for one body. Raises TimeoutError if all are busy until the deadline, OSError.

        A worker that is in use when an exception ends the block is closed.
        """
        worker = self._acquire(deadline) or self._start()
        with ExitStack() as on_error:
            on_error.callback(self._discard, worker)
            yield worker
            on_error.pop_all()
        self._release(worker)

    def close(self) -> None:
        """End the workers that are idle. A forked copy of this process has none of them."""
        with self._condition:
            idle, self._idle = self._idle, []
            self._count -= len(idle)
        if self._owner == os.getpid():
            for worker in idle:
                worker.close()

    def _acquire(self, deadline: float) -> ReaderProcess | None:
        """An idle worker; None where the caller may start another one."""
        patient_until = time.monotonic() + PATIENCE
        with self._condition:
            while not (worker := self._pop_idle()):
                now = time.monotonic()
                if not self._count or (now >= patient_until and self._count < self._size):
                    self._count += 1
                    return None
                if now >= deadline:
                    raise TimeoutError
                can_grow = self._count < self._size
                self._condition.wait((min(patient_until, deadline) if can_grow else deadline) - now)
            return worker

    def _pop_idle(self) -> ReaderProcess | None:
        """An idle worker that has not ended by itself; None if there is none."""
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive():
                return worker
            worker.close()
            self._count -= 1
        return None

    def _start(self) -> ReaderProcess:
        with ExitStack() as on_error:
            on_error.callback(self._forget)
            worker = ReaderProcess(is_warm=self._is_warm)
            on_error.pop_all()
        return worker

    def _release(self, worker: ReaderProcess) -> None:
        with self._condition:
            self._idle.append(worker)
            self._condition.notify()

    def _discard(self, worker: ReaderProcess) -> None:
        worker.close()
        self._forget()

    def _forget(self) -> None:
        with self._condition:
            self._count -= 1
            self._condition.notify()


def shared_pool() -> WorkerPool:
    """The pool of this process; a forked process gets its own."""
    return _open_pool(os.getpid())


@cache
def _open_pool(_: int) -> WorkerPool:
    pool = WorkerPool()
    atexit.register(pool.close)
    return pool


class BodyReader:
    """Reads bodies in the workers of a pool until it is closed. Can be used from many threads."""

    def __init__(self, pool: WorkerPool | None = None, timeout: float = TIMEOUT) -> None:
        """`timeout`: seconds for each body, the wait for a worker included."""
        self._pool = pool or shared_pool()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._busy: set[ReaderProcess] = set()
        self._is_closed = False

    def warm(self) -> None:
        """Start a worker before the first body needs it, without waiting for it."""
        try:
            self._pool.warm()
        except OSError:
            return  # the first body says so

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
        self, bodies: Sequence[Body], deadline: float = float("inf")
    ) -> Iterator[BodyText | UnreadablePage]:
        """What `read` returns or raises, for each body in order. Raises ReadFailed.

        One worker reads them one after the other, ahead of the caller. `deadline`: of all of them,
        on the monotonic clock.
        """
        rest = list(bodies)
        tries = 0  # of the first of the rest
        while rest:
            tries += 1
            countdown = Countdown(self._timeout, deadline)
            try:
                for outcome in self._read_ahead(tuple(rest), countdown):
                    del rest[0]
                    tries = 0
                    yield outcome
                    countdown.restart()
            except WorkerEnded as error:
                self._check_open()
                if not error.is_idle or tries > MAX_WORKERS:  # each may have ended by itself
                    del rest[0]
                    tries = 0
                    yield UnreadablePage(CRASH, "invalid")

    def _check_open(self) -> None:
        """Raises ReadFailed once closed."""
        if self._is_closed:
            raise ReadFailed("The reader of pages is closed.", outcome="unavailable")

    def _read_ahead(
        self, bodies: Sequence[Body], countdown: Countdown
    ) -> Iterator[BodyText | UnreadablePage]:
        """Outcomes of bodies, as many as one worker reads in time; at least one, or WorkerEnded."""
        self._check_open()
        reading = _BodyInParts()
        try:
            with self._pool.borrow(countdown.end) as worker, self._track(worker):
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
            case {"done": [str(title), str(text), str(url), list(marks), str(note)]}:
                return BodyText(title, text, url, _parse_marks(marks), note)
            case {"failed": [str(reason), str(outcome)]}:
                known: tuple[Outcome, ...] = get_args(Outcome)
                found = (name for name in known if name == outcome)
                return UnreadablePage(reason, next(found, "invalid"))
            case {"part": [str(title), str(text), list(marks)]}:
                self._title = title
                self._parts.append(text)
                self._marks += _parse_marks(marks)
                return None
        raise WorkerEnded(is_idle=False)

    def rest(self) -> BodyText | None:
        """What was read before the worker ended; None if it has no text."""
        text = "".join(self._parts)
        return BodyText(self._title, text, "", tuple(self._marks), CUT) if text else None


def _parse_marks(values: list[Any]) -> tuple[Mark, ...]:
    """The marks of places. Raises WorkerEnded for what no worker answers."""
    marks: list[Mark] = []
    for value in values:
        match value:
            case [int(offset), str(name), int() | None as number]:
                marks.append((offset, name, number))
            case _:
                raise WorkerEnded(is_idle=False)
    return tuple(sorted(marks, key=lambda mark: mark[0]))
