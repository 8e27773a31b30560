"""Every evaluation can be loaded, and one that needs no data measures what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    """What Python prints in the repository."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_every_evaluation_names_what_it_measures() -> None:
    code = (
        "from evals.harness import NAMES, load_evaluation as load; "
        "print(*(load(name).tables[0].cells and load(name).title for name in NAMES), sep='\\n')"
    )
    titles = run("-c", code).splitlines()
    assert len(titles) == len(set(titles)) > 10 and all(titles)


@pytest.mark.slow
def test_no_promise_is_broken_by_a_false_sentence(tmp_path: Path) -> None:
    """Of the demo's own sentences, without other data."""
    rows = run("-m", "evals.swaps", "--data", str(tmp_path), "--sample", "40").splitlines()
    last = next(row for row in rows if row.startswith("| all |"))
    assert last.endswith("| 0 |"), last


@pytest.mark.parametrize(("folder", "other"), [("tests", "evals"), ("evals", "tests")])
def test_tests_and_evaluations_import_nothing_of_each_other(folder: str, other: str) -> None:
    imports = re.compile(rf"^\s*(?:from|import) {other}\b", re.M)
    files = (ROOT / folder).rglob("*.py")
    assert not [file for file in files if imports.search(file.read_text("utf-8"))]
