"""Five hundred topics with a limit on the model's requests and faults, killed twice on the way.

`python -m benchmarks.batch` prints one JSON object. Services on loopback, in a process of their
own, note when each request arrives; one in twenty is answered with a fault. The limit of 300
requests a minute is kept in proportion, 300 in 15 seconds, so that the whole takes a minute or
two: `RATE_WINDOW` is a setting. `python -m benchmarks.batch 60` keeps it as it is; with `ray`, it
runs on a local cluster of two workers, one of which is killed, instead of the command.
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

from tests.cups import Call, finished, lines, set_up
from tests.processes import workers
from tests.services import GEMINI_KEY, Raw, Services

TOPICS, LIMIT, FAULTS = 500, 300, 0.05
ENGINE = "ray" if "ray" in sys.argv else "local"
WINDOW = next((float(word) for word in sys.argv[1:] if word[:1].isdigit()), 15.0)  # seconds
CONCURRENCY = 32
LATENCY = 0.1  # seconds of every reply
KILL_AT = (150, 320) if ENGINE == "local" else ()  # rows at which the command is killed
WORKER_AT = 200  # rows at which a worker of the cluster is killed
Paid = tuple[set[Call], int]
BROKEN = (Raw(500, "oops"), Raw(503, "busy"), Raw(0, ""), Raw(200, "null"), Raw(200, '{"can'))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        services = Serving(Path(folder), TOPICS, LATENCY, FAULTS)
        try:
            print(json.dumps(measure(Path(folder), services)))
        finally:
            services.close()


class Serving:
    """Services in a process of their own, so that they and the batch do not share a lock."""

    def __init__(self, folder: Path, topics: int, latency: float, faults: float) -> None:
        here, there = Pipe()
        self._pipe = here
        given = (there, str(folder), topics, latency, faults)
        self._process = Process(target=serve, args=given)
        self._process.start()
        self.environment: dict[str, str] = here.recv()

    def log(self) -> list[tuple[float, str, str]]:
        """When each request arrived, its kind, and what was asked."""
        self._pipe.send("log")
        told: list[tuple[float, str, str]] = self._pipe.recv()
        return told

    def close(self) -> None:
        self._pipe.send("end")
        self._process.join()


def serve(pipe: Connection, folder: str, topics: int, latency: float, faults: float) -> None:
    with Noting() as services:
        chance = Random(7)
        set_up(services, topics)
        services.latency = lambda: latency
        services.fault = lambda: chance.choice(BROKEN) if chance.random() < faults else None
        limits = {"RATE_LIMITS": f"gemini={LIMIT}", "RATE_WINDOW": str(WINDOW), "CACHE_TTL": "0"}
        waits = {"LLM_RETRY_WAITS": "0.2,0.4,0.8"}
        pipe.send(services.environment(Path(folder), **limits, **waits))
        while pipe.recv() == "log":
            pipe.send(list(services.log))


class Noting(Services):
    """Services that note when each request arrives."""

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


def measure(folder: Path, services: Serving) -> dict[str, Any]:
    (folder / "topics.jsonl").write_text(lines(TOPICS))
    begun, memory, repeated = time.monotonic(), [], 0
    for kill_at in (*KILL_AT, TOPICS + 1):
        lost = [paid(folder, services)]  # when the life before was killed, or a worker of this
        status, summary, grown = lead(folder, services, kill_at, lost)
        memory.append(grown)
        repeated += again(lost[-1], services)
    return {
        **told(folder, status, summary),
        **rates(services.log()),
        "finished_calls_repeated": repeated,
        "rss_mb_by_life_at_three_tenths_six_nine": memory,
        "seconds": round(time.monotonic() - begun, 1),
    }


def paid(folder: Path, services: Serving) -> Paid:
    """The calls that journals hold, and how many requests services had got."""
    return finished((folder / "runs").glob("*.jsonl")), len(services.log())


def again(before: Paid, services: Serving) -> int:
    """How many of the calls that were paid have been made again since."""
    calls, then = before
    return len(calls & {(kind, asked) for _, kind, asked in services.log()[then:]})


def lead(
    folder: Path, services: Serving, kill_at: int, lost: list[Paid]
) -> tuple[int, dict[str, Any], list[int]]:
    """One life of the command: its status, its summary, and its memory at each third. `lost` gets
    what was paid when a worker of a cluster was killed."""
    out = folder / "out.jsonl"
    command = [sys.executable, "-m", "agent.batch", str(folder / "topics.jsonl"), "--out", str(out)]
    process = subprocess.Popen(
        [*command, "--concurrency", str(CONCURRENCY), "--engine", ENGINE],
        env={**os.environ, **services.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    had = rows(out)
    marks = [had + (min(kill_at, TOPICS) - had) * part // 10 for part in (3, 6, 9)]
    memory: list[int] = []
    whole = ENGINE == "ray"
    while process.poll() is None and rows(out) < kill_at:
        if len(memory) < 3 and rows(out) >= marks[len(memory)] - 1:
            memory.append(rss(process.pid))
        if whole and rows(out) >= WORKER_AT:
            whole = False
            os.kill(workers(process.pid)[0], signal.SIGKILL)
            lost.append(paid(folder, services))
        time.sleep(0.02)
    if process.poll() is None:
        process.kill()
    said, _ = process.communicate()
    return process.returncode, json.loads(said or b"{}"), memory


def rows(out: Path) -> int:
    return out.read_bytes().count(b"\n") if out.exists() else 0


def rss(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def told(folder: Path, status: int, summary: dict[str, Any]) -> dict[str, Any]:
    kept = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    reasons = [row for row in kept if row["status"] == "error" and row["error"]["message"]]
    return {
        "topics": TOPICS,
        "rows": len(kept),
        "ids": len({row["id"] for row in kept}),
        **dict(Counter(row["status"] for row in kept)),
        "failed_with_a_reason": len(reasons),
        "exit_status": status,
        "left": summary.get("left"),
    }


def rates(log: list[tuple[float, str, str]]) -> dict[str, Any]:
    """What the model's service saw: the most in any window, and how much of the limit was used."""
    times = sorted(at for at, kind, _ in log if kind == "ask")
    most = max(bisect_left(times, at + WINDOW) - i for i, at in enumerate(times))
    busy = [
        bisect_left(times, at + WINDOW) - i
        for i, at in enumerate(times)
        if at + WINDOW <= times[-1]
    ]
    mean = (len(times) - 1) / (times[-1] - times[0]) * WINDOW
    return {
        "model_requests": len(times),
        "limit_in_a_window": LIMIT,
        "window_seconds": WINDOW,
        "most_in_any_window": most,
        "median_of_the_limit_used": round(median(busy) / LIMIT, 3),
        "mean_of_the_limit_used_restarts_included": round(mean / LIMIT, 3),
    }


if __name__ == "__main__":
    main()
