"""The overhead of a whole run against loopback services of known latency.

Model calls take 1 s, searches and pages 0.5 s. A one-hop question needs one search, one read and
its model calls, one after another: queries, one reading, and the judge if anything is left open
to it. `python -m evals.benchmarks.overhead`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median

from evals.benchmarks.processes import run_python
from evals.benchmarks.services import Load, cup_topic, run_services

MODEL, OTHER = 1.0, 0.5
RUNS = 5


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with run_services(folder, Load(MODEL, OTHER)) as services:
            seconds = [_run(n, services.environment) for n in range(1, RUNS + 1)]
            calls = sum(kind == "ask" for _, kind, _ in services.read_log()) // RUNS
    floor = calls * MODEL + 2 * OTHER
    row = {
        "model_calls": calls,
        "unavoidable_seconds": floor,
        "seconds": [round(s, 3) for s in seconds],
        "goal_ratio": 1.05,
        "best_ratio": round(min(seconds) / floor, 3),
        "median_ratio": round(median(seconds) / floor, 3),
    }
    print(json.dumps(row))


def _run(n: int, environment: dict[str, str]) -> float:
    done = run_python("-m", "agent.cli", "--topic", cup_topic(n), **environment)
    answer = json.loads(done.output[done.output.index("{") :])
    assert answer["status"] == "complete" and answer["usage"]["rounds"] == 1, answer
    return done.seconds


if __name__ == "__main__":
    main()
