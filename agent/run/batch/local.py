"""The local engine of a batch: one thread per topic in flight.

Threads suffice, since runs mostly wait for services.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from agent.answer.build import build_error_answer
from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.calls import spawn
from agent.calls.budget import CallUsage
from agent.errors import AgentError, JournalBusy, UsageError, as_agent_error
from agent.run.batch.topics import Topic
from agent.run.begin import research
from agent.run.loop import Run
from agent.run.resources import SharedResources
from agent.settings import Settings
from agent.state import Json, RunRequest


class LocalEngine:
    """Researches topics in threads of this process."""

    def __init__(self, settings: Settings, resources: SharedResources) -> None:
        self._settings = settings
        self._resources = resources
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}

    def start(self, topic: Topic, request: RunRequest) -> Future[Json]:
        """Start to research a topic; the result is its row. `request.resume` names its run."""
        return spawn(lambda: self._research(topic, request))

    def _research(self, topic: Topic, request: RunRequest) -> Json:
        on_start = partial(self._track_run, request.resume)
        try:
            return research_row(topic, self._settings, request, self._resources, on_start)
        finally:
            with self._lock:
                self._runs.pop(request.resume, None)

    def _track_run(self, name: str, run: Run) -> None:
        with self._lock:
            self._runs[name] = run

    def usage_in_flight(self) -> list[CallUsage]:
        """The usage so far of each run in flight."""
        with self._lock:
            runs = list(self._runs.values())
        return [run.call_usage() for run in runs]

    def close(self) -> None:
        """Do nothing: runs in flight can be resumed, and their threads do not block the exit."""


def research_row(
    topic: Topic,
    settings: Settings,
    request: RunRequest,
    resources: SharedResources,
    on_start: Callable[[Run], None] = lambda _: None,
    *,
    raise_busy: bool = False,
) -> Json:
    """Research a topic and return its row: its id and its answer object, which may be an error.

    `raise_busy`: raise JournalBusy, instead of returning it as an error, if another process still
    holds the journal.
    """
    try:
        run = research(topic.text, settings, request, resources=resources)
        on_start(run)
        answer = run.answer()
    except AgentError as error:
        if raise_busy and isinstance(error, JournalBusy):
            raise
        answer = build_error_answer(topic.text, error)
    return _make_row(topic, answer)


def make_error_row(topic: Topic, error: BaseException) -> Json:
    """The row of a topic whose run raised an error."""
    return _make_row(topic, build_error_answer(topic.text, as_agent_error(error)))


def make_fault_row(topic: Topic) -> Json:
    """The row of an input line that is not a valid topic."""
    remedy = "Correct the line, then use --retry-failed."
    return make_error_row(topic, UsageError(topic.fault, remedy))


def _make_row(topic: Topic, answer: Answer) -> Json:
    return {"id": topic.id, **json.loads(to_json(answer, compact=True))}


def run_name(batch: str, topic: Topic) -> str:
    """The name of a topic's run: the same in every process that works on the batch.

    The text of the topic is part of it, so that no run resumes the journal of another topic.
    """
    digest = hashlib.sha256(f"{batch}\n{topic.id}\n{topic.text}".encode("utf-8", "surrogatepass"))
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", str(topic.id))[:40].strip("-.") or "topic"
    return f"{batch}-{readable}-{digest.hexdigest()[:12]}"
