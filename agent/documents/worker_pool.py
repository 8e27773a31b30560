"""The reader processes of this process, shared by all that read: as many as there is work for.

The command line has one. A server, a batch or a large corpus has more while the first are busy.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from agent.documents.worker_process import ReaderProcess

MAX_FILE_WORKERS = min(4, os.cpu_count() or 1)  # that read the files of a corpus at once
MAX_WORKERS = MAX_FILE_WORKERS + 1  # so that a page need not wait until files are read
#: Seconds that a page waits for a worker that is busy before another one is started, which takes
#: 0.3 s. The nine pages of a run take less than that together.
PATIENCE = 0.5


class WorkerPool:
    """The workers of this process, started when they are needed. Thread-safe."""

    def __init__(self, size: int = MAX_WORKERS) -> None:
        self.size = size  # of all workers that there may be
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
                if not self._count or (now >= patient_until and self._count < self.size):
                    self._count += 1
                    return None
                if now >= deadline:
                    raise TimeoutError
                can_grow = self._count < self.size
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
