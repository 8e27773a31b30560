"""A batch: it hands topics to an engine and writes their rows, until all are done or it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from datetime import timedelta
from typing import Protocol

from agent.answer.messages import format_usd
from agent.calls.budget import CallUsage, Caps, sum_usages
from agent.errors import NON_RETRYABLE, JournalError, UsageError
from agent.run.batch.local import make_error_row, make_fault_row, run_name
from agent.run.batch.rows import OutputFile, topic_digest
from agent.run.batch.topics import Topic
from agent.state import Frozen, Json, RunRequest

POLL_SECONDS = 0.2  # between two checks of caps and signals
MAX_REFUSALS = 3  # consecutive refused topics after which the batch stops


class Engine(Protocol):
    """Runs topics concurrently."""

    def start(self, topic: Topic, request: RunRequest) -> Future[Json]:
        """Start to research a topic; the result of the future is its row."""

    def usage_in_flight(self) -> list[CallUsage]:
        """The usage so far of the runs in flight, as far as this process knows it."""

    def close(self) -> None:
        """Release resources; runs in flight are abandoned, to be resumed from their journals."""


class BatchSummary(Frozen):
    """The result of a batch, over all processes that worked on it."""

    topics: int
    answered: int
    failed: int
    left: int
    statuses: dict[str, int]
    stopped: str  # why topics are left; empty: none is
    usage: CallUsage
    seconds: float  # of the last process
    out: str


class Batch:
    """Researches each topic once: one that has a row is skipped, a half-done run is resumed."""

    def __init__(
        self,
        topics: list[Topic],
        output: OutputFile,
        engine: Engine,
        request: RunRequest,
        caps: Caps,
        *,
        concurrency: int,
    ) -> None:
        """`request`: of every run. With its `retry_failed`, topics whose rows are errors are
        researched again.

        Raises UsageError if the output has the answer to another question under the id of a topic.
        """
        self._topics = topics
        self._output = output
        self._engine = engine
        self._request = request
        self._caps = caps
        self._concurrency = concurrency
        self._in_flight: dict[Future[Json], Topic] = {}
        self._refusals: list[Json] = []  # rows of consecutive refused topics, not written yet
        self._started_at = time.monotonic()
        self._stopped = ""
        self._check_same_topics()
        if request.retry_failed and output.status_counts["error"]:
            done = [name for name, row in output.index.items() if row.status != "error"]
            output.rewrite(done)
        self._rows_at_start = len(output.index)

    def _check_same_topics(self) -> None:
        for topic in self._topics:
            row = self._output.index.get(str(topic.id))
            is_retried = row and row.status == "error" and self._request.retry_failed
            if row and not is_retried and row.topic_digest != topic_digest(topic.text):
                fault = f"{self._output.path} has a row of another question as {topic.id!r}."
                raise UsageError(fault, "Name another --out, or give the topic another id.")

    def stop(self) -> None:
        """Start no more topics; runs in flight are abandoned and stay in their journals."""
        self._stopped = "interrupted"

    def run(self, on_progress: Callable[[], object] = lambda: None) -> BatchSummary:
        """Research topics until none is left, a cap is reached, or `stop` is called."""
        pending = (one for one in self._topics if str(one.id) not in self._output.index)
        while not self._check_stop():
            self._start_topics(pending)
            if not self._in_flight:
                break
            for future in wait(self._in_flight, POLL_SECONDS, FIRST_COMPLETED).done:
                self._finish_topic(future)
            on_progress()
        if self._refusals and not self._stopped:
            self._stopped = _refusal_reason(self._refusals[-1])
        self._engine.close()
        return self.summary()

    def _start_topics(self, pending: Iterator[Topic]) -> None:
        while len(self._in_flight) < self._concurrency and (topic := next(pending, None)):
            if topic.fault:
                self._write_row(make_fault_row(topic))
                continue
            name = run_name(self._output.batch_name, topic)
            request = self._request.model_copy(update={"resume": name})
            self._in_flight[self._engine.start(topic, request)] = topic

    def _finish_topic(self, future: Future[Json]) -> None:
        topic = self._in_flight.pop(future)
        error = future.exception()
        row = make_error_row(topic, error) if error else future.result()
        if _refusal_reason(row):
            self._refusals.append(row)
            return
        # this topic was served: so the refusals were of those topics, not of the key
        for finished in (*self._refusals, row):
            self._write_row(finished)
        self._refusals.clear()

    def _write_row(self, row: Json) -> None:
        try:
            self._output.append(row)
        except OSError as error:
            fault = f"{self._output.path} cannot be written: {error.strerror}."
            raise JournalError(fault, "Free some space, then run the same command again.") from None

    def _check_stop(self) -> str:
        """The reason to start no more topics and abandon those in flight; empty: go on."""
        if not self._stopped and len(self._refusals) >= MAX_REFUSALS:
            self._stopped = _refusal_reason(self._refusals[-1])
        if not self._stopped and (cap := self._reached_cap()):
            self._stopped = f"{cap} is used up"
        return self._stopped

    def _reached_cap(self) -> str:
        """The option name of a cap that is reached; empty: none is."""
        caps, usage = self._caps, self._usage()
        used = {
            "--max-seconds": (time.monotonic() - self._started_at, caps.seconds),
            "--max-usd": (usage.usd or 0.0, caps.usd),
            "--max-tokens": (usage.input_tokens + usage.output_tokens, caps.tokens),
            "--max-calls": (usage.llm_calls + usage.searches + usage.pages, caps.calls),
        }
        reached = (
            name for name, (amount, cap) in used.items() if cap is not None and amount >= cap
        )
        return next(reached, "")

    def _usage(self) -> CallUsage:
        """What was used so far; that of runs in flight is only asked for where a cap needs it."""
        caps = (self._caps.usd, self._caps.tokens, self._caps.calls)
        in_flight = self._engine.usage_in_flight() if any(c is not None for c in caps) else []
        return sum_usages([self._output.usage, *in_flight])

    def describe_progress(self) -> str:
        """How far the batch is now, as one line for people."""
        done, seconds = len(self._output.index), time.monotonic() - self._started_at
        done_here, left = done - self._rows_at_start, len(self._topics) - done
        failed, usd = self._output.status_counts["error"], self._usage().usd
        parts = [f"{done}/{len(self._topics)} done"]
        parts += [f"{failed} failed"] if failed else []
        parts.append(f"{len(self._in_flight)} under way")
        parts += [] if usd is None else [format_usd(usd)]
        if done_here:
            parts.append(f"{timedelta(seconds=int(left * seconds / done_here))} left")
        return ", ".join(parts)

    def summary(self) -> BatchSummary:
        """The result of the batch so far."""
        statuses = self._output.status_counts
        done = sum(str(topic.id) in self._output.index for topic in self._topics)
        return BatchSummary(
            topics=len(self._topics),
            answered=statuses.total() - statuses["error"],
            failed=statuses["error"],
            left=len(self._topics) - done,
            statuses=dict(sorted(statuses.items())),
            stopped=self._stopped,
            usage=self._output.usage,
            seconds=round(time.monotonic() - self._started_at, 3),
            out=str(self._output.path),
        )


def _refusal_reason(row: Json) -> str:
    """The error of a row whose every provider refused: no key, or no credit. Empty: another row."""
    error = row["error"] or {}
    what = {"model": "llm", "search": "search"}.get(error.get("kind", ""))
    outcomes = {attempt["outcome"] for attempt in row["attempts"] if attempt["what"] == what}
    return f"{error['message']} {error['remedy']}" if outcomes and outcomes <= NON_RETRYABLE else ""


def sort_rows(topics: list[Topic], output: OutputFile) -> None:
    """Sort the rows of a file into the order of the topics; rows of other topics come last."""
    wanted = dict.fromkeys(str(topic.id) for topic in topics if str(topic.id) in output.index)
    output.rewrite([*wanted, *(row_id for row_id in output.index if row_id not in wanted)])
