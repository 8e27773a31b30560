"""Fuzzes one target in processes that may die, and says what came of it."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from evals.fuzz.current import read_progress
from evals.fuzz.engines import Engine
from evals.fuzz.worker import LEAK_STATUS

LOOK = 0.2  # seconds between two looks at a process
LEAK_SHARE = 0.15  # of a target's time, for reading its corpus over and over
IDLE_SECONDS = 120  # without an input: for a process to import all that it needs


class Limits(NamedTuple):
    """How long a target is fuzzed, and one input may take, in seconds."""

    seconds: float
    input_seconds: int = 10  # of processor time
    wall_seconds: float = 60  # for what waits without using the processor
    deaths: int = 3  # of its processes, after which a target's time is over


class Outcome(NamedTuple):
    """What came of fuzzing a target."""

    name: str
    executions: int
    slowest: float  # seconds of processor time of one input
    finds: tuple[Path, ...]
    problem: str = ""  # the target could not be run at all

    def __str__(self) -> str:
        rate = f"{self.executions:>9,} runs, slowest {self.slowest:6.2f} s"
        finds = f"{len(self.finds)} found" if self.finds else "nothing found"
        files = "".join(f"\n    {describe_find(file)}" for file in self.finds)
        return f"{self.name:<18}{rate}, {self.problem or finds}{files}"


def describe_find(file: Path) -> str:
    """A find in one line: what happened, and the file that does it."""
    text = file.with_suffix(".txt").read_text("utf-8", "replace")
    return f"{text.splitlines()[0]}: {file}"


class TargetRun:
    """One target, fuzzed for its share of the time. `folder` holds corpora and finds."""

    def __init__(self, name: str, place: str, engine: Engine, folder: Path, limits: Limits) -> None:
        self._name, self._place, self._engine, self._limits = name, place, engine, limits
        self._corpus = folder / "corpus" / name
        self._finds = folder / "finds"
        for made in (self._corpus, self._finds):
            made.mkdir(parents=True, exist_ok=True)
        self._executions, self._slowest, self._problem = 0, 0.0, ""

    def __call__(self) -> Outcome:
        """Fuzz until the time is over or the target has died too often, then look for a leak."""
        for file in self._find_files():
            file.unlink()
            file.with_suffix(".txt").unlink(missing_ok=True)
        ends = time.monotonic() + self._limits.seconds * (1 - LEAK_SHARE)
        for _ in range(self._limits.deaths):
            if (left := ends - time.monotonic()) < 1 or self._run("fuzz", left):
                break
        if not self._problem:
            self._run("leak", self._limits.seconds * LEAK_SHARE)
        finds = tuple(self._find_files())
        return Outcome(self._name, self._executions, self._slowest, finds, self._problem)

    def _find_files(self) -> list[Path]:
        files = self._finds.glob(f"{self._name}-????????????")
        return sorted(files)

    def _run(self, mode: str, seconds: float) -> bool:
        """Run one process; returns whether it came to its end."""
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            current = Path(folder) / "current"
            with (Path(folder) / "output").open("w+b") as output:
                process = self._start(mode, seconds, current, output.fileno())
                hung = self._wait(process, current)
                output.seek(0)
                return self._judge(process.returncode, hung, current, output.read())

    def _start(
        self, mode: str, seconds: float, current: Path, output: int
    ) -> subprocess.Popen[bytes]:
        until = time.time() + seconds
        work = (mode, self._name, self._place, self._engine, until, self._limits.input_seconds)
        paths = (self._corpus, self._finds, current)
        command = [sys.executable, "-m", "evals.fuzz.worker", *map(str, (*work, *paths))]
        environment = {**os.environ, "TMPDIR": str(current.parent)}  # removed with the folder
        return subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=environment
        )

    def _wait(self, process: subprocess.Popen[bytes], current: Path) -> bool:
        """Wait for a process; kill it, and return True, if one input takes too long."""
        last, since = read_progress(current, with_input=False), time.monotonic()
        while process.poll() is None:
            time.sleep(LOOK)
            if (now := read_progress(current, with_input=False)) != last:
                last, since = now, time.monotonic()
            allowed = self._limits.wall_seconds if now.is_reading else IDLE_SECONDS
            if time.monotonic() - since > allowed:
                process.kill()
                process.wait()
                return True
        return False

    def _judge(self, status: int, hung: bool, current: Path, output: bytes) -> bool:
        """Add up what a process did, keep the input that it died of; returns whether it ended."""
        progress = read_progress(current)
        self._executions += progress.executions
        self._slowest = max(self._slowest, progress.slowest)
        if status == LEAK_STATUS:
            self._keep(b"", "memory grows with the same inputs over and over", output)
        elif not progress.is_reading:  # it came to its end, or failed by itself
            tail = output.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no word"]
            self._problem = "" if status == 0 else f"COULD NOT BE RUN: {tail[0][:300]}"
            return True
        elif hung or status == -signal.SIGXCPU:
            limit = self._limits.wall_seconds if hung else self._limits.input_seconds
            self._keep(progress.data, f"hang of more than {limit:g} s", output)
        else:
            self._keep(progress.data, f"the process died with status {status}", output)
        return False

    def _keep(self, data: bytes, kind: str, output: bytes) -> None:
        digest = hashlib.sha256(kind.encode() + data).hexdigest()[:12]
        file = self._finds / f"{self._name}-{digest}"
        file.write_bytes(data)
        text = f"{kind}\n\n{output[-4000:].decode('utf-8', 'replace')}"
        file.with_suffix(".txt").write_text(text, "utf-8")
