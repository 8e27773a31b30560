"""An offline answer from the demo corpus, as a whole process, compared with `python -c pass`.

The first process, which builds the index, is measured apart from later ones.
`python -m benchmarks.offline`
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.processes import ProcessResult, median_ms, median_ratio, run_python

PAIRS = 10
QUESTION = "Who won the 2022 FIFA World Cup?"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = [_ask(Path(folder) / f"first-{n}") for n in range(PAIRS)]
        pairs = [(_ask(Path(folder) / "first-0"), run_python("-c", "pass")) for _ in range(PAIRS)]
    later = [ours for ours, _ in pairs]
    row = {
        "first_ms": median_ms(first),
        "later_ms": median_ms(later),
        "goal_ms": 1000,
        "bare_python_ms": median_ms([bare for _, bare in pairs]),
        "ratio_to_bare_python": median_ratio(pairs),
        "peak_mb": round(max(run.megabytes for run in first + later)),
        "goal_mb": 150,
    }
    print(json.dumps(row))


def _ask(folder: Path) -> ProcessResult:
    kept = {"RUNS_DIR": str(folder / "runs"), "CACHE_DIR": str(folder / "cache")}
    done = run_python("-m", "agent.cli", "--offline", QUESTION, **kept)
    assert json.loads(done.output)["status"] == "complete", done.output
    return done


if __name__ == "__main__":
    main()
