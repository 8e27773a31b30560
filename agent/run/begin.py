"""How a run begins: from a topic and settings to a run that has its journal and its calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent import __version__
from agent.errors import JournalError, UsageError
from agent.outside.journal import Journal, is_begun, read
from agent.outside.limits import Turns, unlimited
from agent.run.calls import Shared, shared_limits
from agent.run.loop import Run
from agent.run.models import chosen_models
from agent.run.parts import make_parts
from agent.run.request import choose_strategy, clean_topic, given_slots
from agent.settings import SHAPE, Settings, here, user_folder
from agent.sources.sources import NO_SOURCES, Sources, open_sources
from agent.state.clock import utc_now


def research(
    topic: str,
    settings: Settings | None = None,
    *,
    shared: Shared | None = None,
    through: Callable[[Sources], Sources] = lambda sources: sources,
) -> Run:
    """A run, not yet begun: iterate over it for its events, or ask at once for its `answer()`.

    Without settings, those of the environment. With `settings.resume` it goes on with a journal,
    with `settings.replay` it repeats one, without going outside; the topic may then be empty.
    `shared` is what runs of these settings have in common where there are many. `through` wraps the
    run's sources, as a filter of what they bring.
    Raises UsageError for a topic or slots that cannot be researched, NotConfigured for an absent
    key, JournalError for a journal that cannot be used.
    """
    settings = settings or here()
    if settings.replay:
        journal = Journal.replay(settings.replay)
        _agreed(topic, journal.header)
        settings = _shaped(settings, journal.header)
        return Run(make_parts(settings, journal, [], NO_SOURCES, Turns(unlimited())))
    path = journal_path(settings, settings.resume or new_name())
    if settings.resume and is_begun(path):
        header = read(path).header
        _agreed(topic, header)
        settings = _shaped(settings, header)
    else:
        header = _header(path, clean_topic(topic), settings)
        settings = settings.model_copy(update={"strategy": header["settings"]["strategy"]})
    given_slots(settings)
    turns = Turns(shared.limits if shared else shared_limits(settings))
    models = shared.models if shared else chosen_models(settings)
    sources = through(open_sources(settings, turns, shared.corpus if shared else None))
    # last, so that what cannot run leaves no file
    if settings.resume:
        journal = Journal.resume(path, header, retry_failed=settings.retry_failed)
    else:
        journal = Journal.begin(path, header)
    return Run(make_parts(settings, journal, models, sources, turns))


def new_name() -> str:
    """A name for a run that no other has; names sort as their runs began, within a process."""
    begun = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ-%f")
    return f"{begun}{os.urandom(3).hex()}"


def _header(path: Path, topic: str, settings: Settings) -> dict[str, Any]:
    """What a journal says of its run in its first line: the strategy is one that was chosen."""
    fitting = choose_strategy(topic, settings)
    shape = settings.model_dump(mode="json", include=set(SHAPE))
    return {
        "run": path.stem,
        "version": __version__,
        "topic": topic,
        "strategy": fitting.strategy,
        "reason": fitting.reason,
        "at": utc_now(),
        "settings": shape if settings.baseline else shape | {"strategy": fitting.strategy},
        **({"request": settings.request_id} if settings.request_id else {}),
    }


def _agreed(topic: str, header: dict[str, Any]) -> None:
    """Raises JournalError for a header of no run, UsageError for one of another question."""
    if not all(isinstance(header.get(name), str) for name in ("run", "topic", "strategy", "at")):
        raise JournalError("The journal's first line is not that of a run.", "Name another file.")
    if topic.strip() and clean_topic(topic) != header["topic"]:
        raise UsageError(
            f"That run is about another question: {header['topic']}",
            "Leave the question out, or give the run another name.",
        )


def _shaped(settings: Settings, header: dict[str, Any]) -> Settings:
    """Settings with those of the run's beginning that shape its prompts and its answer."""
    try:
        begun = Settings.model_validate(header.get("settings", {}))
    except ValueError:
        raise JournalError("The journal's settings cannot be used.", "Begin anew.") from None
    return settings.model_copy(update={name: getattr(begun, name) for name in SHAPE})


def journal_path(settings: Settings, name: str) -> Path:
    """A journal by its path, or by the name of its run."""
    if "/" in name or name.endswith(".jsonl"):
        return Path(name)
    return (settings.runs_dir or user_folder("data") / "runs") / f"{name}.jsonl"
