"""A run that clients follow. It goes in a thread of its own, and its events become frames.

A client follows it by its position in the list of frames, so one that reconnects misses no frame.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

from agent.answer.addresses import CorpusAddresses
from agent.answer.build import build_error_answer
from agent.answer.event_format import FrameType, final_frames, to_frames
from agent.answer.messages import state_of
from agent.answer.schema import Answer, SlotAnswer, Usage
from agent.calls.event_log import GrowingList
from agent.errors import as_agent_error
from agent.run.begin import research
from agent.run.early_passages import describe_wait
from agent.run.loop import LateRun, Run
from agent.run.run_library import KeptRun
from agent.server.activity import Activity, describe_activity
from agent.server.local_paths import hide_paths
from agent.settings import Settings
from agent.state import Research, RunRequest

RunState = Literal["queued", "running", "ended", "past"]  # past: of an earlier process


class Frame(NamedTuple):
    """A message to the clients of a run; `n` counts the frames of a run from 1.

    The detail of `answer` is the answer object as JSON, that of `report` is Markdown, that of any
    other type is one line of text.
    """

    n: int
    type: FrameType
    detail: str


class RunSummary(KeptRun):
    """A run in a list. `status` is that of its answer, if it has one."""

    state: RunState
    cancelled: bool = False


class LiveRun:
    """A run that waits, goes or has ended. Threads may share it."""

    def __init__(
        self, summary: RunSummary, settings: Settings, request: RunRequest, *, detached: bool = True
    ) -> None:
        self.id = summary.id
        self.detached = detached  # it goes on without a client
        self.frames = GrowingList[Frame]()
        self.cancelled = False
        self.on_abandoned: Callable[[], None] = self.stop  # its last client has gone
        self.answer: Answer | None = None
        self.step_seconds: dict[str, float] = {}  # by type of event: time until it came, summed up
        self.seconds = 0.0
        self.is_started = False
        self._activity: Activity | None = None  # of a run that has ended
        self._summary = summary
        self._settings, self._request = settings, request
        self._late = LateRun()
        self._lock = threading.Lock()
        self._listeners = 0

    @property
    def has_ended(self) -> bool:
        """Whether its last frame has come."""
        return bool(self.frames) and self.frames[-1].type == "end"

    @property
    def summary(self) -> RunSummary:
        """The run as it is now."""
        status = self.answer.status if self.answer else None
        ended = state_of(self.answer).name if self.answer else None
        state: RunState = "running" if self.is_started else "queued"
        if self._summary.state == "past" or self.has_ended:
            state = "past" if self._summary.state == "past" else "ended"
        changed = {"state": state, "status": status, "ended": ended, "cancelled": self.cancelled}
        return self._summary.model_copy(update=changed)

    def usage_and_slots(self) -> tuple[Usage, dict[str, SlotAnswer]]:
        """The usage and the slots so far; after the run those of its answer."""
        run = self._late.run
        if self.answer:
            return self.answer.usage, self.answer.slots
        return (run.usage(), run.slots()) if run else (Usage(), {})

    def activity(self) -> Activity:
        """What the run looked for and read so far."""
        run = self._late.run
        if self._activity or not run:
            return self._activity or Activity()
        activity = describe_activity(run.look_ahead(), run.corpus)
        waits = describe_wait(run.waited_for(), len(run.research.sources))
        return activity.model_copy(update={"waits": waits})

    @property
    def step(self) -> str:
        """The type of its last frame, or the task that a model has done; "" before the first."""
        if not self.frames:
            return ""
        last = self.frames[-1]
        return last.detail.partition(":")[0] if last.type == "thinking" else last.type

    @property
    def max_usd(self) -> float | None:
        """What the run may spend; None without a limit."""
        return self._settings.max_usd

    @property
    def is_check(self) -> bool:
        """Whether it checks a report."""
        has_checked = self.answer is not None and self.answer.check is not None
        return self._request.report is not None or has_checked

    def run(self) -> None:
        """Run to the end. Raises AgentError if it cannot begin."""
        started = time.monotonic()
        run = research(self._summary.question, self._settings, self._request)
        self._late.begin(run)
        self._follow_events(run, started)
        answer = run.answer()
        self.seconds = time.monotonic() - started
        self._activity = describe_activity(
            run.research, run.corpus, is_answered=bool(answer.citations)
        )
        self.finish(answer)

    def _follow_events(self, run: Run, last: float) -> None:
        """Make frames of the events of a run as they come. `last`: when the run began."""
        addresses = CorpusAddresses(run.corpus)
        for event in run:
            for frame_type, detail in to_frames(event):
                self._append_frame(frame_type, addresses.shorten_text(detail))
            seconds, last = time.monotonic() - last, time.monotonic()
            self.step_seconds[event.type] = self.step_seconds.get(event.type, 0.0) + seconds

    def show(self, answer: Answer, research: Research, corpus: str) -> None:
        """Show a run of an earlier process: its answer, and what it found and read."""
        self._append_frame("start", self._summary.question)
        self._activity = describe_activity(research, corpus, is_answered=bool(answer.citations))
        self.finish(answer)

    def finish(self, answer: Answer) -> None:
        """Append the last frames: the answer, or its error, and the end."""
        answer = hide_paths(answer, self._settings)
        frames = list(final_frames(answer))
        self.answer = answer
        self._late = LateRun()  # frees its pages
        for frame_type, detail in frames:
            self._append_frame(frame_type, detail)

    def fail(self, error: BaseException) -> None:
        """Finish with an error. Any exception but an AgentError is an internal error."""
        if not self.frames:
            self._append_frame("start", self._summary.question)  # always the first frame
        self.finish(build_error_answer(self._summary.question, as_agent_error(error)))

    def stop(self) -> None:
        """Make no more external calls: the run ends within one, with the best answer so far."""
        with self._lock:
            self.cancelled = self.cancelled or not self.has_ended
        self._late.stop()

    # --- its frames, and who follows them --------------------------------------------------------

    def _append_frame(self, frame_type: FrameType, detail: str) -> None:
        with self._lock:
            self.frames.append(Frame(len(self.frames) + 1, frame_type, detail))
        if frame_type == "end":
            self.frames.close()

    @contextmanager
    def listener(self) -> Iterator[None]:
        """Counts a client of the run. One that is not detached stops with the last."""
        with self._lock:
            self._listeners += 1
        try:
            yield
        finally:
            with self._lock:
                self._listeners -= 1
            if not (self._listeners or self.detached or self.has_ended):
                self.on_abandoned()

    async def follow(self, after: int = 0, idle: float = 15.0) -> AsyncGenerator[Frame | None]:
        """Its frames from the one after `after` to the end; None after `idle` s without one."""
        while True:
            try:
                frame = await asyncio.wait_for(self.frames.wait_for(after), idle)
            except TimeoutError:
                yield None
                continue
            if frame is None:
                return
            yield frame
            after = frame.n
