"""A limit of processor time for Python code, which ends in an exception that can be handled.

It ends loops that are slow on a page that nobody foresaw. One long call into native code goes on
beyond it: the deadline of the worker ends that.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OverCpuLimit(BaseException):
    """The limit is reached. No library takes it for a failure of its own and goes on."""


@contextmanager
def limit_cpu(seconds: float) -> Iterator[None]:
    """Raise OverCpuLimit in the block after so many seconds of the process' processor time.

    It is raised each second until the block ends, since one in a callback of the garbage collector
    is lost. Without effect in other threads than the main one, which alone gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, _raise_over_limit)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _raise_over_limit(_: int, __: FrameType | None) -> None:
    raise OverCpuLimit
