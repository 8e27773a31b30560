"""How a run begins: `research` makes a run, with its journal and its calls, from a topic."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent.errors import UsageError
from agent.outside.journal import Journal
from agent.outside.rate_limits import RateLimiter
from agent.outside.recording import (
    has_header,
    parent_of,
    read_header,
    read_journal,
)
from agent.run.follow import describe_followed, find_chain
from agent.run.header import journal_path, make_header, new_run_name, restore_settings
from agent.run.loop import Run
from agent.run.models import make_models
from agent.run.parts import make_parts
from agent.run.replay import replay
from agent.run.request import clean_topic, requested_slots
from agent.run.resources import SharedResources, open_rate_limits
from agent.run.sources import (
    Sources,
    open_sources,
    search_options,
)
from agent.settings import (
    Settings,
    load_settings,
    replace_settings,
)
from agent.state.json_data import Json, get_path

#: Of `max_seconds`, for reading the files of a corpus; files that are left are read by later runs.
CORPUS_TIME_SHARE = 0.5
MIN_DEDUCTED_SECONDS = 0.5


def research(
    topic: str,
    settings: Settings | None = None,
    *,
    resources: SharedResources | None = None,
    **overrides: Any,
) -> Run:
    """Make a run, not yet begun: iterate over it for its events, or call `answer()` at once.

    Without settings, those of the environment; `overrides` are laid over them by their names, as in
    `research("...", offline=True)`. `slots_schema` may also be a pydantic class, of which the
    answer's `data` is then an instance. With `settings.resume` the run goes on with a
    journal, with `settings.replay` it repeats one without going outside; the topic may then be
    empty. `resources` are those that the runs of a process share.

    Raises UsageError for a topic or slots that cannot be researched, NotConfigured for a missing
    key, JournalError for a journal that cannot be used.
    """
    data_model = _take_data_model(overrides)
    settings = replace_settings(settings, overrides) if settings else load_settings(**overrides)
    if settings.replay:
        return replay(topic, settings, data_model)
    path = journal_path(settings, settings.resume or new_run_name())
    goes_on = bool(settings.resume) and has_header(path)
    if goes_on:
        header = read_journal(path).header
        settings = restore_settings(topic, settings, header)
        _require_same_parent(settings, header)
    else:
        topic, parent = clean_topic(topic), describe_followed(settings)
        header = make_header(path, topic, settings, parent)
        settings = settings.model_copy(update={"strategy": header["settings"]["strategy"]})
    settings = settings.model_copy(update={"search": _who_is_asked(settings, header)})
    slots = requested_slots(settings)
    rate_limiter = RateLimiter(resources.limits if resources else open_rate_limits(settings))
    models = resources.models if resources else make_models(settings)
    corpus = resources.corpus if resources else None
    began = time.monotonic()
    corpus_seconds = settings.max_seconds and CORPUS_TIME_SHARE * settings.max_seconds
    sources = open_sources(settings, rate_limiter, corpus, corpus_seconds)
    sources = _add_parent(sources, header, path, settings)
    settings = _deduct_seconds(settings, time.monotonic() - began)
    header |= {} if goes_on else _describe_unused(sources)
    # the journal is opened last, so that a run which cannot be made leaves no file
    if settings.resume:
        journal = Journal.resume(path, header, retry_failed=settings.retry_failed)
    else:
        journal = Journal.begin(path, header)
    parts = make_parts(settings, journal, models, sources, rate_limiter)
    return Run(parts, slots, data_model)


def _who_is_asked(settings: Settings, header: Json) -> tuple[str, ...]:
    """The search providers in order: first those that go with the strategy that was chosen."""
    return tuple(dict.fromkeys((*header.get("search", ()), *settings.search)))


def _take_data_model(overrides: dict[str, Any]) -> type[BaseModel] | None:
    """The class that `slots_schema` is, if it is one; its JSON Schema takes its place."""
    schema = overrides.get("slots_schema")
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return None
    overrides["slots_schema"] = schema.model_json_schema()
    return schema


def _require_same_parent(settings: Settings, header: Json) -> None:
    """Raises UsageError where a run that goes on is to follow another than before."""
    named = journal_path(settings, settings.follow) if settings.follow else None
    if named and has_header(named) and get_path(header, "parent", "run") != read_header(named).run:
        fault = f"The run that goes on does not follow {settings.follow}."
        raise UsageError(fault, "Leave out --follow, or give this run another name.")


def _add_parent(sources: Sources, header: Json, path: Path, settings: Settings) -> Sources:
    """The sources with the pages of the runs that the run follows, if it follows one."""
    parent = parent_of(header)
    if parent is None:
        return sources
    from agent.search.parent_pages import ParentPages, find_nothing

    if not parent.run:
        return sources._replace(search_parent=find_nothing)

    named = journal_path(settings, settings.follow) if settings.follow else None
    pages = ParentPages(find_chain(parent, path.parent, named), search_options(settings))
    return sources._replace(search_parent=pages.search, read_parent=pages.read)


def _describe_unused(sources: Sources) -> Json:
    """What the header says of sources that are not used: a replay, which opens none, repeats it."""
    warnings = [warning for warning in sources.warnings() if warning]
    return {"warnings": warnings} if warnings else {}


def _deduct_seconds(settings: Settings, seconds: float) -> Settings:
    """The settings without the time that reading a corpus took, if it took any worth a word."""
    if settings.max_seconds is None or seconds < MIN_DEDUCTED_SECONDS:
        return settings
    left = round(max(settings.max_seconds - seconds, 0.1), 1)
    return settings.model_copy(update={"max_seconds": left})
