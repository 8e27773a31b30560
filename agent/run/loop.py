"""A run: the loop that every door reads, from a topic to its answer."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.errors import AgentError, Halt, JournalDamaged, Stopped
from agent.outside.budget import CallUsage, sum_usage
from agent.outside.threads import spawn
from agent.run.parts import RunParts
from agent.run.request import clean_topic
from agent.state import Event, Halted, Research, Slot, Started, Warned

if TYPE_CHECKING:  # imported where it is used: the first model call goes out before
    from agent.answer import Answer, SlotAnswer, Usage

#: What code raises that meets a recorded value of another shape than it takes.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


class Run:
    """A topic on its way to an answer: an iterator of events. Closing the iterator cancels it.

    A run happens once. A second iteration repeats the events so far.
    """

    def __init__(self, parts: RunParts, slots: tuple[Slot, ...]) -> None:
        self._start_time = time.monotonic()
        self._settings, self._journal, self._outside, self._strategy, self._span_sender = parts
        self._is_started = False
        self._error: AgentError | None = None
        self._span_warnings: list[str] = []
        topic = clean_topic(str(self._journal.header["topic"]))
        self.research = Research(topic, slots)

    def __iter__(self) -> Iterator[Event]:
        if self._is_started:
            yield from tuple(self.research.events)
            return
        self._is_started = True
        try:
            for event in self._events():
                yield self.research.grow(event)
        except AgentError as error:
            self._error = error
        except DAMAGE as error:
            self._error = self._damage_error(error)
        finally:
            self._journal.close()
            self._outside.close()
            self._send_spans()

    def _events(self) -> Iterator[Event]:
        research, strategy = self.research, self._strategy
        reason = str(self._journal.header.get("reason", ""))
        spawn(self._warm)
        yield Started(
            topic=research.topic, strategy=strategy.name, reason=reason, slots=research.slots
        )
        yield from self._new_warnings()
        try:
            yield from strategy(research)
        except Halt as halt:
            if not research.is_halted:
                yield Halted(reason=halt.message)
            yield from strategy.finish(research)
        yield from self._new_warnings()

    def _new_warnings(self) -> Iterator[Event]:
        """Warnings of the journal and the sources that are not among the events yet."""
        reported = {event.message for event in self.research.events_of(Warned)}
        recorded = map(str, self._journal.header.get("warnings", ()))
        found = (self._journal.problem, *recorded, *self._outside.warnings())
        for message in dict.fromkeys(found):
            if message and message not in reported:
                yield Warned(message=message)

    def _damage_error(self, error: Exception) -> AgentError:
        """The error for a journal of another shape than this program writes.

        Raises the exception again where no call came from a journal: then it is a bug.
        """
        if not self._journal.recalled_count:
            raise error
        fault = f"The journal holds what this program does not write ({type(error).__name__})."
        remedy = "Begin anew. If this program wrote the journal, it is a bug: please report it."
        return JournalDamaged(fault, remedy)

    def answer(self) -> Answer:
        """The answer object, which holds the error if there was one. Runs the run if needed."""
        from agent.answer import build_error_answer

        if not self._is_started:
            deque(self, maxlen=0)
        try:
            return self._build_answer()
        except DAMAGE as error:
            return build_error_answer(self.research.topic, self._damage_error(error))

    def _build_answer(self) -> Answer:
        from agent.answer import build_answer, build_run_info

        return build_answer(
            self.research,
            usage=self.usage(),
            run=build_run_info(self._journal.header, self._journal.path or self._settings.replay),
            schema=self._settings.slots_schema,
            warnings=self._span_warnings,
            error=self._error or self._missing_answer_error(),
        )

    def _missing_answer_error(self) -> AgentError | None:
        if self.research.answer:
            return None
        return Stopped(
            "The run was left before it had an answer.",
            "Go through it to its end, or stop() it for the best answer so far.",
        )

    def stop(self) -> None:
        """Gather no more: the run ends within one outside call, with the best answer so far."""
        self._journal.stop.set()

    def call_usage(self) -> CallUsage:
        """What the finished calls used so far. Any thread may call this."""
        return sum_usage(self._journal.calls)

    def usage(self) -> Usage:
        """What the run used so far, its rounds and seconds too. Any thread may call this."""
        from agent.answer import build_usage

        return build_usage(self.call_usage(), self.research.round, self._seconds())

    def slots(self) -> dict[str, SlotAnswer]:
        """What is known of the slots so far. Any thread may call this."""
        from agent.answer import build_slot_answers

        return build_slot_answers(self.research)

    def _seconds(self) -> float:
        return time.monotonic() - self._start_time

    def _warm(self) -> None:
        """Import and build, while the first model call is waited for, what is needed after it."""
        from agent.answer import warm_validators

        self._outside.warm()
        warm_validators()
        if self._span_sender:
            self._span_sender.warm()

    def _send_spans(self) -> None:
        if self._span_sender:
            kind = self._error.kind if self._error else ""
            self._span_warnings = self._span_sender.send(self._journal, self._seconds(), kind)
