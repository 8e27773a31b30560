"""Reads batches side by side, and gives what they hold in their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Generic, TypeVar

from agent.outside import spawn

T = TypeVar("T")
B = TypeVar("B")

MAX_WEIGHT = 8_000_000  # of what a batch holds ready, in the unit of `weigh`; then it waits


def read_ahead(
    batches: Iterable[B], read: Callable[[B], Iterator[T]], weigh: Callable[[T], int], width: int
) -> Generator[T, None, None]:
    """What `read` gives for each batch, in order, while as many as `width` are being read.

    Each batch is read in a thread of its own, no further ahead than `MAX_WEIGHT`. Raises what
    `read` raises, once all before it was given.
    """
    underway: deque[_Reading[T]] = deque()
    try:
        for batch in batches:
            underway.append(_Reading(read(batch), weigh))
            if len(underway) >= width:
                yield from underway[0].take()
                underway.popleft()
        while underway:
            yield from underway[0].take()
            underway.popleft()
    finally:
        for reading in underway:
            reading.stop()


class _Reading(Generic[T]):
    """One batch: a thread reads what it holds, another one takes it."""

    def __init__(self, items: Iterator[T], weigh: Callable[[T], int]) -> None:
        self._weigh = weigh
        self._ready: deque[T] = deque()
        self._weight = 0
        self._is_over = False
        self._condition = threading.Condition()
        self._done = spawn(lambda: self._read(items))

    def take(self) -> Iterator[T]:
        """All items, each as soon as it is there. Raises what reading them raised."""
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._ready or self._is_over)
                if not self._ready:
                    break
                item = self._ready.popleft()
                self._weight -= self._weigh(item)
                self._condition.notify()
            yield item
        self._done.result()

    def stop(self) -> None:
        """Read no more than the item that is being read."""
        with self._condition:
            self._is_over = True
            self._condition.notify()

    def _read(self, items: Iterator[T]) -> None:
        try:
            for item in items:
                if not self._offer(item):
                    return
        finally:
            self.stop()

    def _offer(self, item: T) -> bool:
        """Hold an item ready, once there is room for it; whether anybody wants more."""
        with self._condition:
            self._condition.wait_for(lambda: self._weight < MAX_WEIGHT or self._is_over)
            if not self._is_over:
                self._ready.append(item)
                self._weight += self._weigh(item)
                self._condition.notify()
            return not self._is_over
