"""How a run begins: `research` makes a run, with its journal and its calls, from a topic."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from agent.calls.journal import Journal
from agent.calls.journal_reader import has_header, read_header, read_journal
from agent.calls.rate_limits import RateLimiter, no_rate_limits
from agent.errors import UsageError
from agent.run.compose_calls import compose_calls
from agent.run.follow import describe_followed
from agent.run.header import RunSpec, journal_path, make_header, new_run_name, restore_shape
from agent.run.loop import Run
from agent.run.models import make_models
from agent.run.resources import SharedResources, open_rate_limits
from agent.run.retriever import Retriever
from agent.run.run_retriever import open_run_retriever
from agent.run.validate_request import clean_topic, requested_slots
from agent.settings import Settings, load_settings, make_request, replace_settings
from agent.state import Json, RunRequest, get_path

if TYPE_CHECKING:
    pass


def research(
    topic: str,
    settings: Settings | None = None,
    request: RunRequest | None = None,
    *,
    resources: SharedResources | None = None,
    **overrides: Any,
) -> Run:
    """Make a run, not yet begun: iterate over it for its events, or call `answer()` at once.

    Without settings, those of the environment; `overrides` are laid over settings and request by
    their names, as in `research("...", offline=True, resume="monday")`. `slots_schema` may also be
    a pydantic class, of which the answer's `data` is then an instance. With `resume` the run goes
    on with a journal, with `replay` it repeats one without external calls; the topic may then be
    empty. `resources` are those that the runs of a process share.

    Raises UsageError for a topic or slots that cannot be researched, NotConfigured for a missing
    key, JournalError for a journal that cannot be used.
    """
    data_model = _take_data_model(overrides)
    request = _take_request(request or RunRequest(), overrides)
    settings = replace_settings(settings, overrides) if settings else load_settings(**overrides)
    if request.replay:
        return _replay(topic, settings, request, data_model)
    spec = _specify_run(topic, settings, request)
    slots = requested_slots(spec.settings)
    shared = resources or SharedResources(open_rate_limits(settings), make_models(settings), None)
    retriever = open_run_retriever(spec, shared.corpus)
    journal = _open_journal(
        spec, retriever
    )  # last, so that a run that cannot be made leaves no file
    limiter = RateLimiter(shared.limits)
    calls = compose_calls(spec, journal, shared.models, retriever, limiter)
    return Run(spec, journal, calls, slots, data_model)


def _replay(
    topic: str, settings: Settings, request: RunRequest, data_model: type[BaseModel] | None
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
    calls = compose_calls(spec, journal, [], Retriever(), RateLimiter(no_rate_limits()))
    return Run(spec, journal, calls, requested_slots(settings), data_model)


def _take_request(request: RunRequest, overrides: dict[str, Any]) -> RunRequest:
    """The request with those overrides that are its own, which leave the others."""
    names = RunRequest.model_fields.keys() & overrides.keys()
    given = {name: overrides.pop(name) for name in names}
    return make_request({**dict(request), **given}) if given else request


def _take_data_model(overrides: dict[str, Any]) -> type[BaseModel] | None:
    """The class that `slots_schema` is, if it is one; its JSON Schema takes its place."""
    schema = overrides.get("slots_schema")
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return None
    overrides["slots_schema"] = schema.model_json_schema()
    return schema


def _specify_run(topic: str, settings: Settings, request: RunRequest) -> RunSpec:
    """A new run, or one to go on with. Raises UsageError, JournalError."""
    path = journal_path(settings, request.resume or new_run_name())
    if request.resume and has_header(path):
        header = read_journal(path).header
        settings, request = restore_shape(topic, settings, request, header)
        _require_same_parent(settings, request, header)
    else:
        parent = describe_followed(settings, request)
        header = make_header(path, clean_topic(topic), settings, request, parent)
    strategy = header["settings"].get("strategy", settings.strategy)
    settings = settings.model_copy(update={"strategy": strategy})
    return RunSpec(path, header, settings, request, time.monotonic())


def _require_same_parent(settings: Settings, request: RunRequest, header: Json) -> None:
    """Raises UsageError where a run that goes on is to follow another than before."""
    named = journal_path(settings, request.follow) if request.follow else None
    if named and has_header(named) and get_path(header, "parent", "run") != read_header(named).run:
        fault = f"The run to resume does not follow {request.follow}."
        raise UsageError(fault, "Leave out --follow, or give this run another name.")


def _open_journal(spec: RunSpec, retriever: Retriever) -> Journal:
    """The journal of a run. That of a new one says what of its sources is not used."""
    warnings = [warning for warning in retriever.warnings() if warning]
    header = spec.header | ({"warnings": warnings} if warnings else {})
    if spec.request.resume:  # a journal that is there keeps its own header
        return Journal.resume(spec.path, header, retry_failed=spec.request.retry_failed)
    return Journal.begin(spec.path, header)
