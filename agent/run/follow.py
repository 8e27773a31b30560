"""The run that a run follows: what its question and answer were, and where its journal is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import JournalDamaged, JournalError, UsageError
from agent.evidence.markers import strip_markers
from agent.outside.recording import (
    MAX_EARLIER,
    ParentRun,
    find_journals,
    has_header,
    read_header,
    read_journal,
)
from agent.state import EarlierAnswer
from agent.state.json_data import get_path
from agent.state.sanitizing import sanitize_line
from agent.state.values import LONGEST_EARLIER

if TYPE_CHECKING:
    from agent.run.loop import Run

MAX_CHAIN = 100  # runs that follow one another whose pages are searched

#: Makes the run that repeats a journal.
Replay = Callable[[Path], "Run"]


def describe_parent(journal: Path, replay: Replay) -> ParentRun:
    """What the journal of a run that follows this one records of it.

    Raises UsageError where there is no journal, JournalError for one that is not of a run.
    """
    if not has_header(journal):
        remedy = "Name a run that was, or the path of its journal."
        raise UsageError(f"There is no run to follow at {journal}.", remedy)
    header = read_header(journal)
    if not (header.run and header.topic):
        raise JournalError(f"{journal} is not the journal of a run.", "Name another file.")
    before = header.parent.earlier if header.parent else []
    earlier = [*before, _read_earlier(journal, header.topic, replay)][-MAX_EARLIER:]
    return ParentRun(run=header.run, journal=os.path.abspath(journal), earlier=earlier)  # noqa: PTH100 - links stay unresolved


def _read_earlier(journal: Path, topic: str, replay: Replay) -> EarlierAnswer:
    """The question of a run in full, and its answer, as far as the journal gives them."""
    question, text = _replay_reply(journal, replay) or _read_last_replies(journal, topic)
    return EarlierAnswer(
        question=sanitize_line(question, LONGEST_EARLIER),
        answer=sanitize_line(strip_markers(text), LONGEST_EARLIER),
    )


def _replay_reply(journal: Path, replay: Replay) -> tuple[str, str] | None:
    """Both as a replay gives them; None where there is none: of another version, or cut off."""
    try:
        run = replay(journal)
    except JournalError:
        return None
    answer = run.answer()
    if answer.error and answer.error.kind in (JournalError.kind, JournalDamaged.kind):
        return None
    return run.research.topic, answer.answer if answer.citations else ""


def _read_last_replies(journal: Path, question: str) -> tuple[str, str]:
    """The question in full and the answer as models last wrote them, without a replay."""
    text = ""
    for line in read_journal(journal).calls.values():
        reply = get_path(line, "response", "answer")
        if get_path(line, "request", "task") == "understand":
            question = get_path(reply, "question") or question
        text = get_path(reply, "answer") or text
    return str(question), str(text)


def find_chain(parent: ParentRun, folder: Path, named: Path | None) -> list[Path]:
    """The journals of the run that is followed, of the one before it, and so on, as far as found.

    `folder`: of the journal that follows. `named`: where the user says that the first one is. A
    journal elsewhere than its header says is looked for beside the one that follows it. A file of
    another run is none of them.
    """
    chain: list[Path] = []
    following: ParentRun | None = parent
    while following and len(chain) < MAX_CHAIN:
        named = None if chain else named
        found = next(find_journals(following.run, following.journal, folder, named), None)
        if found is None or found in chain:
            break
        chain.append(found)
        folder, following = found.parent, read_header(found).parent
    return chain
