"""A subset for each change: is the product worse than it was, by more than chance?

`python -m evals.subset [--data DIR]`: 120 questions of hotpotqa, nq and xquad, with all 23,445
passages as the web, through `agent.evaluate`'s own rooms, without a model. Each question is
compared with what came of it when `evals/subset.json` was recorded; a measure fails where the whole
95% interval of the paired difference lies below zero. `--record` records anew: do so only when a
change is known to be better, or when a loss is meant, and say which in the commit.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.evaluate.arms import arms
from agent.evaluate.contamination import Contamination
from agent.evaluate.evaluation import Evaluation, Plan
from agent.evaluate.figures import Row
from agent.evaluate.measures import difference
from agent.evaluate.questions import Question
from evals.extractive import ROOT, questions

RECORD = ROOT / "evals/subset.json"
SIZE = 120
#: Question -> measure -> value, from 0 to 1.
Outcomes = Mapping[str, Mapping[str, float]]


def chosen(data: Path) -> list[Question]:
    """The questions, drawn once and for all."""
    rows = random.Random(7).sample(questions(data), SIZE)
    return [
        Question(prompt=r["question"], answers=tuple(r["answers"]), gold=tuple(r["gold"]))
        for r in rows
    ]


def measure(data: Path, asked: Sequence[Question], work: Path, **given: Any) -> Outcomes:
    """What comes of each question; `given` are settings over the usual ones."""
    corpus = data.resolve() / "multihop/corpus.jsonl.gz"
    here = {"offline": True, "corpus": corpus, "cache_dir": work, "runs_dir": work / "runs"}
    made = arms(["slots"], [], [], {**here, **given}, baselines=False)
    watch = Contamination(Path("questions.dev.jsonl"), asked, own=True)
    evaluation = Evaluation(Plan(asked, made, work / "kept", watch, concurrency=2))
    return {row.question.key: _measures(row) for rows in evaluation for row in rows}


def _measures(row: Row) -> Mapping[str, float]:
    golds = len(row.question.gold)
    return {
        "right": row.right,
        "gold_read": round(len(row.trial.read) / golds, 3),
        "gold_cited": round(len(row.trial.cited) / golds, 3),
        "not_failed": float(not row.trial.failed),
    }


def regressions(before: Outcomes, now: Outcomes) -> list[str]:
    """The measures that are worse by more than chance, each with its figures."""
    told = []
    for name in next(iter(before.values())):
        apart = difference([now[key][name] for key in before], [r[name] for r in before.values()])
        low, high = apart.interval or (apart.value or 0.0,) * 2  # all alike: no chance in it
        if high < 0:
            told.append(f"{name}: {apart.value:+.3f} ({low:+.3f} to {high:+.3f})")
    return told


def recorded() -> Outcomes:
    """What came of each question when it was last recorded."""
    found: Outcomes = json.loads(RECORD.read_text("utf-8"))
    return found


def main() -> None:
    """Measure; exit 1 where something is worse."""
    parser = argparse.ArgumentParser(prog="python -m evals.subset")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--record", action="store_true", help="from now on, compare with this")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        now = measure(given.data, chosen(given.data), Path(work))
    if given.record:
        lines = (f"{json.dumps(key)}: {json.dumps(now[key])}" for key in sorted(now))
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    worse = regressions(recorded(), now)
    print("\n".join(worse) or f"Nothing is worse, by {len(now)} questions.")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
