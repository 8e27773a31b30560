"""The tables of a server: filled in a thread of their own, each kept in a folder beside the runs.

A table is named by what is asked, so the same request goes on with what is left of it.
"""

from __future__ import annotations

import hashlib
import re
import threading
from contextlib import closing
from pathlib import Path
from typing import Literal

from agent.answer.table import Column, TableAnswer, TableRow
from agent.errors import AgentError, Busy, UsageError, as_agent_error, format_error
from agent.outside import spawn
from agent.outside.budget import Caps
from agent.outside.input_file import read_model
from agent.run.batch.batch import Batch, Progress
from agent.run.batch.local import LocalEngine
from agent.run.batch.output import OutputFile
from agent.run.begin import journal_path
from agent.run.library import TitleAndTags, delete_with_labels, read_labels
from agent.run.loop import Run
from agent.run.resources import share_resources
from agent.run.table import (
    RowName,
    TableRun,
    begin_rows,
    distinct_rows,
    found_table,
    parse_columns,
)
from agent.serving.live import Live
from agent.serving.request import CAPPED_FIELDS, RowsRequest
from agent.settings import Settings
from agent.shell import write_file
from agent.state.clock import utc_now

MAX_RUNNING = 2  # tables at once: each has as many runs at once as the server has
MAX_LISTED = 200
MAX_BYTES = 200_000_000  # of the file of a table
TABLE_NAME_PATTERN = "[0-9a-f]{16}"
_FILE = re.compile(rf"{TABLE_NAME_PATTERN}\.json")


class TableSummary(TitleAndTags):
    """A table in a list. `rows` is null until they are known; `done` counts those researched."""

    id: str
    topic: str
    columns: tuple[Column, ...]
    state: Literal["running", "ended", "stopped"] = "running"
    rows: int | None = None
    done: int = 0
    failed: int = 0
    usd: float | None = 0.0
    error: str = ""
    started_at: str


class TableDetail(TableSummary):
    """A table with its cells so far. `frames` is the number of its last frame."""

    frames: int = 0
    table: TableAnswer | None = None


class LiveTable(Live):
    """A table that is being filled. Its frames: `start`, a `row` each, `table` or `error`, `end`.

    Threads may share it.
    """

    def __init__(self, file: Path, request: RowsRequest, settings: Settings) -> None:
        """Raises UsageError, NotConfigured for a table that could not be filled."""
        super().__init__(file.stem)
        columns = parse_columns(request.columns)
        self._file, self._request, self._settings = file, request, settings
        self._engine = LocalEngine(share_resources(settings))
        self._finding: Run | None = None
        self._batch: Batch | None = None
        self._told: set[str] = set()
        self._rows: list[TableRow] = []
        self.detail = TableDetail(
            id=self.id, topic=request.topic, columns=columns, started_at=utc_now()
        )
        self._append_frame("start", request.topic)

    def stop(self) -> None:
        """Stop soon: what is done stays, and the same request goes on."""
        super().stop()
        if self._finding:
            self._finding.stop()
        if self._batch:
            self._batch.stop()
        self._engine.stop()

    def run(self) -> None:
        """Fill the table to its end, and keep it."""
        self._keep()
        try:
            with closing(OutputFile(self._file.with_suffix(".jsonl"))) as output:
                self._fill(output)
        except Exception as error:  # it is told, not lost with the thread
            self._fail(as_agent_error(error))
        self._keep()
        self._append_frame("end", self.detail.state)

    def _keep(self) -> None:
        write_file(self._file, self.detail.model_dump_json(exclude={"table"}), is_private=True)

    def _fail(self, error: AgentError) -> None:
        self._note(state="stopped", error=format_error(error.message, error.remedy))
        self._append_frame("error", self.detail.error)

    def _fill(self, output: OutputFile) -> None:
        table_run = self._prepare(output)
        names = (name.removeprefix("max_") for name in CAPPED_FIELDS)
        caps = {name: getattr(self._request, f"max_{name}", None) for name in names}
        engine, at_once = self._engine, self._settings.api_max_runs
        self._batch = table_run.begin(engine, self._settings, Caps(**caps), at_once)
        if self.cancelled:
            self._batch.stop()
        self._tell_rows(table_run, self._batch.progress())
        summary = self._batch.run(lambda progress: self._tell_rows(table_run, progress))
        table = table_run.table()
        is_whole = not summary.left
        self._note(
            state="ended" if is_whole else "stopped",
            error="" if is_whole else summary.stopped,
            usd=table_run.usage().usd,
            table=table,
        )
        write_file(_table_file(self._file), table.model_dump_json(), is_private=True)
        self._append_frame("table", table.model_dump_json())

    def _prepare(self, output: OutputFile) -> TableRun:
        asked, columns = self._request, self.detail.columns
        if asked.names:
            rows = distinct_rows(RowName(" ".join(name.split())) for name in asked.names)
            return TableRun(asked.topic, columns, rows, output)
        self._finding = begin_rows(asked.topic, self._settings, f"{output.batch_name}-rows")
        found = found_table(asked.topic, columns, output, self._finding, asked.rows)
        if found is None:
            raise UsageError(f"No rows were found for {asked.topic!r}.", "Give their names.")
        return found

    def _tell_rows(self, table_run: TableRun, progress: Progress) -> None:
        """Note how far it is, and make frames of the rows that are new."""
        self._rows = table_run.rows()
        for row in self._rows:
            if row.name not in self._told:
                self._told.add(row.name)
                self._append_frame("row", row.model_dump_json())
        counts = {"done": progress.done, "failed": progress.failed, "usd": progress.usd}
        self._note(rows=progress.topics, **counts)

    def _note(self, **changed: object) -> None:
        self.detail = self.detail.model_copy(update=changed)

    def snapshot(self) -> TableDetail:
        """The table as it is now."""
        now = self.detail
        left = (now.rows or 0) - now.done
        rows = tuple(self._rows)
        so_far = TableAnswer(topic=now.topic, columns=now.columns, rows=rows, left=left)
        return now.model_copy(
            update={"table": now.table or so_far, "frames": len(self.frames)}
            | dict(read_labels(self._file))
        )


