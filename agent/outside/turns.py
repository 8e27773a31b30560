"""Turns at computing, for the threads of runs that share one interpreter.

Threads that compute at once are no faster, but whoever else needs the interpreter, as the event
loop of a server does many times a request, waits behind all of them. So they take turns: it waits
behind one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SLICE = 0.25  # seconds of a turn; most steps of a run compute for a tenth of one


class Turns:
    """Lets one thread compute at a time. Who computes for longer goes on beside the next one.

    So nobody waits without end, whatever the others do, and no two can wait for each other.
    """

    def __init__(self, seconds: float = SLICE) -> None:
        """`seconds`: how long a turn keeps others waiting."""
        self._seconds = seconds
        self._condition = threading.Condition()
        self._owner: int | None = None  # a thread
        self._ends_at = 0.0  # on the monotonic clock
        self._inside = threading.local()

    @contextmanager
    def take(self) -> Iterator[None]:
        """For a block that computes. Blocks may be nested."""
        if self._is_inside():
            yield
            return
        self._acquire()
        self._inside.value = True
        try:
            yield
        finally:
            self._inside.value = False
            self._release()

    @contextmanager
    def give(self) -> Iterator[None]:
        """For a block that waits, inside or outside one that computes: others compute meanwhile."""
        if not self._is_inside():
            yield
            return
        self._release()
        try:
            yield
        finally:
            self._acquire()

    def _is_inside(self) -> bool:
        return getattr(self._inside, "value", False)

    def _acquire(self) -> None:
        with self._condition:
            while self._owner is not None and (left := self._ends_at - time.monotonic()) > 0:
                self._condition.wait(left)
            self._owner = threading.get_ident()
            self._ends_at = time.monotonic() + self._seconds

    def _release(self) -> None:
        with self._condition:
            if self._owner == threading.get_ident():  # else its turn is over already
                self._owner = None
                self._condition.notify()


#: Of this process.
TURNS = Turns()
