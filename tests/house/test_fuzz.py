"""Every target reads its seeds; `make fuzz` finds a parser's fault of each kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.engines import Engine, find_engine
from fuzz.target import TARGETS
from fuzz.watch import Limits, Outcome, TargetRun

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted({place.split(":")[0] for place in TARGETS.values()}))
def test_each_target_reads_its_seeds(module: str) -> None:
    """Among them are inputs that were found; in a process: libraries leave sockets open."""
    names = [name for name, place in TARGETS.items() if place.startswith(f"{module}:")]
    command = [sys.executable, "-m", "fuzz.again", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stderr[-2000:]
    assert {line.partition(":")[0] for line in done.stdout.splitlines()} >= set(names)


def fuzz(fault: str, engine: Engine, folder: Path) -> Outcome:
    """Fuzz a parser of `fuzz_faults.py`; a watch on the clock ends the one that waits."""
    place = f"tests.support.fuzz_faults:{fault}"
    limits = Limits(1.5, input_seconds=1, wall_seconds=1 if fault == "waits" else 60, deaths=1)
    return TargetRun(fault, place, engine, folder, limits)()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("raises", "KeyError "),
        ("loops", "hang of more than 1 s"),
        ("waits", "hang of more than 1 s"),
        ("dies", "the process died with status -11"),
        ("leaks", "memory grows"),
    ],
)
def test_a_fault_is_found_and_its_input_is_kept(fault: str, kind: str, tmp_path: Path) -> None:
    if fault == "loops" and sys.platform != "linux":
        pytest.skip("the limit of processor time ends a process at once on Linux alone")
    outcome = fuzz(fault, find_engine(), tmp_path)
    assert outcome.finds and kind in str(outcome)
    inputs = [file.read_bytes() for file in outcome.finds]
    assert fault == "leaks" or all(len(data) > 7 for data in inputs)


@pytest.mark.slow
def test_a_refusal_is_no_find_where_there_is_no_atheris(tmp_path: Path) -> None:
    outcome = fuzz("refuses", "mutations", tmp_path)
    assert outcome.executions > 10
    assert not outcome.finds and not outcome.problem


def test_a_target_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    outcome = fuzz("is_not_there", "mutations", tmp_path)
    assert "COULD NOT BE RUN" in str(outcome)
