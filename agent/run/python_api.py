"""Runs for code that awaits: `aresearch`, a thin door over the run, which goes in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import Future
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agent.outside.growing_list import GrowingList
from agent.outside.steering import clean_said
from agent.outside.threads import spawn
from agent.run.begin import research
from agent.run.loop import Run
from agent.settings import Settings
from agent.state import Event

if TYPE_CHECKING:
    from agent.answer import Answer


def aresearch(topic: str, settings: Settings | None = None, **overrides: Any) -> AsyncRun:
    """A run to be awaited for its answer, or iterated over for its events; it takes what `research`
    takes.

    It begins when it is first awaited or iterated over, which raises what `research` raises. When
    the task that waits for it is cancelled, it stops.
    """
    return AsyncRun(lambda: research(topic, settings, **overrides))


class AsyncRun:
    """A run that goes in a thread of its own. Tasks of any event loop may wait for it.

    As an asynchronous context manager it stops at the end of the block.
    """

    def __init__(self, begin: Callable[[], Run]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._events = GrowingList[Event]()
        self._run: Run | None = None
        self._is_stopped = False
        self._said: list[str] = []  # before it began
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

    def stop(self) -> None:
        """Gather no more: the run ends within one outside call, with the best answer so far."""
        with self._lock:
            self._is_stopped = True
            run = self._run
        if run:
            run.stop()

    def say(self, text: str) -> None:
        """Give an instruction for what is planned next; a run that has not begun begins with it.

        Raises UsageError and JournalError as `Run.say`.
        """
        with self._lock:
            run = self._run
            if run is None:
                self._said.append(clean_said(text))
        if run:
            run.say(text)

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
        run = self._begin()
        with self._lock:
            self._run = run
            is_stopped, said = self._is_stopped, self._said
        for text in said:
            run.say(text)
        if is_stopped:
            run.stop()
        for event in run:
            self._events.append(event)
        return run.answer()
