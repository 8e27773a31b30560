"""A run: the loop that every interface reads, from a topic to its answer."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from agent.calls import ExternalCalls
from agent.calls.budget import CallUsage, sum_usage
from agent.calls.journal import Journal
from agent.calls.journal_reader import DAMAGE
from agent.calls.threads import spawn
from agent.errors import AgentError, Halt, JournalDamaged, JournalError, Stopped
from agent.run.header import RunSpec, hash_prompts
from agent.run.validate_request import clean_topic
from agent.state import Checked, Event, Halted, Research, Slot, Started, Warned
from agent.strategies.registry import build_strategy

if TYPE_CHECKING:  # imported where it is used: the first model call goes out before
    from pydantic import BaseModel

    from agent.answer.schema import Answer, SlotAnswer, Usage

CHANGED_REPLAY = "The prompts have changed since this run: its replay may differ, or end early."
CHANGED_RESUME = "The prompts have changed since this run began: what differs is asked again."


class Run:
    """A topic on its way to an answer: an iterator of events. Closing the iterator cancels it.

    A run happens once, in the thread that iterates over it first. A second iteration repeats the
    events so far. As a context manager it stops at the end of the block, and lets go of its files.
    """

    def __init__(
        self,
        spec: RunSpec,
        journal: Journal,
        calls: ExternalCalls,
        slots: tuple[Slot, ...],
        data_model: type[BaseModel] | None = None,
    ) -> None:
        """`data_model`: the class of the answer's data; None: it is plain."""
        self._start_time = time.monotonic()
        self._settings, self._request = spec.settings, spec.request
        self._journal, self._calls = journal, calls
        self._strategy = build_strategy(calls, spec.settings, spec.request)
        self._data_model = data_model
        self._thread: int | None = None  # that runs it
        self._starting = threading.Lock()
        self._ended = threading.Event()
        self._error: AgentError | None = None
        self._answer: Answer | None = None  # of a run that went to its end
        topic = clean_topic(str(self._journal.header["topic"]))
        self.research = Research(topic, slots)

    def __iter__(self) -> Iterator[Event]:
        if not self._start():
            yield from tuple(self.research.events)
            return
        try:
            yield from self._grow()
            self._answer = self._end()
        finally:
            self._journal.close()
            self._calls.close()
            self._ended.set()

    def _grow(self) -> Iterator[Event]:
        """The events, each once the research has it; the error that ends them is kept."""
        try:
            for event in self._events():
                yield self.research.grow(event)
        except AgentError as error:
            self._error = error
        except DAMAGE as error:
            self._error = self._damage_error(error)

    def _end(self) -> Answer:
        """The answer, which is the journal's last line before anybody has it; a replay adds none.

        Where it cannot be written, a warning says so.
        """
        self._journal.end()
        answer = self._build_answer()
        if isinstance(self._error, JournalError):  # the journal is not what this run wrote
            return answer
        problem = self._journal.write_answer(answer.model_dump(mode="json"))
        return self._build_answer(problem) if problem else answer

    def _start(self) -> bool:
        """Whether this is the first thread that wants to run it."""
        with self._starting:
            is_first = self._thread is None
            self._thread = threading.get_ident() if is_first else self._thread
        return is_first

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._start():  # it never ran
            self._journal.close()
            self._calls.close()
            self._ended.set()

    def _events(self) -> Iterator[Event]:
        research, strategy = self.research, self._strategy
        spawn(self._warm)
        yield Started(topic=research.topic, strategy=strategy.name, slots=research.slots)
        yield from self._new_warnings()
        try:
            yield from strategy(research)
        except Halt as halt:
            if not research.is_halted:
                yield Halted(reason=halt.message, is_stop=isinstance(halt, Stopped))
            yield from strategy.finish(research)
        yield from self._new_warnings()

    def _new_warnings(self) -> Iterator[Event]:
        """Warnings of the journal and the sources that are not among the events yet."""
        reported = {event.message for event in self.research.events_of(Warned)}
        recorded = map(str, self._journal.header.get("warnings", ()))
        found = (self._journal.problem, self._prompt_warning(), *recorded)
        for message in dict.fromkeys((*found, *self._calls.warnings())):
            if message and message not in reported:
                yield Warned(message=message)

    def _prompt_warning(self) -> str:
        """What to heed where the prompts are not those of the journal; "" where they are."""
        is_replay, current = self._journal.is_replay, hash_prompts()
        recorded = self._journal.header.get("prompts", current if is_replay else "")
        if recorded == current:
            return ""
        return CHANGED_REPLAY if is_replay else CHANGED_RESUME

    def _damage_error(self, error: Exception) -> AgentError:
        """The error for a journal of another shape than this program writes.

        Raises the exception again where no call came from a journal: then it is a bug.
        """
        if not self._journal.recalled_count:
            raise error
        fault = f"The journal contains entries of unknown origin ({type(error).__name__})."
        remedy = "Start a new run. If this program wrote the journal, please report the bug."
        return JournalDamaged(fault, remedy)

    def answer(self) -> Answer:
        """The answer object, which holds the error if there was one.

        Runs the run if nobody does; waits for its end where another thread does.
        """
        if self._thread is None:
            deque(self, maxlen=0)
        if self._thread != threading.get_ident():
            self._ended.wait()
        return self._type_data(self._answer or self._build_answer())

    def _type_data(self, answer: Answer) -> Answer:
        if self._data_model is None:
            return answer
        from agent.answer.schema import with_typed_data

        return with_typed_data(answer, self._data_model)

    def _build_answer(self, *warnings: str) -> Answer:
        from agent.answer.build import build_answer, build_error_answer
        from agent.answer.schema import build_run_info

        try:
            return build_answer(
                self.research,
                usage=self.usage(),
                run=build_run_info(
                    self._journal.header, self._journal.path or self._request.replay
                ),
                schema=self._settings.slots_schema,
                report=self._request.report,
                warnings=warnings,
                error=self._error or self._missing_answer_error(),
                corpus=self.corpus,
            )
        except DAMAGE as error:
            return build_error_answer(self.research.topic, self._damage_error(error))

    def _missing_answer_error(self) -> AgentError | None:
        if self.research.answer or self.research.events_of(Checked):
            return None
        return Stopped(
            "The run was left before it had an answer.",
            "Go through it to its end, or stop() it for the best answer so far.",
        )

    @property
    def error(self) -> AgentError | None:
        """What ended the run, if that was an error."""
        return self._error

    @property
    def is_check(self) -> bool:
        """Whether it checks a report, and answers nothing."""
        return self._request.report is not None

    @property
    def corpus(self) -> str:
        """Where the corpus of the run lies; "" where it has none, or its journal does not say."""
        return str(self._journal.header.get("corpus", ""))

    def stop(self) -> None:
        """Gather no more: the run ends within one external call, with the best answer so far."""
        self._journal.stop.set()

    def call_usage(self) -> CallUsage:
        """What the finished calls used so far. Any thread may call this."""
        return sum_usage(self._journal.calls)

    def usage(self) -> Usage:
        """What the run used so far, its rounds and seconds too. Any thread may call this."""
        from agent.answer.schema import build_usage

        return build_usage(self.call_usage(), self.research.round, self._seconds())

    def slots(self) -> dict[str, SlotAnswer]:
        """What is known of the slots so far. Any thread may call this."""
        from agent.answer.slot_answers import build_slot_answers

        return build_slot_answers(self.research)

    def look_ahead(self) -> Research:
        """The research so far, with what is searched and read ahead. Any thread may call this."""
        from agent.run.early_passages import look_ahead

        under_way = (name.partition(" ") for name, _ in self.waited_for())
        begun = [query for kind, _, query in under_way if kind == "search"]
        return look_ahead(self.research, begun, tuple(self._journal.calls))

    def waited_for(self) -> list[tuple[str, float]]:
        """The calls under way, and for how many seconds. Any thread may call this."""
        return self._journal.waited_for()

    def _seconds(self) -> float:
        return time.monotonic() - self._start_time

    def _warm(self) -> None:
        """Import and build, while the first model call is waited for, what is needed after it."""
        from agent.answer.schema import warm_validators
        from agent.evidence.credibility import warm_owners

        self._calls.warm()
        warm_owners()
        warm_validators()


# --- a run that threads may stop before it has begun ----------------------------------------------


class LateRun:
    """A run that may be stopped before it has begun. Any thread may call this."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._is_stopped = False

    @property
    def run(self) -> Run | None:
        """The run; None before it has begun."""
        with self._lock:
            return self._run

    def begin(self, run: Run) -> None:
        """Take the run; one that was stopped before it began does not gather."""
        with self._lock:
            self._run = run
            if self._is_stopped:
                run.stop()

    def stop(self) -> None:
        """Gather no more: the run ends within one external call, with the best answer so far."""
        with self._lock:
            self._is_stopped = True
            if self._run:
                self._run.stop()
