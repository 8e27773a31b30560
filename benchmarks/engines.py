"""What a batch adds to each topic, by engine, beside a plain loop that makes the same runs.

`python -m benchmarks.engines` prints one JSON object. Services on loopback answer at once, in a
process of their own, and one topic is under way at a time, so that what is added is not hidden
behind waiting. A topic's milliseconds are those between the first and the last that ended, for each
of them: what starting takes is told apart. The ways take turns, so that other work on the machine
falls on all alike; medians. Ray is left out where it is not installed.
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

from agent.outside.limits import Files, Rate
from agent.run import research
from agent.run.calls import shared
from agent.settings import here
from benchmarks.batch import Serving, rows
from tests.cups import lines, topic

TOPICS, ROUNDS, TURNS = 60, 5, 2000
Side = dict[str, float]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        services = Serving(Path(folder), TOPICS, latency=0.0, faults=0.0)
        try:
            print(json.dumps(measure(Path(folder), services.environment)))
        finally:
            services.close()


def measure(folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    (folder / "topics.jsonl").write_text(lines(TOPICS))
    batch = ["-m", "agent.batch", "topics.jsonl", "--concurrency", "1"]
    ways = {"plain_loop": ["-m", "benchmarks.engines", "plain"], "local": batch}
    if importlib.util.find_spec("ray"):
        ways["ray"] = [*batch, "--engine", "ray"]
    rounds = [
        {name: run(folder, f"{name}-{n}", way, environment) for name, way in ways.items()}
        for n in range(ROUNDS)
    ]
    return {
        "topics": TOPICS,
        "rounds": ROUNDS,
        **{f"{name}_ratio_to_plain_loop": ratio(rounds, name) for name in list(ways)[1:]},
        "ms_a_take": ms_a_take(folder),
        "sides": {name: medians([each[name] for each in rounds]) for name in ways},
    }


def ratio(rounds: list[dict[str, Side]], name: str) -> float:
    pairs = [(each[name]["ms_a_topic"], each["plain_loop"]["ms_a_topic"]) for each in rounds]
    return round(median(ours / plain for ours, plain in pairs), 2)


def medians(sides: list[Side]) -> Side:
    return {name: median(side[name] for side in sides) for name in sides[0]}


def run(folder: Path, name: str, way: list[str], environment: dict[str, str]) -> Side:
    """One way to do all topics, as a process; processor time is that of this process alone."""
    out = folder / f"{name}.jsonl"
    own = {**environment, "RUNS_DIR": str(folder / f"runs-{name}"), "PYTHONPATH": str(Path.cwd())}
    own["RATE_LIMITS"] = ""  # what counting takes is told apart
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *way, "--out", str(out)],
        cwd=folder,
        env={**os.environ, **own},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    first, last = when(process.pid, out, 1), when(process.pid, out, TOPICS)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "ms_a_topic": round(1000 * (last - first) / (TOPICS - 1), 1),
        "seconds_to_the_first": round(first - begun, 1),
        "processor_ms_a_topic": round(1000 * (usage.ru_utime + usage.ru_stime) / TOPICS, 1),
        "peak_mb": round(usage.ru_maxrss * 1024 / 1e6),
    }


def when(pid: int, out: Path, count: int) -> float:
    """When there are so many rows. Raises where the process ends with fewer."""
    while rows(out) < count:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended and rows(out) < count:
            raise SystemExit(f"{out.name}: it ended early.")
        time.sleep(0.005)
    return time.monotonic()


def ms_a_take(folder: Path) -> float:
    """What counting a request takes, where nobody has to wait."""
    store = Files(folder / "limits", {"gemini": Rate(10**9)})
    begun = time.monotonic()
    for _ in range(TURNS):
        store.take("gemini", 0)
    return round(1000 * (time.monotonic() - begun) / TURNS, 3)


def plain(out: Path) -> None:
    """The runs of all topics, one after another, and nothing else: a line for each that ended."""
    settings = here()
    common = shared(settings)
    with out.open("a") as file:
        for n in range(1, TOPICS + 1):
            answer = research(topic(n), settings, shared=common).answer()
            file.write(f"{answer.status}\n")
            file.flush()


if __name__ == "__main__":
    if "plain" in sys.argv:
        plain(Path(sys.argv[-1]))
    else:
        main()
