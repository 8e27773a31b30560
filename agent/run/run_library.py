"""The library of runs: their journals in one folder, and what their user calls them.

A title and tags are in a small file next to the journal. So a journal stays as the run wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from agent.answer.states import BY_STATUS
from agent.calls.input_file import read_model
from agent.calls.journal_reader import read_header, read_newest_answer
from agent.errors import JournalError, UsageError
from agent.run.header import journal_path, newest_journals
from agent.run.output_files import write_file
from agent.search.journal_index import forget_run
from agent.settings import Settings, user_folder
from agent.state import Frozen, get_path, sanitize_for_display, sanitize_line

RUN_NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
RUN_NAME = re.compile(RUN_NAME_PATTERN)
LABELS_END = ".about.json"  # of the file with title and tags
MAX_LABELS_BYTES = 50_000
MAX_SEARCHED = 2000  # journals whose questions a search reads
NO_SUCH_RUN = "There is no run of this name."

Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=50)]


class TitleAndTags(Frozen):
    """What the user calls something: a title in place of its question, and tags."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = ""
    tags: tuple[Tag, ...] = Field(default=(), max_length=20)


class NewTitleAndTags(Frozen):
    """What is to be changed of a title and tags; null: it stays."""

    model_config = ConfigDict(defer_build=False)  # FastAPI cannot wrap a model that is not built

    title: str | None = Field(default=None, max_length=200)
    tags: tuple[Tag, ...] | None = Field(default=None, max_length=20)


class KeptRun(TitleAndTags):
    """A run in a list. Times are UTC, ISO 8601."""

    id: str
    question: str
    started_at: str
    request_id: str = ""
    status: str | None = None  # of its answer; null where it has none
    ended: str | None = None  # the name of its state; null where it has no answer
    usd: float | None = None  # its price; null where it is not known

    def has_words(self, words: str) -> bool:
        """Whether question, title and tags together hold each of these words, in any case."""
        said = " ".join((self.question, self.title, *self.tags)).casefold()
        return all(word in said for word in words.casefold().split())


def read_labels(file: Path) -> TitleAndTags:
    """The title and tags of what is in a file; none where they cannot be read."""
    try:
        return read_model(_labels_path(file), TitleAndTags, MAX_LABELS_BYTES)
    except (OSError, ValueError):
        return TitleAndTags()


def write_labels(file: Path, new: NewTitleAndTags) -> TitleAndTags:
    """Change the title and tags of what is in a file. Raises OutputFailed."""
    changed = new.model_dump(exclude_none=True)
    if new.title is not None:
        changed["title"] = sanitize_line(new.title, 200)
    if new.tags is not None:
        changed["tags"] = tuple(dict.fromkeys(sanitize_line(tag, 50) for tag in new.tags))
    labels = read_labels(file).model_copy(update=changed)
    write_file(_labels_path(file), labels.model_dump_json(), is_private=True)
    return labels


def delete_with_labels(file: Path) -> None:
    """Delete a file, its title and its tags."""
    file.unlink(missing_ok=True)
    _labels_path(file).unlink(missing_ok=True)


def _labels_path(file: Path) -> Path:
    return file.with_name(f"{file.stem}{LABELS_END}")


class Library:
    """The runs whose journals are in the folder of the settings."""

    def __init__(self, settings: Settings) -> None:
        self.folder = journal_path(settings, "any").parent
        self._settings = settings

    def find(self, name: str) -> Path | None:
        """The journal of a run; None if there is none."""
        if not RUN_NAME.fullmatch(name):
            return None
        path = journal_path(self._settings, name)
        return path if path.is_file() else None

    def require(self, name: str) -> Path:
        """The journal of a run. Raises UsageError."""
        path = self.find(name)
        if path is None or read_kept_run(path) is None:
            raise UsageError(NO_SUCH_RUN, "research-agent runs list names them.")
        return path

    def list_newest(self, limit: int, words: str = "") -> Iterator[KeptRun]:
        """The runs whose journals were written to last, the latest first, with their status.

        With `words`, those whose question, title and tags have each of them; the newest
        `MAX_SEARCHED` journals are looked at.
        """
        journals = newest_journals(self.folder)[:MAX_SEARCHED]
        kept = ((path, read_kept_run(path)) for path in journals)
        matching = ((path, run) for path, run in kept if run and run.has_words(words))
        for path, run in islice(matching, limit):
            with suppress(JournalError):
                answer = read_newest_answer(path)
                status, usd = get_path(answer, "status"), get_path(answer, "usage", "usd")
                ended = get_path(answer, "state", "name") or BY_STATUS.get(status)
                yield run.model_copy(update={"status": status, "ended": ended, "usd": usd})

    def delete(self, name: str) -> bool:
        """Delete a run, its title and what an index has of it; returns whether there was one.

        Raises UsageError for a file that is no journal of a run.
        """
        path = self.find(name)
        if path is None:
            return False
        if read_kept_run(path) is None:
            raise UsageError(f"{path.name} is not a journal of a run.", "It is left as it is.")
        delete_with_labels(path)
        forget_run(self.folder, self._settings.cache_dir or user_folder("cache"), path.name)
        return True


def read_kept_run(path: Path) -> KeptRun | None:
    """A run from the header of its journal; None if the file is no journal."""
    try:
        header = read_header(path)
    except JournalError:
        return None
    if not (header.topic and header.at):
        return None
    return KeptRun(
        id=path.stem,
        question=sanitize_for_display(header.topic),
        started_at=header.at,
        request_id=header.request,
        **read_labels(path).model_dump(),
    )
