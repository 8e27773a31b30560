"""Threads that can be abandoned: a call that hangs does not keep the process alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: The script that runs a command of others, and ends all that came of it.
SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))


def spawn(work: Callable[[], T]) -> Future[T]:
    """Run a function on a new daemon thread.

    There is no thread pool: `concurrent.futures` joins its threads at exit, so a call that hangs
    would keep the process from ending.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # it reaches whoever waits for the future
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, daemon=True).start()
    return future


def run_with_timeout(seconds: float, work: Callable[[], T]) -> T:
    """The result of a function. Raises TimeoutError after `seconds`, and abandons its thread."""
    return spawn(work).result(timeout=seconds)
