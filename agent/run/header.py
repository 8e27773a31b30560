"""The first line of a run's journal: what the run was asked, and what shapes its answer."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from agent.calls.journal_lines import JournalHeader, ParentRun
from agent.errors import JournalError, UsageError
from agent.run.retriever import find_corpus
from agent.run.validate_request import clean_topic, requested_slots, resolve_strategy
from agent.settings import SHAPING_FIELDS, Settings, user_folder
from agent.state import Json, RunRequest, utc_now
from agent.version import __version__

#: Fields of a request that shape prompts and answer. They are among the header's settings.
SHAPING_REQUEST = {"report", "search_uncited", "clarified"}
LAST = "last"  # names the newest run
MAX_SLOT_CHARS = 100_000  # of the names of all slots in a journal's header


def new_run_name() -> str:
    """A unique name for a run. Names made by one process sort in the order of their creation."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ-%f")
    return f"{now}{os.urandom(3).hex()}"


def journal_path(settings: Settings, name: str) -> Path:
    """The path of a journal, from that path or from the name of its run; `last`: the newest."""
    if Path(name).name != name or name.endswith(".jsonl"):
        return Path(name)
    folder = settings.runs_dir or user_folder("data") / "runs"
    newest = newest_journals(folder)[:1] if name == LAST else []
    return newest[0] if newest else folder / f"{name}.jsonl"


def newest_journals(folder: Path) -> list[Path]:
    """The journals of a folder, the one that was written to last first."""
    dated: list[tuple[float, Path]] = []
    with suppress(OSError):
        for path in folder.glob("*.jsonl"):
            with suppress(OSError):  # it was removed meanwhile
                dated.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(dated, reverse=True)]


class RunSpec(NamedTuple):
    """What a run is: where its journal is, its first line, and settings and request that fit it."""

    path: Path
    header: Json
    settings: Settings
    request: RunRequest
    began: float | None = None  # monotonic seconds from which its time counts; None: its first call


def make_header(
    path: Path, topic: str, settings: Settings, request: RunRequest, parent: ParentRun | None
) -> Json:
    """The first line of a journal: what the run is, its strategy, and the settings that shape it.

    `parent`: the run that it follows.
    """
    strategy = resolve_strategy(settings, request)
    shape = settings.model_dump(mode="json", include=set(SHAPING_FIELDS))
    shape |= request.model_dump(mode="json", include=SHAPING_REQUEST)
    shape["verify_batch"] = settings.claims_per_call
    is_check = request.report is not None  # no strategy that a user can name
    return {
        "run": path.stem,
        "version": __version__,
        "prompts": hash_prompts(),
        "topic": topic,
        "strategy": strategy,
        "at": utc_now(),
        "settings": shape if is_check else shape | {"strategy": strategy},
        **({"corpus": str(corpus)} if (corpus := find_corpus(settings)) else {}),
        **({"request": request.request_id} if request.request_id else {}),
        **({"parent": parent.model_dump(mode="json")} if parent else {}),
    }


@cache
def hash_prompts() -> str:
    """SHA-256 of the modules that hold the prompts. Where it differs, calls may differ too."""
    package, digest = Path(__file__).parents[1], hashlib.sha256()
    for folder in ("steps", "strategies"):
        for file in sorted((package / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def restore_shape(
    topic: str, settings: Settings, request: RunRequest, header: Json
) -> tuple[Settings, RunRequest]:
    """Both, with those fields that shape prompts and answer as they were at the beginning.

    Raises JournalError for the header of no run, UsageError for a run about another topic.
    """
    try:
        recorded = JournalHeader.model_validate(header)
        recorded_topic = clean_topic(recorded.topic)
        known = recorded.settings.keys() & SHAPING_FIELDS  # a setting that is gone shapes nothing
        original = Settings.model_validate({name: recorded.settings[name] for name in known})
        asked = recorded.settings.keys() & SHAPING_REQUEST
        asked_for = RunRequest.model_validate({name: recorded.settings[name] for name in asked})
        slots = requested_slots(original)
    except (ValueError, TypeError, UsageError):
        fault = "The journal's first line is not that of a run: its settings cannot be used."
        raise JournalError(fault, "Name another file, or start a new run.") from None
    is_of_run = recorded.run and recorded.strategy and recorded.at
    if not is_of_run or sum(len(slot.name) for slot in slots) > MAX_SLOT_CHARS:
        raise JournalError("The journal's first line is not that of a run.", "Name another file.")
    if topic.strip() and clean_topic(topic) != recorded_topic:
        raise UsageError(
            f"That run is about another question: {recorded_topic}",
            "Leave the question out, or give the run another name.",
        )
    shape = {name: getattr(original, name) for name in SHAPING_FIELDS}
    request_shape = {name: getattr(asked_for, name) for name in SHAPING_REQUEST}
    return settings.model_copy(update=shape), request.model_copy(update=request_shape)