class Tables:
    """Begins tables and finds them again. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self.folder = journal_path(settings, "any").parent / "tables"
        self._lock = threading.Lock()
        self._live: dict[str, LiveTable] = {}

    def begin(self, request: RowsRequest, settings: Settings) -> LiveTable:
        """Begin a table, go on with what is left of it, or find it where it is under way.

        Raises UsageError or NotConfigured for one that cannot be filled, Busy where others are
        being filled.
        """
        asked = request.model_dump_json(exclude=set(CAPPED_FIELDS) | {"detach"})
        name = hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:16]
        with self._lock:
            running = [one for one in self._live.values() if not one.has_ended]
            if found := next((one for one in running if one.id == name), None):
                return found
            if len(running) >= MAX_RUNNING:
                raise Busy("Too many tables are being filled.", "Ask again later.")
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            live = self._live[name] = LiveTable(self.path(name), request, settings)
        spawn(live.run)
        return live

    def path(self, name: str) -> Path:
        """Where a table is kept."""
        return self.folder / f"{name}.json"

    def live(self, name: str) -> LiveTable | None:
        """A table that this process has filled, or is filling."""
        with self._lock:
            return self._live.get(name)

    def find(self, name: str) -> TableDetail | None:
        """A table with its cells; None if there is none."""
        if live := self.live(name):
            return live.snapshot()
        kept = self._read(self.path(name))
        if kept is None:
            return None
        try:
            table = read_model(_table_file(self.path(name)), TableAnswer, MAX_BYTES)
            return kept.model_copy(update={"table": table})
        except (OSError, ValueError):
            return kept

    def list_newest(self) -> list[TableSummary]:
        """The newest tables first."""
        files = (file for file in self.folder.glob("*.json") if _FILE.fullmatch(file.name))
        kept = (self._read(file) for file in files)
        found = (TableSummary(**one.model_dump(exclude={"frames", "table"})) for one in kept if one)
        return sorted(found, key=lambda one: (one.started_at, one.id), reverse=True)[:MAX_LISTED]

    def _read(self, file: Path) -> TableDetail | None:
        """A table without its cells. What was being filled when the process ended was stopped."""
        if live := self.live(file.stem):
            return live.snapshot()
        try:
            kept = read_model(file, TableDetail, MAX_BYTES)
        except (OSError, ValueError):
            return None
        state = "stopped" if kept.state == "running" else kept.state
        return kept.model_copy(update={"state": state, **dict(read_labels(file))})

    def delete(self, name: str) -> bool:
        """Delete a table; its runs stay. Raises UsageError for one that is being filled."""
        with self._lock:
            if (live := self._live.get(name)) and not live.has_ended:
                raise UsageError("The table is being filled.", "Cancel it first.")
            self._live.pop(name, None)
        file = self.path(name)
        is_there = file.is_file()
        delete_with_labels(file)
        for other in (_table_file(file), file.with_suffix(".jsonl")):
            other.unlink(missing_ok=True)
            other.with_name(f"{other.name}.batch").unlink(missing_ok=True)
        return is_there

    def close(self) -> None:
        """Stop all tables."""
        with self._lock:
            running = list(self._live.values())
        for live in running:
            live.stop()


def _table_file(file: Path) -> Path:
    return file.with_suffix(".cells.json")
