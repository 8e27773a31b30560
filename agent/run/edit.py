"""A run that edits another: the same with changes. The journal of that answers what both ask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from agent.errors import JournalError, UsageError
from agent.outside.recording import (
    EditedRun,
    JournalHeader,
    Recording,
    edited_of,
    find_journals,
    has_header,
    read_journal,
)
from agent.settings import SHAPING_FIELDS, Settings, replace_settings
from agent.state.json_data import Json, get_path

#: What is added to that of the run that is edited; of all other settings the newest counts.
ADDED = ("say", "without", "add")
#: What the first queries are planned by, beside the question.
PLANNING = ("slots", "slots_schema", "say")
#: Each stands for the other: slots by name, and by a schema.
SLOTS = {"slots", "slots_schema"}


class Edit(NamedTuple):
    """The question and the settings of a run that edits another, and what its header has of it."""

    topic: str
    settings: Settings
    header: Json


def edit_run(topic: str, settings: Settings, journal: Path) -> Edit:
    """Lay what was given over what a run was asked. Raises UsageError, JournalError."""
    if settings.follow:
        raise UsageError("--edit and --follow were both given.", "An edit asks the same again.")
    if not has_header(journal):
        raise UsageError(f"There is no run to edit at {journal}.", "Name a run that was.")
    recording = read_journal(journal)
    header = recording.header
    old = JournalHeader.model_validate(header)
    if not (old.run and old.topic and old.settings) or old.settings.get("report"):
        raise JournalError(f"{journal} is not the journal of a question.", "Name another file.")
    changed = _merge(settings, old.settings)
    topic = topic if topic.strip() else old.topic
    shape = changed.model_dump(mode="json", include=set(PLANNING))
    is_same = topic == old.topic and all(shape[name] == old.settings.get(name) for name in shape)
    told = EditedRun(
        run=old.run,
        journal=os.path.abspath(journal),  # noqa: PTH100 - links stay unresolved
        day=old.edit.day if old.edit else old.at[:10],
        queries=(old.edit.queries if old.edit else []) if is_same else _queries_of(recording),
    )
    kept = {name: header[name] for name in ("search", "parent", "reason") if name in header}
    return Edit(topic, changed, kept | {"edit": told.model_dump(mode="json")})


def _merge(settings: Settings, recorded: Json) -> Settings:
    """The settings that were given, over those that shaped the run that is edited."""
    given = {name for name in SHAPING_FIELDS if name in settings.model_fields_set}
    given |= SLOTS if given & SLOTS else set()
    earlier = {name: value for name, value in recorded.items() if name not in given}
    for name in ADDED:
        earlier[name] = [*recorded.get(name, ()), *getattr(settings, name)]
    return replace_settings(settings, earlier)


def _queries_of(recording: Recording) -> list[str]:
    lines = (line for line in recording.calls.values() if line["call"] == "search")
    return list(dict.fromkeys(str(get_path(line, "request", "query")) for line in lines))


def open_edited(header: Json, folder: Path) -> Recording | None:
    """The journal of the run that a run edits; None if it edits none, or where it is gone.

    One that was moved is looked for where it was, then beside `folder`'s other journals. What
    failed for want of a key is asked again.
    """
    edited = edited_of(header)
    found = edited and next(find_journals(edited.run, edited.journal, folder), None)
    if not found:
        return None
    recording = read_journal(found)
    recording.forget("refused")
    return recording
