"""A batch of five hundred topics with a rate limit and faulty services, killed twice.

`python -m benchmarks.batch` prints one JSON object. The services run on loopback in a process of
their own and log when each request arrives; one reply in twenty is a fault. The rate limit is 300
model requests in a window of 15 seconds, instead of a minute, so that the benchmark takes a minute
or two. `python -m benchmarks.batch 60` sets the window to a minute. With the argument `ray` the
batch runs on a local cluster of two workers, and one worker is killed instead of the command.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks.processes import resident_mb
from tests.support.cups import Call, finished_calls, serve_cups, topic_lines
from tests.support.processes import find_ray_workers
from tests.support.services import GEMINI_KEY, Raw, Services

TOPICS, LIMIT, FAULTS = 500, 300, 0.05
ENGINE = "ray" if "ray" in sys.argv else "local"
WINDOW = next((float(word) for word in sys.argv[1:] if word[:1].isdigit()), 15.0)  # seconds
CONCURRENCY = 32
LATENCY = 0.1  # seconds of every reply
KILL_AT = (150, 320) if ENGINE == "local" else ()  # rows at which the command is killed
WORKER_KILL_AT = 200  # rows at which a worker of the Ray cluster is killed
Checkpoint = tuple[set[Call], int]
BROKEN = (Raw(500, "oops"), Raw(503, "busy"), Raw(0, ""), Raw(200, "null"), Raw(200, '{"can'))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        services = ServiceProcess(Path(folder), TOPICS, LATENCY, FAULTS)
        try:
            print(json.dumps(measure(Path(folder), services)))
        finally:
            services.close()


class ServiceProcess:
    """Services in a process of their own, so that they do not share the GIL with the batch."""

    def __init__(self, folder: Path, topics: int, latency: float, faults: float) -> None:
        self._pipe, child_pipe = Pipe()
        self._process = Process(
            target=serve, args=(child_pipe, str(folder), topics, latency, faults)
        )
        self._process.start()
        self.environment: dict[str, str] = self._pipe.recv()

    def read_log(self) -> list[tuple[float, str, str]]:
        """Every request so far: its time, kind and subject."""
        self._pipe.send("log")
        requests: list[tuple[float, str, str]] = self._pipe.recv()
        return requests

    def close(self) -> None:
        self._pipe.send("end")
        self._process.join()


def serve(pipe: Connection, folder: str, topics: int, latency: float, faults: float) -> None:
    with LoggingServices() as services:
        chance = Random(7)
        serve_cups(services, topics)
        services.latency = lambda: latency
        services.fault = lambda: chance.choice(BROKEN) if chance.random() < faults else None
        limits = {"RATE_LIMITS": f"gemini={LIMIT}", "RATE_WINDOW": str(WINDOW), "CACHE_TTL": "0"}
        waits = {"LLM_RETRY_WAITS": "0.2,0.4,0.8"}
        pipe.send(services.environment(Path(folder), **limits, **waits))
        while pipe.recv() == "log":
            pipe.send(list(services.log))


class LoggingServices(Services):
    """Services that log when each request arrives."""

    def __init__(self) -> None:
        self.log: list[tuple[float, str, str]] = []
        super().__init__()

    def gemini(self, model: str, body: dict[str, Any], key: str | None) -> Raw:
        self.log.append((time.time(), "ask", body["contents"][0]["parts"][0]["text"]))
        assert key == GEMINI_KEY
        return super().gemini(model, body, key)

    def serpapi(self, query: str, key: str) -> Raw:
        self.log.append((time.time(), "search", query))
        return super().serpapi(query, key)

    def page(self, name: str) -> Raw:
        self.log.append((time.time(), "read", self.url(name)))
        return super().page(name)


def measure(folder: Path, services: ServiceProcess) -> dict[str, Any]:
    (folder / "topics.jsonl").write_text(topic_lines(TOPICS))
    begun, memory, repeated = time.monotonic(), [], 0
    for kill_at in (*KILL_AT, TOPICS + 1):
        checkpoints = [take_checkpoint(folder, services)]  # at the kill before, or of a worker
        status, summary, samples = run_command(folder, services, kill_at, checkpoints)
        memory.append(samples)
        repeated += count_repeated_calls(checkpoints[-1], services)
    return {
        **summarize_rows(folder, status, summary),
        **summarize_requests(services.read_log()),
        "finished_calls_repeated": repeated,
        "rss_mb_by_life_at_three_tenths_six_nine": memory,
        "seconds": round(time.monotonic() - begun, 1),
    }


def take_checkpoint(folder: Path, services: ServiceProcess) -> Checkpoint:
    """The calls that journals hold, and how many requests the services have got."""
    return finished_calls((folder / "runs").glob("*.jsonl")), len(services.read_log())


def count_repeated_calls(before: Checkpoint, services: ServiceProcess) -> int:
    """How many of the calls that were finished at a checkpoint have been repeated since."""
    calls, request_count = before
    requests = services.read_log()[request_count:]
    return len(calls & {(kind, subject) for _, kind, subject in requests})


def run_command(
    folder: Path, services: ServiceProcess, kill_at: int, checkpoints: list[Checkpoint]
) -> tuple[int, dict[str, Any], list[int]]:
    """Run the command until it ends or is killed at a number of rows.

    Returns its exit status, its summary, and its resident memory in MB at 3, 6 and 9 tenths of the
    rows. Appends a checkpoint when a worker of a Ray cluster is killed.
    """
    out = folder / "out.jsonl"
    command = [
        sys.executable,
        "-m",
        "agent.cli",
        "batch",
        str(folder / "topics.jsonl"),
        "--out",
        str(out),
    ]
    process = subprocess.Popen(
        [*command, "--concurrency", str(CONCURRENCY), "--engine", ENGINE],
        env={**os.environ, **services.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    rows_before = count_rows(out)
    new_rows = min(kill_at, TOPICS) - rows_before
    marks = [rows_before + new_rows * tenths // 10 for tenths in (3, 6, 9)]
    memory: list[int] = []
    kills_worker = ENGINE == "ray"
    while process.poll() is None and count_rows(out) < kill_at:
        if len(memory) < 3 and count_rows(out) >= marks[len(memory)] - 1:
            memory.append(resident_mb(process.pid))
        if kills_worker and count_rows(out) >= WORKER_KILL_AT:
            kills_worker = False
            os.kill(find_ray_workers(process.pid)[0], signal.SIGKILL)
            checkpoints.append(take_checkpoint(folder, services))
        time.sleep(0.02)
    if process.poll() is None:
        process.kill()
    output, _ = process.communicate()
    return process.returncode, json.loads(output or b"{}"), memory


def count_rows(out: Path) -> int:
    return out.read_bytes().count(b"\n") if out.exists() else 0


def summarize_rows(folder: Path, status: int, summary: dict[str, Any]) -> dict[str, Any]:
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    reasons = [row for row in rows if row["status"] == "error" and row["error"]["message"]]
    return {
        "topics": TOPICS,
        "rows": len(rows),
        "ids": len({row["id"] for row in rows}),
        **dict(Counter(row["status"] for row in rows)),
        "failed_with_a_reason": len(reasons),
        "exit_status": status,
        "left": summary.get("left"),
    }


def summarize_requests(log: list[tuple[float, str, str]]) -> dict[str, Any]:
    """The model requests as its service got them: the most in any window, the share of the limit
    that was used."""
    times = sorted(at for at, kind, _ in log if kind == "ask")
    counts = [bisect_left(times, at + WINDOW) - i for i, at in enumerate(times)]
    full_windows = [
        count for at, count in zip(times, counts, strict=True) if at + WINDOW <= times[-1]
    ]
    mean = (len(times) - 1) / (times[-1] - times[0]) * WINDOW
    return {
        "model_requests": len(times),
        "limit_in_a_window": LIMIT,
        "window_seconds": WINDOW,
        "most_in_any_window": max(counts),
        "median_of_the_limit_used": round(median(full_windows) / LIMIT, 3),
        "mean_of_the_limit_used_restarts_included": round(mean / LIMIT, 3),
    }


if __name__ == "__main__":
    main()
