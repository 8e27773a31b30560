"""`make fuzz`: reads hostile input of every format for five minutes; fails on whatever it finds.

A find is an exception that a parser must not raise, a process that dies, an input that takes more
than ten seconds of processor time, and memory that grows without end.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evals.fuzz.engines import find_engine
from evals.fuzz.target import TARGETS
from evals.fuzz.watch import Limits, Outcome, TargetRun

FOLDER = Path(".fuzz")
LEAST_SECONDS = 4.0  # for a target; it takes two to import what most of them need


def main() -> int:
    """Fuzz the targets, as many at once as there are cores. Returns 1 if anything was found."""
    options = _parse_options()
    names = options.target or list(TARGETS)
    jobs = min(len(names), options.jobs)
    limits = Limits(max(LEAST_SECONDS, options.seconds * jobs / len(names)))
    print(f"{len(names)} targets, {limits.seconds:.0f} s each, {options.engine}, {jobs} at once")
    started = time.monotonic()

    def run(name: str) -> Outcome:
        outcome = TargetRun(name, TARGETS[name], options.engine, FOLDER, limits)()
        print(outcome, flush=True)
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        return _summarize(list(pool.map(run, names)), time.monotonic() - started)


def _summarize(outcomes: Sequence[Outcome], seconds: float) -> int:
    finds = sum(len(outcome.finds) for outcome in outcomes)
    problems = sum(bool(outcome.problem) for outcome in outcomes)
    runs = sum(outcome.executions for outcome in outcomes)
    broken = f", {problems} targets could not be run" if problems else ""
    print(f"{runs:,} runs in {seconds:.0f} s: {finds} found{broken}")
    if finds:
        print("Each file is an input; the .txt beside it says what it does. To read it again:")
        print("  python -m evals.fuzz.again FILE")
    return 1 if finds or problems else 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals.fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=float, default=300, help="for all targets together")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--engine", choices=("atheris", "mutations"), default=find_engine())
    options = parser.parse_args()
    if unknown := set(options.target) - set(TARGETS):
        parser.error(f"no target {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
