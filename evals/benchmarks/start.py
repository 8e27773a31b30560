"""How long commands take as whole processes: `--help` and an offline answer.

`--help` is compared with a bare `import click`, an answer with `python -c pass`. The first answer
of a cache, which builds the index, is measured apart from later ones.
`python -m evals.benchmarks.start`
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from evals.benchmarks.processes import ProcessResult, median_ms, median_ratio, run_python

PAIRS = 20
QUESTION = "Who won the 2022 FIFA World Cup?"


def main() -> None:
    run_python("-m", "agent.cli", "--help")  # it warms the disk's cache
    helps = [
        (run_python("-m", "agent.cli", "--help"), run_python("-c", "import click"))
        for _ in range(PAIRS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        first = [_ask(Path(folder) / f"first-{n}") for n in range(PAIRS // 2)]
        pairs = [(_ask(Path(folder) / "first-0"), run_python("-c", "pass")) for _ in first]
    later = [ours for ours, _ in pairs]
    row = {
        "help_ms": median_ms([ours for ours, _ in helps]),
        "import_click_ms": median_ms([bare for _, bare in helps]),
        "help_ratio": median_ratio(helps),
        "help_goal_ratio": 1.3,
        "first_answer_ms": median_ms(first),
        "later_answer_ms": median_ms(later),
        "answer_goal_ms": 1000,
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
