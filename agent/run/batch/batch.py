"""A batch: it hands topics to an engine and writes their rows, until all are done or it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from datetime import timedelta
from typing import Any, Protocol

import click

from agent.answer.messages import format_usd
from agent.errors import NON_RETRYABLE, JournalError, UsageError
from agent.outside import spawn
from agent.outside.budget import CallUsage, Caps, sum_usages
from agent.run.batch.local import LocalEngine, make_error_row, make_fault_row, run_name
from agent.run.batch.output import OutputFile, topic_digest
from agent.run.batch.topics import Topic
from agent.run.resources import share_resources
from agent.settings import Settings
from agent.state import Frozen, RunRequest
from agent.state.json_data import Json

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


class Progress(Frozen):
    """How far a batch is."""

    topics: int
    done: int
    failed: int
    in_flight: int
    seconds: float  # since this process started the batch
    eta: float | None  # seconds until the end; None: not yet known
    usd: float | None  # None: a price is not known


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
        if request.retry_failed:
            _drop_failed_rows(output)
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

    def run(self, on_progress: Callable[[Progress], None] = lambda _: None) -> BatchSummary:
        """Research topics until none is left, a cap is reached, or `stop` is called."""
        pending = (one for one in self._topics if str(one.id) not in self._output.index)
        while not self._check_stop():
            self._start_topics(pending)
            if not self._in_flight:
                break
            for future in wait(self._in_flight, POLL_SECONDS, FIRST_COMPLETED).done:
                self._finish_topic(future)
            on_progress(self.progress())
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

    def progress(self) -> Progress:
        """How far the batch is now."""
        done, seconds = len(self._output.index), time.monotonic() - self._started_at
        done_here, left = done - self._rows_at_start, len(self._topics) - done
        return Progress(
            topics=len(self._topics),
            done=done,
            failed=self._output.status_counts["error"],
            in_flight=len(self._in_flight),
            seconds=seconds,
            eta=left * seconds / done_here if done_here else None,
            usd=self._usage().usd,
        )

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


def _drop_failed_rows(output: OutputFile) -> None:
    """Delete the rows of topics that failed, so that they are researched again."""
    if output.status_counts["error"]:
        output.rewrite([row_id for row_id, row in output.index.items() if row.status != "error"])


# --- which engine --------------------------------------------------------------------------------


CAPS = ("seconds", "usd", "tokens", "calls")


def read_caps(options: Mapping[str, Any]) -> Caps:
    """The caps of the whole batch; None where one is not given. Raises UsageError."""
    return Caps(**{name: _read_cap(options[f"batch_{name}"], name) for name in CAPS})


def _read_cap(value: Any, name: str) -> Any:
    if value is not None and not value > 0:  # nor is NaN
        raise UsageError(f"--max-{name} {value:g} allows nothing.", "Give more than 0.")
    return value


def open_engine(options: Mapping[str, Any], settings: Settings) -> Engine:
    """The engine that the options name. Raises UsageError, NotConfigured."""
    if options["address"] and options["engine"] != "ray":
        raise UsageError("--address is for a Ray cluster.", "Add --engine ray.")
    if options["engine"] == "ray":
        from agent.run.batch.cluster import RayEngine

        return RayEngine(settings, options["address"], options["concurrency"])
    # on a thread, so that Ctrl-C ends the wait for the index of a corpus, whatever it waits for
    resources = spawn(lambda: share_resources(settings)).result()
    return LocalEngine(settings, resources)


# --- progress lines: updated in place on a terminal, written rarely to a log or a pipe -----------


LOG_INTERVAL = 30.0  # seconds between two lines in a log or a pipe
TERMINAL_INTERVAL = 0.5  # the same on a terminal


class ProgressReporter:
    """Limits how often a progress line is shown."""

    def __init__(self, *, terminal: bool) -> None:
        self.terminal = terminal
        self._interval = TERMINAL_INTERVAL if terminal else LOG_INTERVAL
        self._last_shown = 0.0 if terminal else -1.0  # -1: a log gets its first line at once

    def show(self, progress: Progress, *, is_last: bool = False) -> None:
        """Write the line to standard error, if one is due. A terminal has one line that changes."""
        if text := format_progress(progress) if is_last else self.next_line(progress):
            rewrite = "\r\033[K" if self.terminal else ""
            click.echo(f"{rewrite}{text}", err=True, nl=is_last or not self.terminal)

    def next_line(self, progress: Progress) -> str:
        """The line to show now; empty: none is due."""
        if self._last_shown >= 0 and progress.seconds - self._last_shown < self._interval:
            return ""
        self._last_shown = progress.seconds
        return format_progress(progress)


def format_progress(progress: Progress) -> str:
    """Format how far a batch is, as one line for people."""
    done = f"{progress.done}/{progress.topics} done"
    failed = f", {progress.failed} failed" if progress.failed else ""
    usd = "" if progress.usd is None else f", {format_usd(progress.usd)}"
    eta = "" if progress.eta is None else f", {timedelta(seconds=int(progress.eta))} left"
    return f"{done}{failed}, {progress.in_flight} under way{usd}{eta}"
