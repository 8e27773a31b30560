"""A run that others follow: it goes in a thread of its own and tells its events as frames.

It is followed by position in its list of frames, so that a slow follower holds no buffer and one
that comes back misses nothing.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from agent.answer.document import document
from agent.answer.events import FrameType, frames
from agent.errors import AgentError, told
from agent.run import Run, research
from agent.settings import Settings
from agent.state import Frozen

if TYPE_CHECKING:
    from agent.answer import Answer, SlotAnswer, Usage

State = Literal["queued", "running", "ended", "past"]  # past: an earlier process made it


class Frame(NamedTuple):
    """What a follower is told; `n` counts a run's frames from 1.

    The detail of `answer` is the answer object as JSON, of `report` Markdown, of others one line.
    """

    n: int
    type: FrameType
    detail: str


class Summary(Frozen):
    """A run in a list. `status` is its answer's, once there is one; times are UTC, ISO 8601."""

    id: str
    question: str
    state: State
    status: str | None = None
    cancelled: bool = False
    started_at: str
    request_id: str = ""


class Live:
    """A run, before, while and after it goes. Threads may share it."""

    def __init__(self, summary: Summary, settings: Settings, *, detached: bool = True) -> None:
        self.id = summary.id
        self.detached = detached  # it goes on when nobody listens any more
        self.frames: list[Frame] = []
        self.answer: Answer | None = None
        self.steps: dict[str, float] = {}  # seconds until each kind of frame came, added up
        self.seconds = 0.0
        self.begun = False
        self.leave: Callable[[], None] = self.stop  # when nobody listens any more
        self.cancelled = False
        self._summary = summary
        self._settings = settings
        self._run: Run | None = None
        self._lock = threading.Lock()
        self._watchers: set[Callable[[], None]] = set()
        self._listeners = 0

    @property
    def summary(self) -> Summary:
        """What it is, as of now."""
        status = self.answer.status if self.answer else None
        state: State = "running" if self.begun else "queued"
        if self._summary.state == "past" or self.ended:
            state = "past" if self._summary.state == "past" else "ended"
        changed = {"state": state, "status": status, "cancelled": self.cancelled}
        return self._summary.model_copy(update=changed)

    @property
    def ended(self) -> bool:
        """Whether its last frame is there."""
        return bool(self.frames) and self.frames[-1].type == "end"

    def so_far(self) -> tuple[Usage, dict[str, SlotAnswer]]:
        """What it has spent and what it knows, while it goes and after it."""
        from agent.answer import Usage

        with self._lock:
            run = self._run
        if self.answer:
            return self.answer.usage, self.answer.slots
        return (run.usage(), run.slots()) if run else (Usage(), {})

    def go(self) -> None:
        """Run to the end. Raises AgentError if it cannot begin."""
        begun = last = time.monotonic()
        run = research(self._summary.question, self._settings)
        with self._lock:
            self._run = run
        if self.cancelled:
            run.stop()
        for event in run:
            for kind, detail in frames(event):
                self._tell(kind, detail)
            taken, last = time.monotonic() - last, time.monotonic()
            self.steps[event.type] = self.steps.get(event.type, 0.0) + taken
        answer = run.answer()
        self.seconds = time.monotonic() - begun
        self.end(answer)

    def end(self, answer: Answer) -> None:
        """Tell the answer, and that this was all."""
        from agent.answer import to_json

        text = to_json(answer, compact=True).strip()
        self.answer = answer
        self._run = None  # with all its pages
        if answer.error:
            self._tell("error", told(answer.error.message, answer.error.remedy))
        else:
            self._tell("report", answer.report.markdown if answer.report else document(answer))
            self._tell("answer", text)
        self._tell("end", answer.status)

    def fail(self, error: BaseException) -> None:
        """End without having run to the end; a bug is told like any other error."""
        from agent.answer import make_failure

        if not isinstance(error, AgentError):
            error = AgentError(f"Internal error: {type(error).__name__}", "Please report this.")
        if not self.frames:
            self._tell("start", self._summary.question)  # the first, also where nothing came of it
        self.end(make_failure(self._summary.question, error))

    def stop(self) -> None:
        """Let nothing more go outside; it ends within one outside call with what there is."""
        with self._lock:
            self.cancelled = self.cancelled or not self.ended
            run = self._run
        if run:
            run.stop()

    def _tell(self, kind: FrameType, detail: str) -> None:
        with self._lock:
            self.frames.append(Frame(len(self.frames) + 1, kind, detail))
            watchers = tuple(self._watchers)
        for wake in watchers:
            wake()

    @contextmanager
    def attended(self, linger: float) -> Iterator[None]:
        """While somebody listens; a run that is not detached stops `linger` s after the last."""
        with self._lock:
            self._listeners += 1
        try:
            yield
        finally:
            with self._lock:
                self._listeners -= 1
            if not (self.detached or self.ended):
                self._leave_after(linger)

    def _leave_after(self, linger: float) -> None:
        if not linger:
            return self._leave()
        timer = threading.Timer(min(linger, threading.TIMEOUT_MAX), self._leave)
        timer.daemon = True
        return timer.start()

    def _leave(self) -> None:
        if not self._listeners:
            self.leave()

    async def follow(self, after: int = 0, idle: float = 15.0) -> AsyncGenerator[Frame | None]:
        """Its frames from the one after `after` to the end; None after `idle` s without one."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended, and so has whoever followed
                loop.call_soon_threadsafe(news.set)

        with self._lock:
            self._watchers.add(wake)
        try:
            while True:
                news.clear()
                over = self.ended  # asked first: what is told after this wakes us
                for frame in self.frames[after:]:
                    yield frame
                    after = frame.n
                if over:
                    return
                try:
                    await asyncio.wait_for(news.wait(), idle)
                except TimeoutError:
                    yield None
        finally:
            with self._lock:
                self._watchers.discard(wake)
