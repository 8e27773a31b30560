"""The runs of a server: running, queued and finished ones.

Both servers share it. A run of an earlier process is read from its journal.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from agent.calls import spawn
from agent.calls.journal_reader import read_journal
from agent.errors import AgentError, Busy, JournalError, Stopped, UsageError
from agent.run.check_run import check_settings, check_topic
from agent.run.header import new_run_name
from agent.run.models import make_models
from agent.run.run_library import KeptRun, Library, read_kept_run, read_labels
from agent.run.stored_answer import read_answer, recorded_research
from agent.run.validate_request import clean_topic, requested_slots
from agent.server.live_run import LiveRun, RunSummary
from agent.server.research_request import Configure, ReportRequest, ResearchRequest
from agent.server.uploads import DocumentStore
from agent.settings import Settings
from agent.state import RunRequest, utc_now

MAX_KEPT = 64  # finished runs that stay in memory; the journals of others are read
MAX_LISTED = 200


def begin_requested(
    runs: Runs, configure: Configure, request: ResearchRequest | ReportRequest, request_id: str
) -> LiveRun:
    """Begin the run that a request asks for. It reads files: an event loop must not call it.

    Raises what `Runs.begin`, `configure` and the reading of a report raise.
    """
    overrides = request.setting_overrides(configure({}))
    if isinstance(request, ResearchRequest) and request.documents:
        overrides["corpus"] = runs.documents.open(request.documents)
    settings, asked = configure(overrides), request.run_request(request_id)
    if isinstance(request, ResearchRequest):
        asked = asked.model_copy(update={"follow": request.follow or ""})
        return runs.begin(request.question, settings, asked, detached=request.detach)
    topic = check_topic(asked.report) if asked.report else ""
    return runs.begin(topic, check_settings(settings), asked, detached=request.detach)


class Runs:
    """Starts runs, queues them beyond a limit, and finds them again by name.

    `on_end` is called with each run as it ends, in the thread that waited for it or cancelled it.
    """

    def __init__(
        self, settings: Settings, on_end: Callable[[LiveRun], None] = lambda _: None
    ) -> None:
        self._settings = settings
        self.documents = DocumentStore(settings)
        self.on_idle: Callable[[], None] = lambda: None  # the last running one has ended
        self._on_end = on_end
        self.library = Library(settings)
        self._lock = threading.Lock()
        self._running: dict[str, LiveRun] = {}
        self._ending = 0  # runs that have ended, but whose end is not reported yet
        self._queue: deque[LiveRun] = deque()
        self._finished: OrderedDict[str, LiveRun] = OrderedDict()
        self._closed = False

    def begin(
        self, topic: str, settings: Settings, request: RunRequest, *, detached: bool = False
    ) -> LiveRun:
        """Start a run, or queue it until it can run.

        Raises UsageError or NotConfigured for a run that cannot be made, JournalError for one that
        has not ended and cannot be followed, Busy where the queue is full or the server ends.
        """
        topic = clean_topic(topic)
        name = new_run_name()
        follow = request.follow and str(self._require_ended(request.follow))
        request = request.model_copy(update={"follow": follow, "resume": name})
        make_models(settings)  # raises what a run could not be made with
        requested_slots(settings)
        summary = RunSummary(
            id=name,
            question=topic,
            state="queued",
            started_at=utc_now(),
            request_id=request.request_id,
        )
        live = LiveRun(summary, settings, request, detached=detached)
        live.on_abandoned = partial(self.cancel, live)
        with self._lock:
            if self._closed:
                raise Busy("The server is shutting down.", "Try again when it is back.")
            if len(self._running) < self._settings.api_max_runs:
                self._start(live)
            elif len(self._queue) < self._settings.api_max_queue:
                self._queue.append(live)
            else:
                raise Busy("Too many questions are being researched.", "Ask again later.")
        return live

    def knows(self, name: str) -> bool:
        """Whether there is a run of a name, of this process or an earlier one."""
        return self._is_going(name) or self.library.find(name) is not None

    def _is_going(self, name: str) -> bool:
        """Whether a run waits or is under way; one whose answer is there only tidies up."""
        with self._lock:
            going = [*self._running.values(), *self._queue]
        return any(live.id == name and live.answer is None for live in going)

    def _require_ended(self, name: str) -> Path:
        """The journal of a run that has ended. Raises UsageError, JournalError."""
        if self._is_going(name):
            raise JournalError("The run has not ended.", "Try again when it has ended.")
        path = self.library.find(name)
        if path is None:
            raise UsageError("There is no run of this name.", "GET /api/runs lists them.")
        return path

    def _start(self, live: LiveRun) -> None:
        self._running[live.id], live.is_started = live, True
        # A thread of its own waits for the end. A callback of a future that is done already would
        # be called here, where the lock that `_finish` needs is held.
        spawn(partial(self._finish, live, spawn(live.run)))

    def _finish(self, live: LiveRun, future: Future[None]) -> None:
        """Wait for the end of a run, then start the next one of the queue."""
        if error := future.exception():
            live.fail(error)
        with self._lock:
            del self._running[live.id]
            self._ending += 1
            self._keep(live)
            if self._queue and not self._closed:
                self._start(self._queue.popleft())
            is_idle = not self._running
        try:
            self._on_end(live)
        finally:
            with self._lock:
                self._ending -= 1
        if is_idle:
            self.on_idle()

    def _keep(self, live: LiveRun) -> None:
        self._finished[live.id] = live
        while len(self._finished) > MAX_KEPT:
            self._finished.popitem(last=False)

    def cancel(self, live: LiveRun) -> None:
        """Stop a run within one external call; a queued one never starts."""
        live.stop()
        with self._lock:
            is_queued = live in self._queue
            if is_queued:
                self._queue.remove(live)
                self._keep(live)
        if is_queued:
            live.fail(Stopped("The run was cancelled before it started.", "Ask again."))
            self._on_end(live)

    @property
    def load(self) -> tuple[int, int]:
        """How many runs are running, and how many are queued."""
        with self._lock:
            return len(self._running), len(self._queue)

    def close(self) -> None:
        """Start no more runs and stop all; each still gets its last frame."""
        with self._lock:
            self._closed = True
            live_runs = [*self._queue, *self._running.values()]
        for live in live_runs:
            self.cancel(live)

    def wait(self, seconds: float) -> bool:
        """Wait until no run is running and each end is reported; returns whether it was in time."""
        deadline = time.monotonic() + seconds
        while self._is_busy() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self._is_busy()

    def _is_busy(self) -> bool:
        with self._lock:
            return bool(self._running or self._ending)

    # --- earlier runs ----------------------------------------------------------------------------

    def find(self, name: str) -> LiveRun | None:
        """The run of a name, of this process or from its journal; None if there is none.

        It reads a file, so an event loop must not call it. Raises JournalError for a
        damaged journal.
        """
        with self._lock:
            queued = {live.id: live for live in self._queue}
            live = {**queued, **self._finished, **self._running}.get(name)
        if live:
            return live
        path = self.library.find(name)
        if path is None:
            return None
        live = _read_past(path, self._settings)
        if live.answer and not live.answer.error:  # else another process may still be writing it
            with self._lock:
                self._keep(live)
        return live

    def delete(self, name: str) -> bool:
        """Delete a run with its journal; returns whether there was one.

        Raises UsageError for a run that has not ended.
        """
        with self._lock:
            if name in self._running or any(live.id == name for live in self._queue):
                raise UsageError("The run has not ended.", "Cancel it first.")
            known = self._finished.pop(name, None)
        return self.library.delete(name) or known is not None

    def list_newest(self, limit: int, words: str = "") -> list[RunSummary]:
        """The newest runs first, of this process and of earlier ones.

        With `words`, those whose question, title and tags have each of them, in any case. Of the
        journals of earlier processes the newest `MAX_SEARCHED` are looked at.
        """
        with self._lock:
            live_runs = [*self._finished.values(), *self._running.values(), *self._queue]
        summaries = {live.id: self.label(live.summary) for live in live_runs}
        for kept in self.library.list_newest(limit, words):
            if kept.id not in summaries:
                summaries[kept.id] = _to_summary(kept)
        matching = (one for one in summaries.values() if one.has_words(words))
        newest = sorted(matching, key=lambda one: (one.started_at, one.id), reverse=True)
        return newest[:limit]

    def label(self, summary: RunSummary) -> RunSummary:
        """A run with its title and tags as they are now."""
        path = self.library.find(summary.id)
        return summary.model_copy(update=dict(read_labels(path))) if path else summary


def _to_summary(kept: KeptRun) -> RunSummary:
    return RunSummary(state="past", **kept.model_dump())


def _read_past(path: Path, settings: Settings) -> LiveRun:
    """A run of an earlier process, as its journal has it. Raises JournalError."""
    kept = read_kept_run(path)
    if kept is None:
        raise JournalError(f"{path.name} is not a journal of a run.", "Ask for another run.")
    live = LiveRun(_to_summary(kept), settings, RunRequest())
    try:
        recording = read_journal(path)
        corpus = str(recording.header.get("corpus", ""))
        live.show(read_answer(path), recorded_research(recording), corpus)
    except AgentError as error:
        live.fail(error)
    return live
