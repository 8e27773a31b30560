"""A batch whose file has a URL: another machine goes on with what was copied there."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.errors import JournalError, UsageError
from agent.outside.budget import Caps
from agent.run.batch.batch import Batch, BatchSummary
from agent.run.batch.local import LocalEngine
from agent.run.batch.mirror import Mirror
from agent.run.batch.topics import Topic
from agent.run.resources import share_resources
from agent.settings import parse_settings
from tests.support.cups import count_requests, cup_topic, finished_calls, requests_since, serve_cups
from tests.support.services import Services

fsspec = pytest.importorskip("fsspec")
COUNT = 6


@dataclass(frozen=True)
class Store:
    """Files in memory, which all tests of a process share: so each has a folder of its own."""

    files: Any
    output: str  # the path of the output file; what lies beside it begins with this

    def read_rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.files.cat(self.output).splitlines()]


@pytest.fixture
def store() -> Store:
    return Store(fsspec.filesystem("memory"), f"/{uuid.uuid4().hex}/answers.jsonl")


class Machine:
    """A directory of its own, with a mirror of one batch."""

    def __init__(self, folder: Path, services: Services, store: Store) -> None:
        self._settings = parse_settings(services.environment(folder, CACHE_TTL="0"))
        self.mirror = Mirror(f"memory:/{store.output}", self._settings)

    def work(self, **caps: int) -> BatchSummary:
        topics = [Topic(f"c{n}", cup_topic(n)) for n in range(1, COUNT + 1)]
        engine = LocalEngine(share_resources(self._settings), self.mirror)
        rows, limits = self.mirror.open_output(), Caps(**caps)
        batch = Batch(topics, rows, engine, self._settings, limits, concurrency=2)
        summary = batch.run()
        self.mirror.close()
        rows.close()
        return summary


@pytest.mark.slow
def test_another_machine_goes_on_and_pays_nothing_twice(
    services: Services, tmp_path: Path, store: Store
) -> None:
    serve_cups(services, COUNT)
    one, other = (Machine(tmp_path / name, services, store) for name in ("one", "other"))
    first = one.work(calls=15)
    assert 0 < first.left < COUNT and len(store.read_rows()) == first.answered
    store.files.get(f"{store.output}.runs/", str(tmp_path / "copies"), recursive=True)
    paid, then = finished_calls((tmp_path / "copies").rglob("*.jsonl")), count_requests(services)
    assert len(paid) > 5 * first.answered
    assert other.work().answered == len(store.read_rows()) == COUNT
    assert not paid & set(requests_since(services, then))
    assert len(store.files.ls(f"{store.output}.runs")) == COUNT

    name = store.files.cat(f"{store.output}.batch")
    # Begun anew, though files are left here.
    store.files.rm(store.output.rpartition("/")[0], recursive=True)
    anew = Machine(tmp_path / "other", services, store).work(calls=1)
    assert anew.left == COUNT - len(store.read_rows()) > 0
    assert store.files.cat(f"{store.output}.batch") != name


def test_rows_of_another_are_left_alone(services: Services, tmp_path: Path, store: Store) -> None:
    serve_cups(services, COUNT)
    rows = Machine(tmp_path, services, store).mirror.open_output()
    with pytest.raises(JournalError, match="another batch"):
        Machine(tmp_path, services, store).mirror.open_output()
    rows.close()


@pytest.mark.slow
def test_a_copy_that_fails_costs_no_answer(
    services: Services, tmp_path: Path, store: Store
) -> None:
    serve_cups(services, COUNT)
    machine = Machine(tmp_path, services, store)
    store.files.pipe(f"{store.output}.runs", b"a file where a folder should be")
    assert machine.work().answered == COUNT
    assert all("A copy to --out failed" in row["warnings"][-1] for row in store.read_rows())


@pytest.mark.parametrize(
    ("url", "said"), [("memory://x/", "names no file"), ("no-such-thing://x/y", "cannot be used")]
)
def test_what_is_no_url_of_a_file_is_told(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Mirror(url, parse_settings({}))
    with pytest.raises(UsageError, match="RUNS_DIR.*a directory is needed"):
        parse_settings({"RUNS_DIR": "s3://bucket/runs"})
