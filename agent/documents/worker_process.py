"""A process that reads what is hostile, and that can be killed: `worker.py` is what it runs."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent.calls.child_environment import system_environment
from agent.documents.body_text import Body

MIN_ANSWER = 64_000_000  # bytes that a worker may answer for any body,
ANSWER_RATIO = 6  # and for each byte of a larger one: JSON may write a character in six
EXIT_SECONDS = 1.0  # in which a worker that ends by itself must be gone
_CHUNK = 2**16  # bytes: the buffer of a pipe
_PACKAGE = str(Path(__file__).parents[2])  # the folder that holds `agent`


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
        self.end = min(time.monotonic() + self._seconds, self._began + most, self._deadline)

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

    def __init__(self, *, is_warm: bool = False, min_answer: int = MIN_ANSWER) -> None:
        """`is_warm`: it imports at once what pages in HTML need. Raises OSError."""
        self._min_answer = min_answer
        paths = [path for path in sys.path if Path(path).is_absolute()]
        arguments = [json.dumps([*paths, _PACKAGE]), *(["warm"] if is_warm else [])]
        script = str(Path(__file__).with_name("worker.py"))
        self._process = subprocess.Popen(
            [sys.executable, "-ISXutf8", script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env=system_environment(),  # no key, no proxy, nothing that changes how Python starts
            start_new_session=True,  # Ctrl-C is not meant for it
        )
        assert self._process.stdin and self._process.stdout
        self.pid = self._process.pid
        self._requests = self._process.stdin.fileno()
        self._answers = self._process.stdout.fileno()
        os.set_blocking(self._requests, False)

    def answer(self, bodies: Sequence[Body], countdown: Countdown) -> Iterator[dict[str, Any]]:
        """What the worker answers to each body: any number of `part`, then `done` or `failed`.

        The bodies are sent while it works, so that it never waits for the next one. Raises
        TimeoutError where the countdown ends, WorkerEnded.
        """
        unsent = b"".join(part for body in bodies for part in (_encode_header(body), body.data))
        most = max(self._min_answer, ANSWER_RATIO * max(len(body.data) for body in bodies))
        size = 0  # of what it has answered to the body that it reads
        line = bytearray()
        for chunk in self._exchange(memoryview(unsent), countdown):
            first, *others = chunk.split(b"\n")
            line += first
            size += len(chunk)
            for other in others:
                answer = parse_answer(bytes(line))
                size = size if "part" in answer else len(other)
                yield answer
                line = bytearray(other)
            if size > most:
                raise WorkerEnded(is_idle=False)
        raise WorkerEnded(is_idle=not line and self._exit_status() == 0)

    def _exchange(self, unsent: memoryview, countdown: Countdown) -> Iterator[bytes]:
        """Send bytes while receiving what the worker writes, until it closes its end."""
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


def _encode_header(body: Body) -> bytes:
    """The line that precedes the data on the way to a worker."""
    header = {name: getattr(body, name) for name in ("content_type", "url", "suffix", "is_report")}
    return json.dumps({**header, "size": len(body.data)}).encode() + b"\n"


def parse_answer(line: bytes) -> dict[str, Any]:
    """One answer of a worker. Raises WorkerEnded for what none writes: it is not itself."""
    with suppress(ValueError, RecursionError):
        if isinstance(answer := json.loads(line), dict):
            return answer
    raise WorkerEnded(is_idle=False)
