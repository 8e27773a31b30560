"""Whole runs whose worker is killed, hangs or is interrupted while it reads a page."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.page_server import wait_for
from tests.support.processes import start_command
from tests.support.services import ModelRequest, Reply, Services
from tests.support.thinker import Fact, Thinker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
ROOT = Path(__file__).parents[2]
TOPIC = "Who designed the bridge?"
FACTS = [Fact("designer", "Ada Quill", "Ada Quill designed"), Fact("place", "Lusail", "in Lusail")]


@pytest.fixture
def released(services: Services) -> threading.Event:
    """Three pages, and a model that waits for this event before its first reply."""
    event, thinker = threading.Event(), Thinker(FACTS, ["bridge designer"])

    def think(asked: ModelRequest) -> Reply:
        event.wait(30)
        return thinker(asked)

    services.think = think
    services.pages = {
        "bridge": "Ada Quill designed the bridge after a flood. It stands in Lusail before a park.",
        "town": "Ada Quill designed the bridge. It crosses the river in Lusail.",
        "team": "Ada Quill designed the bridge, and many praised it. It was built in Lusail.",
    }
    services.default_hits = list(services.pages)
    return event


@contextmanager
def run_with_stuck_worker(
    services: Services, released: threading.Event, folder: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A run, and the pid of its worker, which has got a page and does not go on."""
    process = start_command(
        *("-m", "agent.cli", TOPIC, *options),
        env={**os.environ, **services.environment(folder, CACHE_TTL="0"), "PYTHONPATH": str(ROOT)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            if not wait_for(lambda: bool(find_workers(process.pid)), 30):
                process.kill()
                pytest.fail(f"No worker has begun: {process.communicate()}")
            (worker,) = find_workers(process.pid)
            os.kill(worker, signal.SIGSTOP)
            released.set()
            assert wait_for(lambda: count_unread(worker) > 0, 30)
            yield process, worker
        finally:
            process.kill()


def find_workers(parent: int) -> list[int]:
    """The workers that a process has started."""
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    pids = [int(pid) for path in tasks for pid in read_bytes(path).split()]
    return [pid for pid in pids if b"worker.py" in read_bytes(Path(f"/proc/{pid}/cmdline"))]


def read_bytes(path: Path) -> bytes:
    """What a file of /proc holds; nothing if its process or thread has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def count_unread(worker: int) -> int:
    """The bytes that a worker has been sent and has not read."""
    count = array.array("i", [0])
    with Path(f"/proc/{worker}/fd/0").open("rb", buffering=0) as stream:
        fcntl.ioctl(stream, termios.FIONREAD, count)
    return count[0]


def finish(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The answer of a run that ends by itself."""
    out, err = process.communicate(timeout=60)
    assert b"Traceback" not in err, err
    answer = json.loads(out)
    assert isinstance(answer, dict)
    return answer


def count_read_pages(folder: Path) -> int:
    """The pages of a run's journal."""
    journals = [path.read_text() for path in folder.glob("runs/*.jsonl")]
    return sum('"call": "read"' in line for text in journals for line in text.splitlines())


@pytest.mark.slow
def test_a_page_that_kills_its_worker_fails_and_its_snippet_stands_in(
    services: Services, released: threading.Event, tmp_path: Path
) -> None:
    with run_with_stuck_worker(services, released, tmp_path) as (process, worker):
        os.kill(worker, signal.SIGKILL)
        answer = finish(process)
    (warning,) = answer["warnings"]
    assert "reading it ended the process that reads" in warning
    assert warning.endswith("Used instead: its snippet.")
    assert answer["status"] == "complete" and answer["citations"]
    assert (answer["sources"]["read"], answer["sources"]["failed"]) == (2, 1)


@pytest.mark.slow
def test_a_page_that_hangs_its_worker_costs_no_other_page(
    services: Services, released: threading.Event, tmp_path: Path
) -> None:
    """Nor the time that it has itself: a run ends without a page that is late."""
    options = ("--max-seconds", "12")
    with run_with_stuck_worker(services, released, tmp_path, *options) as (process, _):
        answer = finish(process)
    assert answer["sources"]["read"] == 2 and answer["citations"]


@pytest.mark.slow
def test_an_interrupt_ends_a_run_whose_worker_hangs(
    services: Services, released: threading.Event, tmp_path: Path
) -> None:
    with run_with_stuck_worker(services, released, tmp_path) as (process, worker):
        assert wait_for(lambda: count_read_pages(tmp_path) == 2, 30)
        process.send_signal(signal.SIGINT)
        answer = finish(process)
    assert answer["status"] == "partial" and answer["sources"]["read"] == 2
    assert "stopped" in " ".join(answer["warnings"]) and answer["citations"]
    assert wait_for(lambda: not read_bytes(Path(f"/proc/{worker}/cmdline")))  # gone, or a zombie
