"""A batch whose file has a URL: another machine goes on with what was copied there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import JournalError, UsageError
from agent.outside.budget import Caps
from agent.run.batch.batch import Batch, BatchSummary
from agent.run.batch.local import LocalEngine
from agent.run.batch.mirror import Mirror
from agent.run.batch.topic import Topic
from agent.run.resources import share_resources
from agent.settings import parse_settings
from tests.support.cups import count_requests, cup_topic, finished_calls, requests_since, serve_cups
from tests.support.services import Services

fsspec = pytest.importorskip("fsspec")
COUNT = 6
URL = "memory://store/day/answers.jsonl"


@pytest.fixture
def store() -> Any:
    """Files in memory, which all tests of a process share: so they are emptied before each."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    return files


class Machine:
    """A directory of its own, with a mirror of one batch."""

    def __init__(self, folder: Path, services: Services) -> None:
        self._settings = parse_settings(services.environment(folder, CACHE_TTL="0"))
        self.mirror = Mirror(URL, self._settings)

    def work(self, **caps: int) -> BatchSummary:
        topics = [Topic(f"c{n}", cup_topic(n)) for n in range(1, COUNT + 1)]
        engine = LocalEngine(share_resources(self._settings), self.mirror)
        rows, limits = self.mirror.open_output(), Caps(**caps)
        batch = Batch(topics, rows, engine, self._settings, limits, concurrency=2)
        summary = batch.run()
        self.mirror.close()
        rows.close()
        return summary


def there(store: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.cat("/store/day/answers.jsonl").splitlines()]


@pytest.mark.slow
def test_another_machine_goes_on_and_pays_nothing_twice(
    services: Services, tmp_path: Path, store: Any
) -> None:
    serve_cups(services, COUNT)
    one, other = Machine(tmp_path / "one", services), Machine(tmp_path / "other", services)
    first = one.work(calls=15)
    assert 0 < first.left < COUNT and len(there(store)) == first.answered
    store.get("/store/day/answers.jsonl.runs/", str(tmp_path / "copies"), recursive=True)
    paid, then = finished_calls((tmp_path / "copies").rglob("*.jsonl")), count_requests(services)
    assert len(paid) > 5 * first.answered
    assert other.work().answered == len(there(store)) == COUNT
    assert not paid & set(requests_since(services, then))
    assert len(store.ls("/store/day/answers.jsonl.runs")) == COUNT

    name = store.cat("/store/day/answers.jsonl.batch")
    store.rm("/store", recursive=True)  # begun anew, though files are left here
    anew = Machine(tmp_path / "other", services).work(calls=1)
    assert anew.left == COUNT - len(there(store)) > 0
    assert store.cat("/store/day/answers.jsonl.batch") != name


def test_rows_of_another_are_left_alone(services: Services, tmp_path: Path, store: Any) -> None:
    serve_cups(services, COUNT)
    rows = Machine(tmp_path, services).mirror.open_output()
    with pytest.raises(JournalError, match="another batch"):
        Machine(tmp_path, services).mirror.open_output()
    rows.close()


@pytest.mark.slow
def test_a_copy_that_fails_costs_no_answer(services: Services, tmp_path: Path, store: Any) -> None:
    serve_cups(services, COUNT)
    machine = Machine(tmp_path, services)
    store.pipe("/store/day/answers.jsonl.runs", b"a file where a folder should be")
    assert machine.work().answered == COUNT
    assert all("A copy to --out failed" in row["warnings"][-1] for row in there(store))


@pytest.mark.parametrize(
    ("url", "said"), [("memory://x/", "names no file"), ("no-such-thing://x/y", "cannot be used")]
)
def test_what_is_no_url_of_a_file_is_told(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Mirror(url, parse_settings({}))
    with pytest.raises(UsageError, match="RUNS_DIR.*a directory is needed"):
        parse_settings({"RUNS_DIR": "s3://bucket/runs"})
