"""A hundred clients stream at once from one server while a probe asks for `/api/health`.

`python -m evals.benchmarks.server` prints one JSON object, for runs without a model and for runs
with a scripted model on loopback: how many runs ended with their answer, how many were refused, the
percentiles of `/api/health` on the idle server and under load, and the server's memory before the
first wave and after each.

The clients, the probe and the services are processes of their own, so that none holds the server's
lock. The probe opens a connection for each request, as an orchestrator does.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing import Event, Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx2

from evals.benchmarks.processes import resident_mb
from evals.benchmarks.services import Load, cup_topic, run_services

ROOT = Path(__file__).parents[2]
CLIENTS, WAVES = 100, 2
YEARS = (1930, 1954, 1966, 1974, 1986, 1994, 1998, 2014, 2018, 2022)
LATENCY = 0.1  # seconds of every reply of the services
PROBE_PAUSE = 0.02  # seconds between two requests of the probe
IDLE_SECONDS = 2.0  # of probing before the first wave
SETTLE_SECONDS = 1.0  # after a wave, for the last threads to end
PROSE = 40_000  # characters of a page
Row = dict[str, Any]


def main() -> None:
    ways = {"without_a_model": False, "with_a_model": True}
    print(json.dumps({name: _measure_server(model) for name, model in ways.items()}))


def _measure_server(with_model: bool) -> Row:
    with (
        tempfile.TemporaryDirectory() as name,
        _environment(Path(name), with_model) as environment,
        _run_server(environment, with_model) as (port, pid),
    ):
        return asyncio.run(_measure(port, pid, with_model))


@contextmanager
def _environment(folder: Path, with_model: bool) -> Iterator[dict[str, str]]:
    """The variables of a server, with the services of its runs where it has a model."""
    kept = {"RUNS_DIR": str(folder / "runs"), "CACHE_DIR": str(folder / "cache")}
    if not with_model:
        yield {**os.environ, **kept}
        return
    with run_services(folder, Load(LATENCY, LATENCY, prose=PROSE)) as services:
        yield {**os.environ, **services.environment}


@contextmanager
def _run_server(environment: dict[str, str], with_model: bool) -> Iterator[tuple[int, int]]:
    """The port and the process id of a server with default limits: 8 runs and 64 that wait."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "agent.cli", "serve", "--port", str(port)]
    command += [] if with_model else ["--offline"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        while _seconds_of_health(port) is None:
            assert process.poll() is None, "the server has ended"
            time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        assert process.wait(30) == 0


async def _measure(port: int, pid: int, with_model: bool) -> Row:
    await _ask_all(port, 1, with_model)  # imports are not what is measured
    with _probe(port) as idle:
        await asyncio.sleep(IDLE_SECONDS)
    memory, seconds, ends, health = [_memory(pid)], [], [], []
    for _ in range(WAVES):
        begun = time.monotonic()
        with _probe(port) as latencies:
            ends += await _ask_all(port, CLIENTS, with_model)
        seconds.append(time.monotonic() - begun)
        health += latencies
        await asyncio.sleep(SETTLE_SECONDS)
        memory.append(_memory(pid))
    return {
        **{f"runs_{end}": ends.count(end) for end in ("answered", "refused", "lost")},
        "seconds_a_wave": round(median(seconds), 1),
        "idle_health_99th_ms": _milliseconds(quantiles(idle, n=100)[98]),
        "health_median_ms": _milliseconds(median(health)),
        "health_95th_ms": _milliseconds(quantiles(health, n=100)[94]),
        "health_99th_ms": _milliseconds(quantiles(health, n=100)[98]),
        "health_longest_ms": _milliseconds(max(health)),
        "probes": len(health),
        "server_mb_before_and_after_each_wave": [server for server, _ in memory],
        "with_children_mb": [tree for _, tree in memory],
        "memory_growth": round(memory[-1][1] / memory[1][1], 2),
        "mb_at_the_end": memory[-1][1],
    }


def _milliseconds(seconds: float) -> float:
    return round(1000 * seconds, 1)


async def _ask_all(port: int, clients: int, with_model: bool) -> list[str]:
    """How the runs of so many clients end. Each opens a connection of its own."""
    limits, base = httpx2.Limits(max_connections=clients), f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(
        base_url=base, timeout=300, limits=limits, trust_env=False
    ) as web:
        return await asyncio.gather(*(_ask(web, n, with_model) for n in range(clients)))


async def _ask(web: httpx2.AsyncClient, n: int, with_model: bool) -> str:
    """Research a question: "answered" if the stream ends with its answer, "refused", or "lost"."""
    year = YEARS[n % len(YEARS)]
    question = f"Who won the {year} FIFA World Cup? (client {n})"
    body = {"question": cup_topic(n) if with_model else question}
    async with web.stream("POST", "/api/research/stream", json=body) as response:
        if response.status_code == 429:
            return "refused"
        lines = [line[6:] async for line in response.aiter_lines() if line.startswith("data:")]
    *_, answer, end = [{"type": "", "detail": {}}, *map(json.loads, lines)]
    is_whole = (answer["type"], end["type"]) == ("answer", "end")
    return "answered" if is_whole and answer["detail"]["topic"] == body["question"] else "lost"


@contextmanager
def _probe(port: int) -> Iterator[list[float]]:
    """The latencies of `/api/health`, in seconds, filled when the block ends."""
    latencies: list[float] = []
    ours, theirs = Pipe()
    is_over = Event()
    probe = Process(target=_keep_probing, args=(port, theirs, is_over))
    probe.start()
    yield latencies
    is_over.set()
    latencies += ours.recv()
    probe.join()


def _keep_probing(port: int, pipe: Connection, is_over: Any) -> None:
    latencies = []
    while not is_over.wait(PROBE_PAUSE):
        seconds = _seconds_of_health(port)
        assert seconds is not None, "the server did not answer its probe"
        latencies.append(seconds)
    pipe.send(latencies)


def _seconds_of_health(port: int) -> float | None:
    """How long `/api/health` takes on a new connection; None where it does not answer with 200."""
    begun, reply = time.monotonic(), b""
    with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port), 60)) as probe:
        probe.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        while received := probe.recv(4096):
            reply += received
    is_healthy = reply.startswith(b"HTTP/1.1 200") and reply.endswith(b'{"status":"ok"}')
    return time.monotonic() - begun if is_healthy else None


def _memory(pid: int) -> tuple[int, int]:
    """The resident memory of a process, alone and with all its descendants, in MB."""
    own = resident_mb(pid)
    children = Path(f"/proc/{pid}/task").glob("*/children")
    found = [child for file in children for child in file.read_text("ascii").split()]
    return own, own + sum(_memory(int(child))[1] for child in found)


if __name__ == "__main__":
    main()
