"""A run: the loop that every door reads, from a topic to its answer."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.errors import AgentError, Halt, Stopped
from agent.outside.budget import Spent, spent
from agent.outside.threads import spawn
from agent.run.parts import Parts
from agent.run.request import clean_topic, given_slots
from agent.state import Event, Halted, Research, Started, Warned

if TYPE_CHECKING:
    from agent.answer import Answer, SlotAnswer, Usage


class Run:
    """One topic on its way to an answer. Closing the iterator cancels it.

    It goes that way once: whoever iterates over it again is told what happened so far.
    """

    def __init__(self, parts: Parts) -> None:
        self._begun = time.monotonic()
        self._error: AgentError | None = None
        self._iterated = False
        self._unsent = ""  # why the run's spans could not be sent
        self._settings, self._journal, self._outside, self._strategy = parts
        topic = clean_topic(str(self._journal.header["topic"]))
        self.research = Research(topic, given_slots(self._settings))

    def __iter__(self) -> Iterator[Event]:
        if self._iterated:
            yield from tuple(self.research.events)
            return
        self._iterated = True
        try:
            for event in self._events():
                yield self.research.grow(event)
        except AgentError as error:
            self._error = error
        finally:
            self._journal.close()
            self._outside.close()
            self._unsent = self._send_spans()

    def _events(self) -> Iterator[Event]:
        research, strategy = self.research, self._strategy
        spawn(self._warm)
        yield Started(
            topic=research.topic,
            strategy=strategy.name,
            reason=self._reason,
            slots=research.slots,
        )
        yield from self._warnings()
        try:
            yield from strategy(research)
        except Halt as halt:
            yield from self._cut_short(halt)
        yield from self._warnings()

    def _cut_short(self, halt: Halt) -> Iterator[Event]:
        if not self.research.halted:
            yield Halted(reason=halt.message)
        yield from self._strategy.finish(self.research)

    def _warnings(self) -> Iterator[Event]:
        """What the user should know and was not yet told."""
        said = {event.message for event in self.research.of(Warned)}
        for note in (self._journal.problem, *self._outside.notes()):
            if note and note not in said:
                yield Warned(message=note)

    def _warm(self) -> None:
        """Prepare, while the first model call waits, what will be needed after it."""
        from agent.answer import warm_validator

        self._outside.warm()
        warm_validator()
        if self._endpoint:
            from agent.run import telemetry

            telemetry.warm()

    @property
    def _reason(self) -> str:
        """Why this strategy was chosen; empty where it was asked for by name."""
        return str(self._journal.header.get("reason", ""))

    @property
    def _endpoint(self) -> str:
        """Where spans go; a replay sends none, since nothing is done."""
        return "" if self._settings.replay else self._settings.otel_endpoint.get_secret_value()

    def _send_spans(self) -> str:
        if not self._endpoint:
            return ""
        from agent.run import telemetry  # costs nothing where it is not asked for

        seconds = time.monotonic() - self._begun
        kind = self._error.kind if self._error else ""
        return telemetry.report(self._endpoint, self._journal, seconds, kind)

    def stop(self) -> None:
        """Gather no more: the run ends within one outside call, with the best answer so far."""
        self._journal.stop.set()

    def spent(self) -> Spent:
        """What its finished calls took so far; may be asked while it runs."""
        return spent(self._journal.calls)

    def answer(self) -> Answer:
        """The answer object; an error is in it, not raised. Goes through the run if nobody has."""
        from agent.answer import RunInfo, make_answer

        if not self._iterated:
            deque(self, maxlen=0)
        header, path = self._journal.header, self._journal.path or self._settings.replay
        info = RunInfo(
            id=header["run"],
            strategy=header["strategy"],
            reason=self._reason,
            started_at=header["at"],
            journal=str(path) if path else None,
        )
        unsent = (self._unsent,) if self._unsent else ()
        return make_answer(
            self.research,
            usage=self.usage(),
            run=info,
            schema=self._settings.slots_schema,
            warnings=unsent,
            error=self._failure(),
        )

    def _failure(self) -> AgentError | None:
        """Why there is no answer."""
        if self._error or self.research.answer:
            return self._error
        left = "The run was left before it had an answer."
        return Stopped(left, "Go through it to its end, or stop() it for the best answer so far.")

    def usage(self) -> Usage:
        """What it has spent so far. Any thread may ask."""
        from agent.answer import Usage

        counts = self.spent().model_dump()
        seconds = round(time.monotonic() - self._begun, 3)
        return Usage(**counts, rounds=self.research.round, seconds=seconds)

    def slots(self) -> dict[str, SlotAnswer]:
        """What is known of its slots so far. Any thread may ask."""
        from agent.answer import slot_answers

        return slot_answers(self.research)
