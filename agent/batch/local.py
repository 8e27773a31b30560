"""A batch in this process: a thread for each topic under way; runs wait, they do not compute."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from agent.answer import make_failure, to_json
from agent.batch.mirror import Mirror
from agent.batch.topics import Topic
from agent.errors import AgentError, JournalBusy, UsageError
from agent.outside import spawn
from agent.outside.budget import Spent
from agent.run import Run, research
from agent.run.begin import journal_path
from agent.run.calls import Shared
from agent.settings import Settings

Json = dict[str, Any]


class Local:
    """Runs as threads of this process."""

    def __init__(self, shared: Shared, mirror: Mirror | None = None) -> None:
        self._shared = shared
        self._mirror = mirror
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}

    def start(self, topic: Topic, settings: Settings) -> Future[Json]:
        """The row of a topic, when it has ended; `settings.resume` names its run."""
        return spawn(lambda: self._row(topic, settings))

    def _row(self, topic: Topic, settings: Settings) -> Json:
        work = partial(row, topic, settings, self._shared, partial(self._note, settings.resume))
        try:
            return mirrored(self._mirror, settings, work)
        finally:
            with self._lock:
                self._runs.pop(settings.resume, None)

    def _note(self, name: str, run: Run) -> None:
        with self._lock:
            self._runs[name] = run

    def spent(self) -> list[Spent]:
        """What each run under way has spent so far."""
        with self._lock:
            runs = list(self._runs.values())
        return [run.spent() for run in runs]

    def close(self) -> None:
        """Nothing: runs under way are left to their journals; their threads hold nobody up."""


def row(
    topic: Topic,
    settings: Settings,
    shared: Shared,
    begun: Callable[[Run], None] = lambda _: None,
    *,
    patient: bool = False,
) -> Json:
    """Research a topic: its id and its answer object, which may be one of an error.

    `patient`: raises JournalBusy where another process has not let go of the journal yet.
    """
    try:
        run = research(topic.text, settings, shared=shared)
        begun(run)
        answer = run.answer()
    except AgentError as error:
        if patient and isinstance(error, JournalBusy):
            raise
        answer = make_failure(topic.text, error)
    return {"id": topic.id, **json.loads(to_json(answer, compact=True))}


def mirrored(mirror: Mirror | None, settings: Settings, work: Callable[[], Json]) -> Json:
    """The row that `work` makes; where there is a mirror, the run's journal has its copy there."""
    if mirror is None:
        return work()
    return mirror.kept(journal_path(settings, settings.resume), work)


def failed(topic: Topic, error: BaseException) -> Json:
    """The row of a topic that could not be researched, for a reason of its own or a bug of ours."""
    if not isinstance(error, AgentError):
        remedy = "This is a bug: please report it."
        error = AgentError(f"Internal error: {type(error).__name__}", remedy)
    answer = make_failure(topic.text, error)
    return {"id": topic.id, **json.loads(to_json(answer, compact=True))}


def unusable(topic: Topic) -> Json:
    """The row of a line that is no topic."""
    return failed(topic, UsageError(topic.fault, "Correct the line, then use --retry-failed."))


def run_name(batch: str, topic: Topic) -> str:
    """The name of a topic's run: the same in every process that works on the batch.

    The question is part of it, so that no run goes on with the journal of another question.
    """
    whole = hashlib.sha256(f"{batch}\n{topic.id}\n{topic.text}".encode("utf-8", "surrogatepass"))
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", str(topic.id))[:40].strip("-.") or "topic"
    return f"{batch}-{readable}-{whole.hexdigest()[:12]}"
