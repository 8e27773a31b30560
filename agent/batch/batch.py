"""A batch: topics handed to an engine, rows written as they end, until all are done or it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol

from agent.batch.local import failed, run_name, unusable
from agent.batch.rows import Rows, digest
from agent.batch.topics import Topic
from agent.errors import FINAL, JournalError, UsageError
from agent.outside.budget import Caps, Spent
from agent.settings import Settings
from agent.state import Frozen

TICK = 0.2  # seconds between two looks at caps and signals
REFUSED = 3  # topics in a row that are refused before no more are begun
Json = dict[str, Any]


class Engine(Protocol):
    """What runs topics side by side."""

    def start(self, topic: Topic, settings: Settings) -> Future[Json]:
        """The row of a topic, when it has ended."""
        ...

    def spent(self) -> list[Spent]:
        """What runs under way have spent so far, as far as it is known here."""
        ...

    def close(self) -> None:
        """Let go of what it holds; runs under way are left to their journals."""
        ...


class Progress(Frozen):
    """How far a batch is. `seconds` are of this process; `eta` None: not yet known."""

    topics: int
    done: int
    failed: int
    under_way: int
    seconds: float
    eta: float | None
    usd: float | None


class Summary(Frozen):
    """What became of a batch, over all processes that worked on it; `seconds` are of the last."""

    topics: int
    answered: int
    failed: int
    left: int
    statuses: dict[str, int]
    stopped: str  # why not all topics were researched; empty: they were
    usage: Spent
    seconds: float
    out: str


class Batch:
    """Topics on their way to rows. What has a row is not done again; what is half done goes on."""

    def __init__(
        self,
        topics: list[Topic],
        rows: Rows,
        engine: Engine,
        settings: Settings,
        caps: Caps,
        *,
        concurrency: int,
    ) -> None:
        """With `settings.retry_failed`, what failed before is done again.

        Raises UsageError where the file holds the answer to another question of the same id."""
        self._topics = topics
        self._rows = rows
        self._engine = engine
        self._settings = settings
        self._caps = caps
        self._concurrency = concurrency
        self._flights: dict[Future[Json], Topic] = {}
        self._refused: list[Json] = []  # rows, in a row; they are left to be done again
        self._begun = time.monotonic()
        self._stopped = ""
        self._agree()
        if settings.retry_failed:
            _without_failed(rows)
        self._before = len(rows.known)

    def _agree(self) -> None:
        for topic in self._topics:
            known = self._rows.known.get(str(topic.id))
            again = known and known.status == "error" and self._settings.retry_failed
            if known and not again and known.topic != digest(topic.text):
                fault = f"{self._rows.path} has a row of another question as {topic.id!r}."
                raise UsageError(fault, "Name another --out, or give the topic another id.")

    def stop(self) -> None:
        """Hand out nothing more; what is under way stays in its journals."""
        self._stopped = "interrupted"

    def run(self, told: Callable[[Progress], None] = lambda _: None) -> Summary:
        """Work until nothing is left, or a cap is reached, or it is stopped."""
        left = self._left()
        while not self._over():
            self._fill(left)
            if not self._flights:
                break
            for flight in wait(self._flights, TICK, FIRST_COMPLETED).done:
                self._settle(flight)
            told(self.progress())
        if self._refused and not self._stopped:
            self._stopped = _refusal(self._refused[-1])
        self._engine.close()
        return self.summary()

    def _left(self) -> Iterator[Topic]:
        return (topic for topic in self._topics if str(topic.id) not in self._rows.known)

    def _fill(self, left: Iterator[Topic]) -> None:
        while len(self._flights) < self._concurrency and (topic := next(left, None)):
            if topic.fault:
                self._write(unusable(topic))
                continue
            name = run_name(self._rows.name, topic)
            settings = self._settings.model_copy(update={"resume": name})
            self._flights[self._engine.start(topic, settings)] = topic

    def _settle(self, flight: Future[Json]) -> None:
        topic = self._flights.pop(flight)
        error = flight.exception()
        row = failed(topic, error) if error else flight.result()
        if _refusal(row):
            self._refused.append(row)
            return
        for each in (*self._refused, row):  # others are served: it is those topics that are not
            self._write(each)
        self._refused.clear()

    def _write(self, row: Json) -> None:
        try:
            self._rows.add(row)
        except OSError as error:
            fault = f"{self._rows.path} cannot be written: {error.strerror}."
            raise JournalError(fault, "Make room, then give the same command again.") from None

    def _over(self) -> str:
        """Why no topic may be begun any more, nor one under way go on; empty: they may."""
        if not self._stopped and len(self._refused) >= REFUSED:
            self._stopped = _refusal(self._refused[-1])
        if not self._stopped and (cap := self._reached()):
            self._stopped = f"{cap} is used up"
        return self._stopped

    def _reached(self) -> str:
        caps, spent = self._caps, self._spent()
        used = {
            "--max-seconds": (time.monotonic() - self._begun, caps.seconds),
            "--max-usd": (spent.usd or 0.0, caps.usd),
            "--max-tokens": (spent.input_tokens + spent.output_tokens, caps.tokens),
            "--max-calls": (spent.llm_calls + spent.searches + spent.pages, caps.calls),
        }
        reached = (name for name, (has, cap) in used.items() if cap is not None and has >= cap)
        return next(reached, "")

    def _spent(self) -> Spent:
        return self._rows.spent.total(self._engine.spent() if self._capped else ())

    @property
    def _capped(self) -> bool:
        """Whether what runs under way spend has to be known all the time."""
        caps = self._caps
        return any(cap is not None for cap in (caps.usd, caps.tokens, caps.calls))

    def progress(self) -> Progress:
        """How far it is."""
        known, seconds = len(self._rows.known), time.monotonic() - self._begun
        made, left = known - self._before, len(self._topics) - known
        return Progress(
            topics=len(self._topics),
            done=known,
            failed=self._rows.statuses["error"],
            under_way=len(self._flights),
            seconds=seconds,
            eta=left * seconds / made if made else None,
            usd=self._spent().usd,
        )

    def summary(self) -> Summary:
        """What became of it."""
        statuses = self._rows.statuses
        done = sum(str(topic.id) in self._rows.known for topic in self._topics)
        return Summary(
            topics=len(self._topics),
            answered=statuses.total() - statuses["error"],
            failed=statuses["error"],
            left=len(self._topics) - done,
            statuses=dict(sorted(statuses.items())),
            stopped=self._stopped,
            usage=self._rows.spent.total(),
            seconds=round(time.monotonic() - self._begun, 3),
            out=str(self._rows.path),
        )


def _refusal(row: Json) -> str:
    """Why nobody would serve a topic: no key or no credit, wherever it asked. Empty: not so."""
    error = row["error"] or {}
    what = {"model": "llm", "search": "search"}.get(error.get("kind", ""))
    outcomes = {each["outcome"] for each in row["attempts"] if each["what"] == what}
    return f"{error['message']} {error['remedy']}" if outcomes and outcomes <= FINAL else ""


def in_order(topics: list[Topic], rows: Rows) -> None:
    """Put the rows into the order of the topics; those of no topic stay behind, as they were."""
    asked = dict.fromkeys(str(topic.id) for topic in topics if str(topic.id) in rows.known)
    rows.keep([*asked, *(each for each in rows.known if each not in asked)])


def _without_failed(rows: Rows) -> None:
    """Take out the rows of topics that failed, so that they are done again."""
    if rows.statuses["error"]:
        rows.keep([each for each, row in rows.known.items() if row.status != "error"])
