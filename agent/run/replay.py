"""A replay: the code of a run again, with its journal in place of the external calls."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel

from agent.errors import UsageError
from agent.outside.journal import Journal
from agent.outside.rate_limits import RateLimiter, no_rate_limits
from agent.run.calls import compose_calls
from agent.run.header import RunSpec, journal_path, restore_shape
from agent.run.loop import Run
from agent.run.request import requested_slots
from agent.run.sources import Sources
from agent.settings import Settings
from agent.state import RunRequest


def replay(
    topic: str, settings: Settings, request: RunRequest, data_model: type[BaseModel] | None = None
) -> Run:
    """A run that its journal alone answers; `request.replay` is its path, or names the run.

    Raises UsageError for another topic than that of the run, JournalError for no journal of a run.
    """
    if request.follow:
        fault = "--replay and --follow were both given."
        raise UsageError(fault, "A replay needs no other run.")
    path = Path(request.replay or "")
    path = path if os.path.isfile(path) else journal_path(settings, str(path))  # noqa: PTH113
    journal = Journal.replay(path)
    settings, request = restore_shape(topic, settings, request, journal.header)
    request = request.model_copy(update={"replay": path})
    spec = RunSpec(path, journal.header, settings, request)
    outside = compose_calls(spec, journal, [], Sources(), RateLimiter(no_rate_limits()))
    return Run(spec, journal, outside, requested_slots(settings), data_model)
