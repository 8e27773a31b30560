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

from agent.evaluate.arms import arms
from agent.evaluate.contamination import Contamination
from agent.evaluate.evaluation import Evaluation, Plan
from agent.evaluate.judge import sample as labelled
from agent.evaluate.page import markdown
from agent.evaluate.questions import load
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
    """The results of the evaluation, drawn too if a folder is given."""
    lines = (data / "multihop/questions.dev.jsonl").read_text("utf-8").splitlines()
    rows = [line for line in lines if json.loads(line)["dataset"] in SETS]
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "questions.dev.jsonl"
        path.write_text("\n".join(random.Random(3).sample(rows, sample)), encoding="utf-8")
        results = _results(path, data.resolve() / "multihop/corpus.jsonl.gz", Path(work))
    if folder:
        from agent.evaluate.plots import draw

        draw(results, folder)
    return results


def _results(path: Path, corpus: Path, work: Path) -> dict[str, Any]:
    given = {"offline": True, "corpus": corpus, "cache_dir": work, "runs_dir": work / "runs"}
    asked = load(path)
    made = arms(["slots", "loop"], [], [], given)
    watch = Contamination(path, asked, own=True)
    evaluation = Evaluation(
        Plan(asked, made, work / "kept", watch, sample=labelled(), concurrency=2)
    )
    for _ in evaluation:
        pass
    return evaluation.results()


def report(results: dict[str, Any]) -> str:
    """The part of RESULTS.md."""
    page = markdown(results, "").partition("## Answers")[2]
    return f"### Answers{page}".replace("\n## ", "\n### ") + NOTE


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m evals.arms")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--sample", type=int, default=200, help="so many questions")
    parser.add_argument("--out", type=Path, help="a folder for results.png and results.svg")
    given = parser.parse_args()
    print(report(measure(given.data.resolve(), given.sample, given.out)))


if __name__ == "__main__":
    main()
