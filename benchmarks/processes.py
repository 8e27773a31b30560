"""A process, measured from outside: how long it took, and the most memory that it held."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Measured(NamedTuple):
    """A process that ended well. `megabytes` is its peak resident set, in 10^6 bytes."""

    seconds: float
    megabytes: float
    output: str


def python(*arguments: str, **environment: str) -> Measured:
    """Run this Python in the checkout. Raises if it fails."""
    command = [sys.executable, *arguments]
    with tempfile.TemporaryFile() as out:
        begun = time.monotonic()
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=out, stderr=out
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        output = out.read().decode()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}\n{output[-2000:]}")
    return Measured(seconds, usage.ru_maxrss * 1024 / 1e6, output)


def ratio(pairs: list[tuple[Measured, Measured]]) -> float:
    """How many times as long as the second the first takes. Pairs run next to each other, so
    that other work on the machine slows both alike."""
    return round(median(first.seconds / second.seconds for first, second in pairs), 2)


def milliseconds(runs: list[Measured]) -> int:
    return round(median(run.seconds for run in runs) * 1000)
