"""The overhead of each batch engine per topic, compared with a plain loop of the same runs.

`python -m benchmarks.engines` prints one JSON object. Services on loopback answer at once, in a
process of their own, and one topic is in flight at a time, so that waiting hides no overhead.
The time per topic is measured from the first finished topic to the last; the start of the process
is reported separately. The engines run in turns, so that other work on the machine slows all of
them equally; figures are medians. Ray is left out if it is not installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from agent.outside.rate_limits import FileCounterStore
from agent.outside.rate_window import RateLimit
from agent.run import research
from agent.run.resources import share_resources
from agent.settings import load_settings
from benchmarks.batch import ServiceProcess, count_rows
from tests.support.cups import cup_topic, topic_lines

TOPICS, ROUNDS, RESERVATIONS = 60, 5, 2000
Side = dict[str, float]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        services = ServiceProcess(Path(folder), TOPICS, latency=0.0, faults=0.0)
        try:
            print(json.dumps(measure(Path(folder), services.environment)))
        finally:
            services.close()


def measure(folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    (folder / "topics.jsonl").write_text(topic_lines(TOPICS))
    batch = ["-m", "agent.batch", "topics.jsonl", "--concurrency", "1"]
    commands = {"plain_loop": ["-m", "benchmarks.engines", "plain"], "local": batch}
    if importlib.util.find_spec("ray"):
        commands["ray"] = [*batch, "--engine", "ray"]
    rounds = [
        {
            name: run_side(folder, f"{name}-{n}", command, environment)
            for name, command in commands.items()
        }
        for n in range(ROUNDS)
    ]
    return {
        "topics": TOPICS,
        "rounds": ROUNDS,
        **{
            f"{name}_ratio_to_plain_loop": ratio_to_plain_loop(rounds, name)
            for name in list(commands)[1:]
        },
        "ms_a_take": measure_reservation(folder),
        "sides": {name: medians([sides[name] for sides in rounds]) for name in commands},
    }


def ratio_to_plain_loop(rounds: list[dict[str, Side]], name: str) -> float:
    pairs = [(sides[name]["ms_a_topic"], sides["plain_loop"]["ms_a_topic"]) for sides in rounds]
    return round(median(ours / plain for ours, plain in pairs), 2)


def medians(sides: list[Side]) -> Side:
    return {name: median(side[name] for side in sides) for name in sides[0]}


def run_side(folder: Path, name: str, command: list[str], environment: dict[str, str]) -> Side:
    """Research all topics in one process; processor time does not include that of Ray's workers."""
    out = folder / f"{name}.jsonl"
    variables = {
        **environment,
        "RUNS_DIR": str(folder / f"runs-{name}"),
        "PYTHONPATH": str(Path.cwd()),
        "RATE_LIMITS": "",  # the rate limiter is measured separately
    }
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *command, "--out", str(out)],
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    first, last = wait_for_rows(process.pid, out, 1), wait_for_rows(process.pid, out, TOPICS)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "ms_a_topic": round(1000 * (last - first) / (TOPICS - 1), 1),
        "seconds_to_the_first": round(first - started, 1),
        "processor_ms_a_topic": round(1000 * (usage.ru_utime + usage.ru_stime) / TOPICS, 1),
        "peak_mb": round(usage.ru_maxrss * 1024 / 1e6),
    }


def wait_for_rows(pid: int, out: Path, count: int) -> float:
    """Wait until the file has this many rows; return the time. Raises if the process ends early."""
    while count_rows(out) < count:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended and count_rows(out) < count:
            raise SystemExit(f"{out.name}: it ended early.")
        time.sleep(0.005)
    return time.monotonic()


def measure_reservation(folder: Path) -> float:
    """Milliseconds to count one request, where no request has to wait."""
    store = FileCounterStore(folder / "limits", {"gemini": RateLimit(10**9)})
    started = time.monotonic()
    for _ in range(RESERVATIONS):
        store.reserve("gemini", 0)
    return round(1000 * (time.monotonic() - started) / RESERVATIONS, 3)


def run_plain_loop(out: Path) -> None:
    """Run all topics one after another, and write one line for each that has ended."""
    settings = load_settings()
    common = share_resources(settings)
    with out.open("a") as file:
        for n in range(1, TOPICS + 1):
            answer = research(cup_topic(n), settings, resources=common).answer()
            file.write(f"{answer.status}\n")
            file.flush()


if __name__ == "__main__":
    if "plain" in sys.argv:
        run_plain_loop(Path(sys.argv[-1]))
    else:
        main()
