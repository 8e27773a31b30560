"""Every fuzzed parser reads its seeds, among them inputs that were found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_each_target_reads_its_seeds() -> None:
    """In a process: libraries leave sockets open."""
    command = [sys.executable, "-m", "evals.fuzz.again"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stderr[-2000:]
    names = {line.partition(":")[0] for line in done.stdout.splitlines()}
    assert {"html", "pdf", "journal", "replies", "schema"} <= names
