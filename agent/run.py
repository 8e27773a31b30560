"""A run: the loop that every door reads, from a question to its answer."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent import __version__
from agent.assembly import STRATEGIES, assembled
from agent.budget import Spent, spent
from agent.compose import Shared, outside, shared_limits
from agent.errors import AgentError, Halt, JournalError, Stopped, UsageError
from agent.foreign import plain
from agent.journal import Journal, is_begun, read
from agent.limits import Turns, unlimited
from agent.llm import Model
from agent.models import chosen_models
from agent.outside import spawn
from agent.research import Event, Halted, Research, Slot, Started, Warned
from agent.settings import SHAPE, Settings, here
from agent.strategies.choice import Choice, choice
from agent.ways import NOWHERE, Ways, chosen_ways, now, user_folder

if TYPE_CHECKING:
    from agent.output import Answer, SlotAnswer, Usage

LONGEST_TOPIC = 2000  # characters


def research(
    topic: str,
    settings: Settings | None = None,
    *,
    shared: Shared | None = None,
    through: Callable[[Ways], Ways] = lambda ways: ways,
) -> Run:
    """A run, not yet begun: iterate over it for its events, or ask at once for its `answer()`.

    Without settings, those of the environment. With `settings.resume` it goes on with a journal,
    with `settings.replay` it repeats one, without going outside; the topic may then be empty.
    `shared` is what runs of these settings have in common where there are many; `through` may stand
    between the run and its ways to search and read: it filters what they bring.
    Raises UsageError for a topic or slots that cannot be researched, NotConfigured for an absent
    key, JournalError for a journal that cannot be used.
    """
    settings = settings or here()
    if settings.replay:
        journal = Journal.replay(settings.replay)
        _agreed(topic, journal.header)
        return Run(_shaped(settings, journal.header), journal, [], NOWHERE, Turns(unlimited()))
    path = journal_path(settings, settings.resume or new_name())
    if settings.resume and is_begun(path):
        header = read(path).header
        _agreed(topic, header)
        settings = _shaped(settings, header)
    else:
        header = _header(path, clean(topic), settings)
        settings = settings.model_copy(update={"strategy": header["settings"]["strategy"]})
    given_slots(settings)
    turns = Turns(shared.limits if shared else shared_limits(settings))
    models = shared.models if shared else chosen_models(settings)
    ways = through(chosen_ways(settings, turns, shared.corpus if shared else None))
    # last, so that what cannot run leaves no file
    if settings.resume:
        journal = Journal.resume(path, header, retry_failed=settings.retry_failed)
    else:
        journal = Journal.begin(path, header)
    return Run(settings, journal, models, ways, turns)


class Run:
    """One topic on its way to an answer. Closing the iterator cancels it.

    It goes that way once: whoever iterates over it again is told what happened so far.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        models: Sequence[Model],
        ways: Ways,
        turns: Turns | None = None,
    ) -> None:
        self._begun = time.monotonic()
        self._error: AgentError | None = None
        self._iterated = False
        self._unsent = ""  # why the run's spans could not be sent
        self._settings = settings
        self._journal = journal
        self._outside = outside(settings, journal, models, ways, turns)
        self._strategy = assembled(self._outside, settings)
        self.research = Research(clean(str(journal.header["topic"])), given_slots(settings))

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
        from agent import output

        self._outside.warm()
        output.warm()
        if self._endpoint:
            from agent import telemetry

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
        from agent import telemetry  # costs nothing where it is not asked for

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
        from agent import output

        if not self._iterated:
            deque(self, maxlen=0)
        header, path = self._journal.header, self._journal.path or self._settings.replay
        info = output.RunInfo(
            id=header["run"],
            strategy=header["strategy"],
            reason=self._reason,
            started_at=header["at"],
            journal=str(path) if path else None,
        )
        unsent = (self._unsent,) if self._unsent else ()
        return output.answer(
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
        from agent import output

        counts = self.spent().model_dump()
        seconds = round(time.monotonic() - self._begun, 3)
        return output.Usage(**counts, rounds=self.research.round, seconds=seconds)

    def slots(self) -> dict[str, SlotAnswer]:
        """What is known of its slots so far. Any thread may ask."""
        from agent import output

        return output.slots(self.research)


def given_slots(settings: Settings) -> tuple[Slot, ...]:
    """The slots that the caller gave, by name or by schema. Raises UsageError."""
    if settings.slots_schema is None:
        return tuple(Slot(name=name) for name in settings.slots)
    if settings.slots:
        raise UsageError("Slots and a schema of slots were given.", "Give one of them.")
    from agent.slots.schema import slots_of

    return slots_of(settings.slots_schema)


def clean(topic: str) -> str:
    """A topic on one line, without control characters. Raises UsageError if it cannot be asked."""
    line = plain(topic, 10 * LONGEST_TOPIC)
    if not any(char.isprintable() for char in line):  # nothing, or marks without width
        raise UsageError("Question cannot be empty", "Give a question: --topic '...'.")
    if len(line) > LONGEST_TOPIC:
        raise UsageError(
            f"The question is too long: at most {LONGEST_TOPIC} characters are allowed.",
            "Shorten it; put long material into a folder and name that with --corpus.",
        )
    return line


def new_name() -> str:
    """A name for a run that no other has; names sort as their runs began, within a process."""
    begun = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ-%f")
    return f"{begun}{os.urandom(3).hex()}"


def _header(path: Path, topic: str, settings: Settings) -> dict[str, Any]:
    """What a journal says of its run in its first line: the strategy is one that was chosen."""
    fitting = chosen_strategy(topic, settings)
    shape = settings.model_dump(mode="json", include=set(SHAPE))
    return {
        "run": path.stem,
        "version": __version__,
        "topic": topic,
        "strategy": fitting.strategy,
        "reason": fitting.reason,
        "at": now(),
        "settings": shape if settings.baseline else shape | {"strategy": fitting.strategy},
        **({"request": settings.request_id} if settings.request_id else {}),
    }


def chosen_strategy(topic: str, settings: Settings) -> Choice:
    """The strategy of a run, and why where it was left open (`auto`)."""
    if settings.baseline or settings.strategy != "auto":
        return Choice(settings.baseline or settings.strategy, "")
    return choice(topic, STRATEGIES, slots=bool(settings.slots))


def _agreed(topic: str, header: dict[str, Any]) -> None:
    """Raises JournalError for a header of no run, UsageError for one of another question."""
    if not all(isinstance(header.get(name), str) for name in ("run", "topic", "strategy", "at")):
        raise JournalError("The journal's first line is not that of a run.", "Name another file.")
    if topic.strip() and clean(topic) != header["topic"]:
        raise UsageError(
            f"That run is about another question: {header['topic']}",
            "Leave the question out, or give the run another name.",
        )


def _shaped(settings: Settings, header: dict[str, Any]) -> Settings:
    """Settings with those of the run's beginning that shape its prompts and its answer."""
    try:
        begun = Settings.model_validate(header.get("settings", {}))
    except ValueError:
        raise JournalError("The journal's settings cannot be used.", "Begin anew.") from None
    return settings.model_copy(update={name: getattr(begun, name) for name in SHAPE})


def journal_path(settings: Settings, name: str) -> Path:
    """A journal by its path, or by the name of its run."""
    if "/" in name or name.endswith(".jsonl"):
        return Path(name)
    return (settings.runs_dir or user_folder("data") / "runs") / f"{name}.jsonl"
