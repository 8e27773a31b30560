"""A regression check for each change: is a metric worse than recorded, by more than chance?

`python -m evals.subset [--data DIR]`: 120 questions of hotpotqa, nq and xquad, with all 23,445
passages as the web, through `agent.evaluate`, without a model. Each question is compared with its
values in `evals/subset.json`. A metric has regressed if the whole 95% confidence interval of the
paired difference lies below zero. `--record` writes new values: do so only when a change is known
to be better, or when a loss is intended, and say which in the commit.
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

from agent.evaluate.arms import build_arms
from agent.evaluate.contamination import ContaminationDetector
from agent.evaluate.evaluation import Evaluation, EvaluationPlan
from agent.evaluate.metrics import estimate_difference
from agent.evaluate.questions import EvaluationQuestion
from agent.evaluate.summary import TrialRow
from evals.extractive import ROOT
from evals.extractive import questions as load_questions

RECORD = ROOT / "evals/subset.json"
SIZE = 120
#: Question -> metric -> value, from 0 to 1.
Outcomes = Mapping[str, Mapping[str, float]]


def sample_questions(data: Path) -> list[EvaluationQuestion]:
    """Return the sample of questions, which never changes."""
    rows = random.Random(7).sample(load_questions(data), SIZE)
    return [
        EvaluationQuestion(prompt=r["question"], answers=tuple(r["answers"]), gold=tuple(r["gold"]))
        for r in rows
    ]


def measure(
    data: Path, questions: Sequence[EvaluationQuestion], work: Path, **changes: Any
) -> Outcomes:
    """Run each question and return its metrics; `changes` are settings other than the usual."""
    corpus = data.resolve() / "multihop/corpus.jsonl.gz"
    offline = {"offline": True, "corpus": corpus, "cache_dir": work, "runs_dir": work / "runs"}
    arms = build_arms(["slots"], [], [], {**offline, **changes}, baselines=False)
    detector = ContaminationDetector(Path("questions.dev.jsonl"), questions, own_corpus=True)
    evaluation = Evaluation(EvaluationPlan(questions, arms, work / "kept", detector, concurrency=2))
    return {row.question.key: _metrics_of(row) for rows in evaluation for row in rows}


def _metrics_of(row: TrialRow) -> Mapping[str, float]:
    golds = len(row.question.gold)
    return {
        "right": row.accuracy,
        "gold_read": round(len(row.trial.read) / golds, 3),
        "gold_cited": round(len(row.trial.cited) / golds, 3),
        "not_failed": float(not row.trial.has_failed),
    }


def regressions(before: Outcomes, now: Outcomes) -> list[str]:
    """Return the metrics that are worse by more than chance, each with its difference."""
    lines = []
    for name in next(iter(before.values())):
        difference = estimate_difference(
            [now[key][name] for key in before], [r[name] for r in before.values()]
        )
        low, high = difference.interval or (difference.value or 0.0,) * 2  # no spread, no interval
        if high < 0:
            lines.append(f"{name}: {difference.value:+.3f} ({low:+.3f} to {high:+.3f})")
    return lines


def load_record() -> Outcomes:
    """Load the recorded metrics of each question."""
    record: Outcomes = json.loads(RECORD.read_text("utf-8"))
    return record


def main() -> None:
    """Measure; exit 1 where something is worse."""
    parser = argparse.ArgumentParser(prog="python -m evals.subset")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--record", action="store_true", help="from now on, compare with this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        now = measure(options.data, sample_questions(options.data), Path(work))
    if options.record:
        lines = (f"{json.dumps(key)}: {json.dumps(now[key])}" for key in sorted(now))
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    worse = regressions(load_record(), now)
    print("\n".join(worse) or f"Nothing is worse, by {len(now)} questions.")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
