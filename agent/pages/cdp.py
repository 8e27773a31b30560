"""Messages to and from a browser: the Chrome DevTools Protocol, over two pipes.

https://chromedevtools.github.io/devtools-protocol/, with `--remote-debugging-pipe`: messages in
JSON, each ended by a NUL.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable
from typing import Any, NamedTuple

Json = dict[str, Any]
MAX_BUFFER = 80_000_000  # bytes of a message
POLL = 0.2  # seconds between two checks of the bounds
WAIT = 1.0  # seconds in which a browser takes some of a message


class Pipes(NamedTuple):
    """The two ends that are ours, and what raises where the browser needs too much."""

    read: int
    write: int
    check_bounds: Callable[[], None]


class CommandRefused(ValueError):
    """The browser's own error instead of a result."""


class DevTools:
    """Commands and their results; events go to `on_event` as they come."""

    def __init__(self, pipes: Pipes, end: float, on_event: Callable[[str, Json], None]) -> None:
        """`end`: on the monotonic clock, for all that is called."""
        self.session = ""  # of the page that is spoken to; "" for the browser itself
        self._pipes, self._end, self._on_event = pipes, end, on_event
        self._buffer = bytearray()
        self._count = 0
        self._next_check = 0.0
        os.set_blocking(pipes.write, False)

    def call(self, method: str, **params: Any) -> Json:
        """The result of a command. Raises TimeoutError, OSError, CommandRefused."""
        number = self.send(method, **params)
        while found := self._receive(self._end):
            if found.get("id") != number:
                self._tell(found)
            elif "result" not in found:
                raise CommandRefused(method)
            else:
                return dict(found["result"])
        raise TimeoutError

    def send(self, method: str, **params: Any) -> int:
        """Send a command, whose number it returns. Raises OSError."""
        self._count += 1
        message: Json = {"id": self._count, "method": method, "params": params}
        if self.session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            if not select.select([], [self._pipes.write], [], WAIT)[1]:
                raise OSError("the browser takes nothing")
            data = data[os.write(self._pipes.write, data) :]
        return self._count

    def listen(self, until: float) -> None:
        """Wait for one event, at most until then. Raises OSError and ValueError."""
        if found := self._receive(min(until, self._end)):
            self._tell(found)

    def _tell(self, message: Json) -> None:
        self._on_event(str(message.get("method", "")), dict(message.get("params") or {}))

    def _receive(self, until: float) -> Json | None:
        """The next message; None where there is none in time."""
        while True:
            now = time.monotonic()
            if now >= self._next_check:
                self._pipes.check_bounds()
                self._next_check = now + POLL
            if b"\0" in self._buffer or now >= until:
                break
            if len(self._buffer) > MAX_BUFFER:
                raise MemoryError
            if select.select([self._pipes.read], [], [], min(until - now, POLL))[0]:
                if not (data := os.read(self._pipes.read, 1 << 20)):
                    raise OSError("the browser ended")
                self._buffer += data
        line, nul, rest = self._buffer.partition(b"\0")
        if not nul or now >= self._end:
            return None
        self._buffer = rest
        message = json.loads(line)
        return message if isinstance(message, dict) else {}
