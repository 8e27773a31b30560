"""The run that a run follows: what its question and answer were, and where its journal is."""

from __future__ import annotations

import os
from pathlib import Path

from agent.calls.journal_lines import ParentRun
from agent.calls.journal_reader import find_journals, has_header, read_header
from agent.errors import JournalError, UsageError
from agent.evidence.markers import strip_markers
from agent.run.header import journal_path
from agent.run.stored_answer import read_answer
from agent.settings import Settings
from agent.state import LONGEST_EARLIER, MAX_EARLIER, EarlierAnswer, RunRequest, sanitize_line

MAX_CHAIN = 100  # runs that follow one another whose pages are searched


def describe_followed(settings: Settings, request: RunRequest) -> ParentRun | None:
    """The run that the request names as the one to follow. Raises UsageError, JournalError.

    What was asked elsewhere has no run: it only tells what the question means.
    """
    if not request.follow:
        earlier = list(request.earlier)
        return ParentRun(run="", earlier=earlier) if earlier else None
    return _describe_parent(journal_path(settings, request.follow))


def _describe_parent(journal: Path) -> ParentRun:
    """What the journal of a run that follows this one records of it.

    Raises UsageError where there is no journal, JournalError for one that is not of a run.
    """
    if not has_header(journal):
        remedy = "Name an earlier run, or the path of its journal."
        raise UsageError(f"There is no run to follow at {journal}.", remedy)
    header = read_header(journal)
    if not (header.run and header.topic):
        raise JournalError(f"{journal} is not the journal of a run.", "Name another file.")
    before = header.parent.earlier if header.parent else []
    earlier = [*before, _read_earlier(journal)][-MAX_EARLIER:]
    return ParentRun(run=header.run, journal=os.path.abspath(journal), earlier=earlier)  # noqa: PTH100 - links stay unresolved


def _read_earlier(journal: Path) -> EarlierAnswer:
    """The question of a run in full, and its answer, as far as the journal gives them."""
    answer = read_answer(journal)
    follows = answer.run and answer.run.follows
    return EarlierAnswer(
        question=sanitize_line(follows.understood if follows else answer.topic, LONGEST_EARLIER),
        answer=sanitize_line(strip_markers(answer.answer), LONGEST_EARLIER),
    )


def find_chain(parent: ParentRun, folder: Path, named: Path | None) -> list[Path]:
    """The journals of the run that is followed, of the one before it, and so on, as far as found.

    `folder`: of the journal that follows. `named`: where the user says that the first one is. A
    journal elsewhere than its header says is looked for next to the one that follows it. A file of
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
