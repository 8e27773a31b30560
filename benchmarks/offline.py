"""An offline answer from the demo corpus, as a whole process: the first one, which builds the
index, and later ones, against `python -c pass`. `python -m benchmarks.offline`
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.processes import Measured, milliseconds, python, ratio

PAIRS = 10
QUESTION = "Who won the 2022 FIFA World Cup?"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = [_ask(Path(folder) / f"first-{n}") for n in range(PAIRS)]
        pairs = [(_ask(Path(folder) / "first-0"), python("-c", "pass")) for _ in range(PAIRS)]
    later = [ours for ours, _ in pairs]
    row = {
        "first_ms": milliseconds(first),
        "later_ms": milliseconds(later),
        "goal_ms": 1000,
        "bare_python_ms": milliseconds([bare for _, bare in pairs]),
        "ratio_to_bare_python": ratio(pairs),
        "peak_mb": round(max(run.megabytes for run in first + later)),
        "goal_mb": 150,
    }
    print(json.dumps(row))


def _ask(folder: Path) -> Measured:
    kept = {"RUNS_DIR": str(folder / "runs"), "CACHE_DIR": str(folder / "cache")}
    done = python("-m", "agent.cli", "--offline", QUESTION, **kept)
    assert json.loads(done.output)["status"] == "complete", done.output
    return done


if __name__ == "__main__":
    main()
