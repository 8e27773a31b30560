"""Threads that can be abandoned: a call that hangs never keeps the process alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def spawn(work: Callable[[], T]) -> Future[T]:
    """Run something on a thread of its own that cannot keep the process alive.

    Not a pool: the threads of `concurrent.futures` are joined at exit, and one call that hangs
    would hold the answer hostage.
    """
    future: Future[T] = Future()

    def body() -> None:
        try:
            result = work()
        except BaseException as error:  # handed to whoever waits
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=body, daemon=True).start()
    return future


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of something, or TimeoutError after `seconds`: a hung thread is abandoned."""
    return spawn(work).result(timeout=seconds)
