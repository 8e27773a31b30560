"""Watches: questions that are asked again. Each has a small file next to the journals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from agent.calls.input_file import read_model
from agent.errors import JournalError
from agent.run.changes import Known
from agent.run.header import journal_path
from agent.run.output_files import write_file
from agent.settings import Settings
from agent.state import Frozen, Scalar

MAX_BYTES = 20_000_000  # of a watch's file
MAX_RUNS = 10  # whose pages are looked at before a change is reported


class Notice(Frozen):
    """What a watch tells: the state at its first run, then each change, with old and new quotes."""

    id: str
    kind: Literal["state", "change"]
    watch: str
    question: str
    at: str
    run: str = ""  # the name of the run that found it
    what: str = ""  # the slot, or the statement; "" of a state
    old: Known | None = None  # None: nothing was known of it
    new: Known | None = None
    answer: str = ""
    values: dict[str, Known] = Field(default_factory=dict)  # of a state: what is known of each slot


class Pending(Frozen):
    """A notice that some notifiers have not sent yet."""

    notice: Notice
    left: tuple[str, ...]


class Doubt(Frozen):
    """A value that runs gave and that no page bears out as new: so many in succession."""

    value: Scalar
    runs: int = 1


class WatchState(Frozen):
    """What is known of a watch. Fields of earlier versions are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    id: str
    question: str
    slots: tuple[str, ...] = ()  # that are asked for; those of the first run, if none were named
    asked_at: str = ""
    changed_at: str = ""
    values: dict[str, Known] = Field(default_factory=dict)
    statements: tuple[Known, ...] = ()
    runs: tuple[str, ...] = ()  # the journals of the last runs that counted, the newest first
    pending: tuple[Pending, ...] = ()
    doubts: dict[str, Doubt] = Field(default_factory=dict)  # by what they are of


def watch_id(question: str, slots: tuple[str, ...]) -> str:
    """The name of a watch: the same for the same question and slots."""
    asked = json.dumps([question, slots], ensure_ascii=False)
    return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:16]


class WatchFiles:
    """The files of all watches."""

    def __init__(self, settings: Settings) -> None:
        self.folder = journal_path(settings, "any").parent / "watches"

    def read(self, name: str) -> WatchState | None:
        """A watch; None if there is none. Raises JournalError for a file that is no watch's."""
        path = self.path(name)
        try:
            return read_model(path, WatchState, MAX_BYTES)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            fault = f"{path} cannot be used ({type(error).__name__})."
            raise JournalError(fault, "Move it away: the watch then starts over.") from None

    def write(self, state: WatchState) -> None:
        """Write a watch whole, or leave its file as it is. Raises OutputFailed."""
        write_file(self.path(state.id), state.model_dump_json(), is_private=True)

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Hold the watch for this process; False if another one has it. Raises JournalError."""
        from filelock import FileLock, Timeout

        path = self.path(name).with_suffix(".lock")
        lock = FileLock(path, mode=0o600, blocking=False)
        with ExitStack() as held:
            try:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                with suppress(Timeout):
                    held.enter_context(lock)
            except OSError as error:
                fault = f"{path} cannot be written: {error.strerror}."
                raise JournalError(fault, "Name a writable folder with RUNS_DIR.") from None
            yield lock.is_locked

    def path(self, name: str) -> Path:
        """Where a watch is kept."""
        return self.folder / f"{name}.json"
