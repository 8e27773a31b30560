"""Processes measured from outside: their time and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class ProcessResult(NamedTuple):
    """A process that exited with 0. `megabytes` is its peak resident set, in 10^6 bytes."""

    seconds: float
    megabytes: float
    output: str


def run_python(*arguments: str, **environment: str) -> ProcessResult:
    """Run this Python interpreter in the checkout. Raises SystemExit if it fails."""
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
    return ProcessResult(seconds, usage.ru_maxrss * 1024 / 1e6, output)


def median_ratio(pairs: list[tuple[ProcessResult, ProcessResult]]) -> float:
    """The median ratio of the first time to the second. The two of a pair run one after the other,
    so that other work on the machine slows both equally."""
    return round(median(first.seconds / second.seconds for first, second in pairs), 2)


def median_ms(runs: list[ProcessResult]) -> int:
    return round(median(run.seconds for run in runs) * 1000)


def resident_mb(pid: int) -> int:
    """The resident memory of a process; 0 where it has ended."""
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
        return int(status.split("VmRSS:")[1].split()[0]) // 1024
    return 0
