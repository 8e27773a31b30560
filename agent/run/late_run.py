"""A run that threads may stop, or tell something, before it has begun."""

from __future__ import annotations

import threading

from agent.errors import UsageError
from agent.outside.recording import MAX_SAID
from agent.outside.steering import clean_said
from agent.run.loop import Run


class LateRun:
    """What is said to a run that has not begun is kept for it. Any thread may call this."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._is_stopped = False
        self._said: list[str] = []

    @property
    def run(self) -> Run | None:
        """The run; None before it has begun."""
        with self._lock:
            return self._run

    def begin(self, run: Run) -> None:
        """Take the run, and tell it what was said so far."""
        with self._lock:
            self._run = run
            for text in self._said:
                run.say(text)
            if self._is_stopped:
                run.stop()

    def stop(self) -> None:
        """Gather no more: the run ends within one outside call, with the best answer so far."""
        with self._lock:
            self._is_stopped = True
            if self._run:
                self._run.stop()

    def say(self, text: str) -> None:
        """Give an instruction for what is planned next; a run that has not begun begins with it.

        Raises UsageError and JournalError as `Run.say`.
        """
        with self._lock:
            if self._run:
                self._run.say(text)
            elif len(self._said) < MAX_SAID:
                self._said.append(clean_said(text))
            else:
                raise UsageError("The run takes no more before it begins.", "Say it later.")
