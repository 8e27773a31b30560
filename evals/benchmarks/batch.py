"""A batch of five hundred topics with a rate limit and faulty services, killed twice.

`python -m evals.benchmarks.batch` prints one JSON object. The services run on loopback in a
process of their own and log when each request arrives; one reply in twenty is a fault. The rate
limit is 300 model requests in a window of 15 seconds, instead of a minute, so that the benchmark
takes a minute or two. `python -m evals.benchmarks.batch 60` sets the window to a minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from evals.benchmarks.processes import resident_mb
from evals.benchmarks.services import Load, ServiceProcess, cup_topic, run_services

TOPICS, LIMIT, FAULTS = 500, 300, 0.05
WINDOW = float(sys.argv[1]) if sys.argv[1:] else 15.0  # seconds
CONCURRENCY = 32
LATENCY = 0.1  # seconds of every reply
KILL_AT = (150, 320)  # rows at which the command is killed
Call = tuple[str, str]  # its kind, and what is asked
Checkpoint = tuple[set[Call], int]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with run_services(folder, Load(LATENCY, LATENCY, FAULTS)) as services:
            limits = {
                "RESEARCH_AGENT_RATE_LIMITS": f"openai={LIMIT}",
                "RESEARCH_AGENT_RATE_WINDOW": str(WINDOW),
            }
            services.environment |= {**limits, "LLM_RETRY_WAITS": "0.2,0.4,0.8"}
            print(json.dumps(measure(folder, services)))


def measure(folder: Path, services: ServiceProcess) -> dict[str, Any]:
    rows = ({"id": f"c{n}", "topic": cup_topic(n)} for n in range(1, TOPICS + 1))
    (folder / "topics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    begun, memory, repeated = time.monotonic(), [], 0
    for kill_at in (*KILL_AT, TOPICS + 1):
        checkpoint = take_checkpoint(folder, services)  # at the kill before
        status, summary, samples = run_command(folder, services, kill_at)
        memory.append(samples)
        repeated += count_repeated_calls(checkpoint, services)
    return {
        **summarize_rows(folder, status, summary),
        **summarize_requests(services.read_log()),
        "finished_calls_repeated": repeated,
        "rss_mb_by_life_at_three_tenths_six_nine": memory,
        "seconds": round(time.monotonic() - begun, 1),
    }


def take_checkpoint(folder: Path, services: ServiceProcess) -> Checkpoint:
    """The calls that journals hold, and how many requests the services have got."""
    return finished_calls(folder / "runs"), len(services.read_log())


def count_repeated_calls(before: Checkpoint, services: ServiceProcess) -> int:
    """How many of the calls that were finished at a checkpoint have been repeated since."""
    calls, request_count = before
    requests = services.read_log()[request_count:]
    return len(calls & {(kind, subject) for _, kind, subject in requests})


def finished_calls(folder: Path) -> set[Call]:
    """The calls that journals hold in complete lines."""
    found = set()
    for path in folder.glob("*.jsonl"):
        for raw in path.read_bytes().splitlines(keepends=True)[1:]:
            if raw.endswith(b"\n") and "call" in (line := json.loads(raw)):
                request = line["request"]
                asked = request.get("prompt") or request.get("query") or request.get("url")
                found.add((line["call"], asked))
    return found


def run_command(
    folder: Path, services: ServiceProcess, kill_at: int
) -> tuple[int, dict[str, Any], list[int]]:
    """Run the command until it ends or is killed at a number of rows.

    Returns its exit status, its summary, and its resident memory in MB at 3, 6 and 9 tenths of the
    rows.
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
        [*command, "--concurrency", str(CONCURRENCY)],
        env={**os.environ, **services.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    rows_before = count_rows(out)
    new_rows = min(kill_at, TOPICS) - rows_before
    marks = [rows_before + new_rows * tenths // 10 for tenths in (3, 6, 9)]
    memory: list[int] = []
    while process.poll() is None and count_rows(out) < kill_at:
        if len(memory) < 3 and count_rows(out) >= marks[len(memory)] - 1:
            memory.append(resident_mb(process.pid))
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
