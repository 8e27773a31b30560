"""Runs for code that awaits: `aresearch`, over a run in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import Future
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agent.calls.event_log import GrowingList
from agent.calls.threads import spawn
from agent.run.begin import research
from agent.run.loop import LateRun, Run
from agent.settings import Settings
from agent.state import Event

if TYPE_CHECKING:
    from agent.answer.schema import Answer


def aresearch(topic: str, settings: Settings | None = None, **overrides: Any) -> AsyncRun:
    """A run to be awaited for its answer, or iterated over for its events; it takes what `research`
    takes.

    It begins when it is first awaited or iterated over, which raises what `research` raises. When
    the task that waits for it is cancelled, it stops.
    """
    return AsyncRun(lambda: research(topic, settings, **overrides))


class AsyncRun(LateRun):
    """A run that goes in a thread of its own. Tasks of any event loop may wait for it.

    As an asynchronous context manager it stops at the end of the block.
    """

    def __init__(self, begin: Callable[[], Run]) -> None:
        super().__init__()
        self._make = begin
        self._events = GrowingList[Event]()
        self._future: Future[Answer] | None = None

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._wait().__await__()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """The events from the first on, however many have come already.

        Raises what `research` raises. A task that is cancelled while it waits stops the run.
        """
        future = self._start()
        for position in count():
            try:
                event = await self._events.wait_for(position)
            except asyncio.CancelledError:
                self.stop()
                raise
            if event is None:
                break
            yield event
        future.result()  # raises, if it did

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def answer(self) -> Answer:
        """Wait for the answer, in any thread but that of an event loop. Raises as `research`."""
        return self._start().result()

    async def _wait(self) -> Answer:
        async for _ in self:
            pass
        return self.answer()

    def _start(self) -> Future[Answer]:
        """The work of the thread, which is started if it is not."""
        with self._lock:
            is_first = self._future is None
            future = self._future = self._future or spawn(self._run_to_end)
        if is_first:
            future.add_done_callback(lambda _: self._events.close())
        return future

    def _run_to_end(self) -> Answer:
        run = self._make()
        self.begin(run)
        for event in run:
            self._events.append(event)
        return run.answer()
