"""A list that threads append to, and whose next items tasks wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class GrowingList(Generic[T]):
    """Items in the order in which they came, until it is closed. Threads and event loops share it.

    A reader keeps a position: it needs no buffer and misses nothing.
    """

    def __init__(self) -> None:
        self._items: list[T] = []
        self._is_closed = False
        self._lock = threading.Lock()
        self._watchers: set[Callable[[], None]] = set()

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, place: int) -> T:
        return self._items[place]

    def append(self, item: T) -> None:
        """Add an item, and wake the tasks that wait for it."""
        self._items.append(item)
        self._wake()

    def close(self) -> None:
        """Say that nothing more comes."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            watchers = tuple(self._watchers)
        for wake in watchers:
            with suppress(RuntimeError):  # the loop has ended, and the waiting task with it
                wake()

    async def wait_for(self, position: int) -> T | None:
        """The item at a position, once it has come; None if the list was closed before."""
        has_news = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(has_news.set)

        with self._lock:
            self._watchers.add(wake)
        try:
            while True:
                has_news.clear()
                is_closed = self._is_closed  # read first: an item that comes later wakes this task
                if position < len(self._items):
                    return self._items[position]
                if is_closed:
                    return None
                await has_news.wait()
        finally:
            with self._lock:
                self._watchers.discard(wake)
