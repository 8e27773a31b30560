"""Strategies side by side on the same questions, without a model: `agent.evaluate` itself.

`python -m evals.arms [--data DIR] [--sample N] [--out DIR]`: questions of all data sets, with all
23,445 passages as the web; slots, loop and one plain search, with paired differences.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from agent.evaluate.arms import build_arms
from agent.evaluate.contamination import ContaminationDetector
from agent.evaluate.evaluation import Evaluation, EvaluationPlan
from agent.evaluate.judge import load_sample
from agent.evaluate.markdown import render_results
from agent.evaluate.questions import load_questions
from evals.extractive import ROOT

SETS = ("hotpotqa", "nq", "xquad", "2wiki", "musique")
NOTE = """
The extractive engine quotes whole sentences, so exact match and F1 say nothing of it, and what the
strategies are for (following one fact to the next, knowing when to stop) needs a model: that the
arms hardly differ here is what no model can show, not what strategies are worth. What it does show
is what is found, read and cited, that every citation stands, and that nothing fails. The closed
book needs a model too. The hand-labelled answers are hard on purpose (other spellings, denials,
halves), so that rules agree with them so seldom does not mean that they are wrong as often on the
questions above; it does mean that they compare arms and measure none. With a key:
docs/evaluation.md."""


def measure(data: Path, sample: int = 200, folder: Path | None = None) -> dict[str, Any]:
    """Return the results of the evaluation; with a folder, draw them there as well."""
    lines = (data / "multihop/questions.dev.jsonl").read_text("utf-8").splitlines()
    rows = [line for line in lines if json.loads(line)["dataset"] in SETS]
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "questions.dev.jsonl"
        path.write_text("\n".join(random.Random(3).sample(rows, sample)), encoding="utf-8")
        results = _results(path, data.resolve() / "multihop/corpus.jsonl.gz", Path(work))
    if folder:
        from agent.evaluate.plots import draw_plots

        draw_plots(results, folder)
    return results


def _results(path: Path, corpus: Path, work: Path) -> dict[str, Any]:
    options = {"offline": True, "corpus": corpus, "cache_dir": work, "runs_dir": work / "runs"}
    questions = load_questions(path)
    arms = build_arms(["slots", "loop"], [], [], options)
    detector = ContaminationDetector(path, questions, own_corpus=True)
    evaluation = Evaluation(
        EvaluationPlan(
            questions, arms, work / "kept", detector, sample=load_sample(), concurrency=2
        )
    )
    for _ in evaluation:
        pass
    return evaluation.build_results()


def report(results: dict[str, Any]) -> str:
    """The part of RESULTS.md."""
    page = render_results(results, "").partition("## Answers")[2]
    return f"### Answers{page}".replace("\n## ", "\n### ") + NOTE


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m evals.arms")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--sample", type=int, default=200, help="so many questions")
    parser.add_argument("--out", type=Path, help="a folder for results.png and results.svg")
    options = parser.parse_args()
    print(report(measure(options.data.resolve(), options.sample, options.out)))


if __name__ == "__main__":
    main()
