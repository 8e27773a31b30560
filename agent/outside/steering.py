"""What the user says while a run goes on, and which pages it may have as sources since.

What was said takes effect at the next boundary of the run: a point between two events that a
resumed or replayed run passes too, counted from 0. A line of the journal is `{"say": [text],
"boundary": n}`.
"""

from __future__ import annotations

import threading
from typing import TypeVar

from agent.errors import JournalError, OutsideError, ReadFailed, UsageError
from agent.outside.journal import Journal
from agent.outside.recording import LONGEST_SAID, MAX_SAID, edited_of
from agent.state import Edited, Event, Page, SearchResults, Steered
from agent.state.limits import Limits
from agent.state.sanitizing import sanitize_line

ResponseT = TypeVar("ResponseT")
NOT_WANTED = "The user does not want this page as a source."


class Steering:
    """What was said to a run so far. Any thread may say something; one thread takes it."""

    def __init__(self, journal: Journal) -> None:
        self.said: tuple[str, ...] = ()  # what is in effect; models are told it
        edited = edited_of(journal.header)
        self.made = tuple(edited.queries) if edited else ()  # queries of the run that is edited
        self._limits = Limits()
        self._journal = journal
        self._waiting: list[str] = []
        self._count = self._boundary = 0
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """Give an instruction.

        Raises UsageError where it is blank, too long or one too many, JournalError after the end.
        """
        line = clean_said(text)
        with self._lock:
            if self._journal.is_closed:
                raise JournalError("The run has ended.", "Edit it: --edit RUN --say TEXT.")
            if self._count >= MAX_SAID:
                fault = f"A run takes {MAX_SAID} instructions at most."
                raise UsageError(fault, "Wait for its answer, then edit it.")
            self._count += 1
            self._waiting.append(line)

    def take(self) -> tuple[str, ...]:
        """What takes effect at the boundary that the run has come to."""
        n, self._boundary = self._boundary, self._boundary + 1
        with self._lock:
            taken = self._journal.take_said(n, self._waiting)
            self._waiting = [one for one in self._waiting if one not in taken]
        return taken

    def apply(self, event: Event) -> None:
        """Note what an event says of sources, and what models are to be told."""
        if isinstance(event, Edited):
            self._limits = self._limits.join(Limits(struck=event.without))
        elif isinstance(event, Steered):
            self.said = (*self.said, event.said)
            self._limits = self._limits.join(event.limits)

    def refuse(self, url: str) -> OutsideError | None:
        """Why a page is not read; None where it may be a source."""
        return None if self._limits.permits(url) else ReadFailed(NOT_WANTED, outcome="skipped")

    def narrow(self, found: ResponseT) -> ResponseT | OutsideError:
        """The results of a search without what is not wanted; a page, or why it is no source."""
        if isinstance(found, Page) and not self._limits.permits(found.url, found.date):
            return ReadFailed(NOT_WANTED, outcome="skipped")
        if isinstance(found, SearchResults):
            hits = tuple(hit for hit in found.hits if self._limits.permits(hit.url, hit.date))
            return found.model_copy(update={"hits": hits})
        return found


def clean_said(text: str) -> str:
    """An instruction on one line. Raises UsageError where it is blank or too long."""
    line = sanitize_line(text, LONGEST_SAID + 1)
    if not line:
        raise UsageError("The instruction is empty.", "Say what is to change.")
    if len(line) > LONGEST_SAID:
        fault = f"The instruction is too long: at most {LONGEST_SAID} characters are allowed."
        raise UsageError(fault, "Say it in fewer words.")
    return line
