"""Runs side by side: some under way, some waiting, and those that were.

What the doors that serve many askers share. A run that an earlier process made is read from its
journal.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path

from agent.errors import AgentError, Busy, JournalError, Stopped
from agent.outside import spawn
from agent.outside.journal import read
from agent.run.begin import journal_path, new_name
from agent.run.models import chosen_models
from agent.run.request import clean_topic, given_slots
from agent.serving.live import Live, Summary
from agent.settings import Settings
from agent.state.clock import utc_now

KEPT = 64  # ended runs whose frames and answer stay in memory; of others the journal is read
MOST_LISTED = 200
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # of a run that can be asked for


class Runs:
    """The runs of this process: some under way, some waiting, the last ones that ended.

    `told` is called with each run as it ends, in the run's thread.
    """

    def __init__(self, settings: Settings, told: Callable[[Live], None] = lambda _: None) -> None:
        self._settings = settings
        self._told = told
        self._folder = journal_path(settings, "any").parent
        self._lock = threading.Lock()
        self._under_way: dict[str, Live] = {}
        self._queue: deque[Live] = deque()
        self._ended: OrderedDict[str, Live] = OrderedDict()
        self._closed = False

    def begin(self, topic: str, settings: Settings, *, detached: bool = False) -> Live:
        """A run that goes as soon as there is room for it.

        Raises UsageError or NotConfigured for what cannot be run, Busy where the queue is full.
        """
        topic = clean_topic(topic)
        chosen_models(settings)  # what cannot be run is told before anything is begun
        given_slots(settings)
        name = new_name()
        settings = settings.model_copy(update={"resume": name})
        summary = Summary(
            id=name,
            question=topic,
            state="queued",
            started_at=utc_now(),
            request_id=settings.request_id,
        )
        live = Live(summary, settings, detached=detached)
        live.leave = partial(self.cancel, live)
        with self._lock:
            if self._closed:
                raise Busy("The server is about to end.", "Ask again when it is back.")
            if len(self._under_way) < self._settings.api_max_runs:
                self._start(live)
            elif len(self._queue) < self._settings.api_max_queue:
                self._queue.append(live)
            else:
                raise Busy("Too many questions are being researched.", "Ask again later.")
        return live

    def _start(self, live: Live) -> None:
        self._under_way[live.id], live.begun = live, True
        # Waited for on a thread of its own: a callback of a run that has already ended would be
        # called here, by whoever holds the lock that it needs.
        spawn(partial(self._finish, live, spawn(live.go)))

    def _finish(self, live: Live, future: Future[None]) -> None:
        """Wait for a run's end, and give its place to the next."""
        if error := future.exception():
            live.fail(error)
        with self._lock:
            del self._under_way[live.id]
            self._keep(live)
            if self._queue and not self._closed:
                self._start(self._queue.popleft())
        self._told(live)

    def _keep(self, live: Live) -> None:
        self._ended[live.id] = live
        while len(self._ended) > KEPT:
            self._ended.popitem(last=False)

    def cancel(self, live: Live) -> None:
        """Stop a run within one outside call; one that waits never begins."""
        live.stop()
        with self._lock:
            waits = live in self._queue
            if waits:
                self._queue.remove(live)
                self._keep(live)
        if waits:
            live.fail(Stopped("The run was cancelled before it began.", "Ask again."))
            self._told(live)

    @property
    def load(self) -> tuple[int, int]:
        """How many runs are under way, and how many wait."""
        with self._lock:
            return len(self._under_way), len(self._queue)

    def close(self) -> None:
        """Begin nothing more and stop what goes; each run still tells its end."""
        with self._lock:
            self._closed = True
            lives = [*self._queue, *self._under_way.values()]
        for live in lives:
            self.cancel(live)

    def wait(self, seconds: float) -> bool:
        """Wait until no run is under way; whether that came in time."""
        until = time.monotonic() + seconds
        while self.load[0] and time.monotonic() < until:
            time.sleep(0.02)
        return not self.load[0]

    # --- those that were -------------------------------------------------------------------------

    def find(self, name: str) -> Live | None:
        """A run by its name: of this process, or from its journal. None if there is none.

        Reads and replays a file: not for an event loop. Raises JournalError for a damaged one.
        """
        with self._lock:
            waiting = {live.id: live for live in self._queue}
            live = {**waiting, **self._ended, **self._under_way}.get(name)
        if live or not NAME.fullmatch(name):
            return live
        path = self.journal(name)
        if path is None:
            return None
        live = _replayed(path, self._settings)
        if live.answer and not live.answer.error:  # else another process may still be writing it
            with self._lock:
                self._keep(live)
        return live

    def journal(self, name: str) -> Path | None:
        """The journal of a run by its name, if there is one where journals lie."""
        if not NAME.fullmatch(name):
            return None
        path = self._folder / f"{name}.jsonl"
        return path if path.is_file() else None

    def listed(self, most: int) -> list[Summary]:
        """The newest runs first, of this process and of earlier ones."""
        with self._lock:
            lives = [*self._ended.values(), *self._under_way.values(), *self._queue]
        known = {live.id: live.summary for live in lives}
        for path in _newest(self._folder, most):
            if path.stem not in known and (summary := _summary(path)):
                known[path.stem] = summary
        return sorted(known.values(), key=lambda one: (one.started_at, one.id), reverse=True)[:most]


def _newest(folder: Path, most: int) -> list[Path]:
    """The journals that were written last."""
    dated: list[tuple[float, Path]] = []
    with suppress(OSError):
        for path in folder.glob("*.jsonl"):
            with suppress(OSError):  # it has gone meanwhile
                dated.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(dated, reverse=True)[:most]]


def _summary(path: Path) -> Summary | None:
    """A run by its journal's header; None if the file is no journal."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline(100_000))
        return Summary(
            id=path.stem,
            question=header["topic"],
            state="past",
            started_at=header["at"],
            request_id=str(header.get("request", "")),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _replayed(path: Path, settings: Settings) -> Live:
    """A run of an earlier process, as its journal tells it. Raises JournalError."""
    read(path)  # says what is wrong with it
    summary = _summary(path)
    if summary is None:
        raise JournalError(f"{path.name} is not a journal of a run.", "Ask for another run.")
    again = settings.model_copy(update={"resume": "", "replay": path, "request_id": ""})
    live = Live(summary, again)
    try:
        live.go()
    except AgentError as error:
        live.fail(error)
    except (ValueError, KeyError, TypeError) as error:  # lines of another shape than ours
        fault = f"The journal of {path.stem} is damaged ({type(error).__name__})."
        raise JournalError(fault, "Ask for another run.") from None
    return live
