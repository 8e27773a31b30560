"""The process that reads: killed at its deadline, started anew, without keys or connections."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body
from agent.documents.format_registry import SUFFIXES
from agent.documents.reading import UnreadablePage, read_body
from agent.documents.worker_pool import WorkerPool
from agent.errors import ReadFailed
from tests.support.page_server import html, wait_for

ROOT = Path(__file__).parents[2]
PAGE = Body(html(), "text/html", "https://example.org/")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    one = WorkerPool(size=1)
    yield one
    one.close()


def pid_of(pool: WorkerPool) -> int:
    with pool.borrow(time.monotonic() + 10) as worker:
        return worker.pid


def test_a_worker_gives_what_extraction_gives(pool: WorkerPool, data: Path) -> None:
    reader = BodyReader(pool)
    pdf = (data / "pdf" / "multi_page.pdf").read_bytes()
    for body in (PAGE, Body(pdf), Body(b"# A title\n\nWords.", "text/markdown")):
        assert reader.read(body) == read_body(body.data, body.content_type, body.url)


@pytest.mark.slow
def test_a_worker_that_hangs_is_killed_at_the_deadline_and_costs_one_page(pool: WorkerPool) -> None:
    BodyReader(pool).read(PAGE)
    first = pid_of(pool)
    os.kill(first, signal.SIGSTOP)  # it would never answer
    with pytest.raises(UnreadablePage, match="too long") as caught:
        BodyReader(pool, timeout=0.2).read(PAGE)
    assert caught.value.outcome == "timeout"
    assert BodyReader(pool).read(PAGE).title == "A page" and pid_of(pool) != first


@pytest.mark.slow
def test_a_worker_that_ends_costs_one_page_of_many(pool: WorkerPool) -> None:
    BodyReader(pool).read(PAGE)
    first = pid_of(pool)
    os.kill(first, signal.SIGSTOP)
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(BodyReader(pool).read, PAGE)
        os.kill(first, signal.SIGSEGV)
        os.kill(first, signal.SIGCONT)
        error = reading.exception(10)
    assert not error or "ended the process that reads" in str(error)
    assert [found.title for found in BodyReader(pool).read_all([PAGE] * 3)] == ["A page"] * 3


@pytest.mark.slow
def test_closing_ends_what_is_read(pool: WorkerPool) -> None:
    reader = BodyReader(pool)
    reader.read(PAGE)
    os.kill(pid_of(pool), signal.SIGSTOP)
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(reader.read, PAGE)
        assert wait_for(lambda: bool(reader._busy))
        reader.close()
        reader.close()
        assert isinstance(reading.exception(10), ReadFailed)
    with pytest.raises(ReadFailed, match="closed"):
        reader.read(PAGE)
    assert BodyReader(pool).read(PAGE).title == "A page"  # others go on


def open_files(process: Path) -> set[str]:
    """What a process has open; files that it closes meanwhile are left out."""
    links = set()
    for link in (process / "fd").iterdir():
        with suppress(FileNotFoundError):
            links.add(os.readlink(link).partition(":")[0])  # noqa: PTH115
    return links


@LINUX
def test_a_worker_has_no_key_no_connection_and_limits(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "a key")
    monkeypatch.setenv("PYTHONSTARTUP", "/tmp/a.py")
    BodyReader(pool).read(PAGE)
    process = Path(f"/proc/{pid_of(pool)}")
    assert (process / "environ").read_bytes() == b""
    until = time.monotonic() + 20  # after a page it reads its own memory, from /proc
    while (links := open_files(process)) != {"pipe", "/dev/null"}:
        assert time.monotonic() < until, links
    limits = (process / "limits").read_text().splitlines()
    for name in ("Max address space", "Max file size", "Max cpu time"):
        (line,) = (line for line in limits if line.startswith(name))
        assert line.split()[3] != "unlimited", line


@LINUX
def test_no_worker_outlives_the_program(tmp_path: Path) -> None:
    code = (
        "import os, signal, time; from agent.documents.body_reader import *\n"
        "pool = WorkerPool(); BodyReader(pool).read(Body(b'# Title', suffix='.md'))\n"
        "with pool.borrow(time.monotonic() + 9) as worker: print(worker.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    process = Path(f"/proc/{int(done.stdout)}/cmdline")
    assert wait_for(lambda: not process.exists() or not process.read_bytes())  # gone, or a zombie


KNOWN_SUFFIXES = st.sampled_from(["", *sorted(SUFFIXES)])
TYPES = st.sampled_from(["", "text/html", "text/html; charset=base64", "text/plain; charset=idna"])


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([b"", b"%PDF-1.4\n"]), st.binary(max_size=200), TYPES, KNOWN_SUFFIXES)
def test_no_body_ends_a_worker(mark: bytes, rest: bytes, content_type: str, suffix: str) -> None:
    try:
        found = BodyReader().read(Body(mark + rest, content_type, "https://a.example/", suffix))
    except UnreadablePage as error:
        assert str(error) and "ended the process" not in str(error)
    else:
        assert found.text.strip() and all(mark[0] < len(found.text) for mark in found.marks)


def test_a_worker_may_make_an_event_loop_and_no_connection() -> None:
    code = """
import asyncio, socket, sys
from agent.documents.worker import refuse_event
sys.addaudithook(refuse_event)
asyncio.new_event_loop().run_until_complete(asyncio.sleep(0))
for act in (
    lambda: socket.getaddrinfo("localhost", 9),
    lambda: socket.socket().connect(("127.0.0.1", 9)),
):
    try:
        act()
    except PermissionError:
        print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused"] * 2
