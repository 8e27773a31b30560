"""The process that is fuzzed, which may die: `python -m evals.fuzz.worker {fuzz|leak} NAME ...`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

from agent.documents.worker import peak_kilobytes
from evals.fuzz.engines import Engine, load_instrumented, read_corpus, run_atheris, run_mutations
from evals.fuzz.execution import Executor, limit_memory
from evals.fuzz.target import load_target

LEAK_STATUS = 76  # of a process whose memory grew with the same inputs over and over
#: Kilobytes by which memory may grow in the second half of the rounds, and in its last quarter.
#: Caches fill in the first rounds; freed memory that is not given back does not add up.
MOST_GROWTH, MOST_LATE_GROWTH = 16_000, 4_000


class Work(NamedTuple):
    """What a worker is told, in the order of its arguments."""

    mode: str  # fuzz or leak
    name: str
    place: str  # of the target: `evals.fuzz.pages:html`
    engine: Engine
    until: float  # the time of the clock at which it ends; a second is left for it at least
    input_seconds: int  # of processor time, for one input
    corpus: Path
    finds: Path
    current: Path


def main(work: Work) -> int:
    """Fuzz a target, or read its corpus over and over. Returns the exit status, or does not."""
    is_instrumented = work.mode == "fuzz" and work.engine == "atheris"
    target = load_instrumented(work.place) if is_instrumented else load_target(work.place)
    execute = Executor(work.name, target, work.finds, work.current, work.input_seconds)
    limit_memory()
    inputs = read_corpus(target, work.corpus)
    seconds = max(1.0, work.until - time.time())
    if work.mode == "leak":
        return LEAK_STATUS if _has_leak(execute, inputs, seconds) else 0
    for data in inputs:
        execute(data)
    run = run_atheris if work.engine == "atheris" else run_mutations
    run(execute, target, work.corpus, max(1.0, work.until - time.time()))
    return 0


def _has_leak(execute: Executor, inputs: list[bytes], seconds: float) -> bool:
    """Whether memory grows for as long as the same inputs are read."""
    for data in inputs:
        execute(data)
    peaks: list[int] = []
    for quarter in range(4):
        ends = time.monotonic() + seconds / 4
        while time.monotonic() < ends:
            for data in inputs:
                execute(data)
                if time.monotonic() > ends and quarter:
                    break
        peaks.append(peak_kilobytes())
    return peaks[3] - peaks[1] > MOST_GROWTH and peaks[3] - peaks[2] > MOST_LATE_GROWTH


def parse_work(arguments: list[str]) -> Work:
    """What the arguments of the command say."""
    mode, name, place, engine, until, input_seconds, *paths = arguments
    corpus, finds, current = map(Path, paths)
    is_atheris: Engine = "atheris" if engine == "atheris" else "mutations"
    return Work(
        mode, name, place, is_atheris, float(until), int(input_seconds), corpus, finds, current
    )


if __name__ == "__main__":
    sys.exit(main(parse_work(sys.argv[1:])))
