"""How a run begins: `research` makes a run, with its journal and its calls, from a topic."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent import __version__
from agent.errors import JournalError, UsageError
from agent.outside.journal import Journal
from agent.outside.rate_limits import RateLimiter, no_rate_limits
from agent.outside.recording import (
    JournalHeader,
    ParentRun,
    has_header,
    parent_of,
    read_header,
    read_journal,
)
from agent.run.follow import describe_parent, find_chain
from agent.run.loop import Run
from agent.run.models import make_models
from agent.run.parts import make_parts
from agent.run.request import clean_topic, requested_slots, resolve_strategy
from agent.run.resources import SharedResources, open_rate_limits
from agent.run.sources import (
    NO_SOURCES,
    Sources,
    find_corpus,
    open_sources,
    search_options,
)
from agent.search.providers import research_services
from agent.settings import (
    SHAPING_FIELDS,
    Settings,
    load_settings,
    replace_settings,
    user_folder,
)
from agent.state.clock import utc_now
from agent.state.json_data import Json, get_path

#: Of `max_seconds`, for reading the files of a corpus; files that are left are read by later runs.
CORPUS_TIME_SHARE = 0.5
MIN_DEDUCTED_SECONDS = 0.5
MAX_SLOT_CHARS = 100_000  # of the names of all slots in a journal's header


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
        return _replay(topic, settings, data_model)
    path = journal_path(settings, settings.resume or new_run_name())
    goes_on = bool(settings.resume) and has_header(path)
    if goes_on:
        header = read_journal(path).header
        settings = _restore_settings(topic, settings, header)
        _require_same_parent(settings, header)
    else:
        header = _make_header(path, clean_topic(topic), settings)
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


def _replay(topic: str, settings: Settings, data_model: type[BaseModel] | None) -> Run:
    """A run that its journal alone answers, which is named by its path or as a run."""
    if settings.follow:
        fault = "--replay and --follow were both given."
        raise UsageError(fault, "A replay needs no other run.")
    path = Path(settings.replay or "")
    path = path if os.path.isfile(path) else journal_path(settings, str(path))  # noqa: PTH113
    settings = settings.model_copy(update={"replay": path})
    journal = Journal.replay(path)
    settings = _restore_settings(topic, settings, journal.header)
    rate_limiter = RateLimiter(no_rate_limits())
    parts = make_parts(settings, journal, [], NO_SOURCES, rate_limiter)
    return Run(parts, requested_slots(settings), data_model)


def new_run_name() -> str:
    """A unique name for a run. Names made by one process sort in the order of their creation."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ-%f")
    return f"{now}{os.urandom(3).hex()}"


def journal_path(settings: Settings, name: str) -> Path:
    """The path of a journal, from that path or from the name of its run."""
    if Path(name).name != name or name.endswith(".jsonl"):
        return Path(name)
    return (settings.runs_dir or user_folder("data") / "runs") / f"{name}.jsonl"


def _make_header(path: Path, topic: str, settings: Settings) -> Json:
    """The first line of a journal: what the run is, its strategy, and the settings that shape it.

    The strategy `auto` is replaced by the one that was chosen.
    """
    choice = resolve_strategy(topic, settings)
    asked = list(research_services(settings)) if choice.is_research else []
    parent = describe_followed(settings)
    shape = settings.model_dump(mode="json", include=set(SHAPING_FIELDS))
    shape["verify_batch"] = settings.claims_per_call
    is_check = settings.report is not None  # no strategy that a user can name
    return {
        "run": path.stem,
        "version": __version__,
        "topic": topic,
        "strategy": choice.strategy,
        "reason": choice.reason,
        **({"search": asked} if asked else {}),
        "at": utc_now(),
        "settings": shape if is_check else shape | {"strategy": choice.strategy},
        **({"corpus": str(corpus)} if (corpus := find_corpus(settings)) else {}),
        **({"request": settings.request_id} if settings.request_id else {}),
        **({"parent": parent.model_dump(mode="json")} if parent else {}),
    }


def describe_followed(settings: Settings) -> ParentRun | None:
    """The run that the settings name as the one to follow. Raises UsageError, JournalError.

    What was asked elsewhere has no run: it only tells what the question means.
    """
    if not settings.follow:
        earlier = list(settings.earlier)
        return ParentRun(run="", earlier=earlier) if earlier else None
    return describe_parent(
        journal_path(settings, settings.follow),
        lambda journal: _replay("", Settings(replay=journal), None),
    )


def _restore_settings(topic: str, settings: Settings, header: Json) -> Settings:
    """The settings, with those fields that shape prompts and answer as they were at the beginning.

    Raises JournalError for the header of no run, UsageError for a run about another topic.
    """
    try:
        recorded = JournalHeader.model_validate(header)
        recorded_topic = clean_topic(recorded.topic)
        shape = {
            name: recorded.settings[name] for name in SHAPING_FIELDS & recorded.settings.keys()
        }
        original = Settings.model_validate(shape)  # a setting that is gone shapes nothing
        slots = requested_slots(original)
    except (ValueError, TypeError, UsageError):
        fault = "The journal's first line is not that of a run: its settings cannot be used."
        raise JournalError(fault, "Name another file, or begin anew.") from None
    is_of_run = recorded.run and recorded.strategy and recorded.at
    if not is_of_run or sum(len(slot.name) for slot in slots) > MAX_SLOT_CHARS:
        raise JournalError("The journal's first line is not that of a run.", "Name another file.")
    if topic.strip() and clean_topic(topic) != recorded_topic:
        raise UsageError(
            f"That run is about another question: {recorded_topic}",
            "Leave the question out, or give the run another name.",
        )
    return settings.model_copy(update={name: getattr(original, name) for name in SHAPING_FIELDS})
