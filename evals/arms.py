"""Strategies side by side on the same questions, without a model: `agent.evaluate` itself.

`python -m evals.arms [--data DIR] [--sample N] [--out DIR]`: questions of all data sets, with all
23,445 passages as the web; slots, loop and one plain search, with paired differences, and beside
each the best sentences of one plain search in as many words as its own answer has.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from agent.evaluate.arms import build_arms
from agent.evaluate.contamination import ContaminationDetector
from agent.evaluate.evaluation import Evaluation, EvaluationPlan
from agent.evaluate.judge import load_sample
from agent.evaluate.markdown import render_results
from agent.evaluate.questions import load_questions
from agent.evaluate.summary import TrialRow
from agent.search.corpus import Corpus
from evals.extractive import ROOT, contains_answer, rank_sentences, share_filled, take_words

SETS = ("hotpotqa", "nq", "xquad", "2wiki", "musique")
MAX_WORDS = 80  # of the baseline where an arm abstained
NOTE = """
*best sentences, same words*: those of the ten pages that one plain search finds, by BM25, in as
many words as the arm's answer has, or 80 where it abstained. An abstention is never right.

The extractive engine quotes whole sentences, so exact match and F1 say nothing of it, and what the
strategies are for (following one fact to the next, knowing when to stop) needs a model: that the
arms hardly differ here is what no model can show, not what strategies are worth. What it does show
is what is found, read and cited, that every citation stands, and that nothing fails. The closed
book needs a model too. The hand-labelled answers are hard on purpose (other spellings, denials,
halves), so that rules agree with them so seldom does not mean that they are wrong as often on the
questions above; it does mean that they compare arms and measure none. With a key:
docs/evaluation.md."""


class Measured(NamedTuple):
    """What `agent.evaluate` says of the arms, and each arm's rows with their baselines."""

    results: dict[str, Any]
    rows: dict[str, list[TrialRow]]
    baselines: dict[str, list[bool]]


def measure(data: Path, sample: int = 200, folder: Path | None = None) -> Measured:
    """The results of the evaluation; with a folder, draw them there as well."""
    lines = (data / "multihop/questions.dev.jsonl").read_text("utf-8").splitlines()
    rows = [line for line in lines if json.loads(line)["dataset"] in SETS]
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "questions.dev.jsonl"
        path.write_text("\n".join(random.Random(3).sample(rows, sample)), encoding="utf-8")
        measured = _measure(path, data.resolve() / "multihop/corpus.jsonl.gz", Path(work))
    if folder:
        from agent.evaluate.plots import draw_plots

        draw_plots(measured.results, folder)
    return measured


def _measure(path: Path, corpus: Path, work: Path) -> Measured:
    options = {"offline": True, "corpus": corpus, "cache_dir": work, "runs_dir": work / "runs"}
    questions = load_questions(path)
    arms = build_arms(["slots", "loop"], [], [], options)
    detector = ContaminationDetector(path, questions, own_corpus=True)
    evaluation = Evaluation(
        EvaluationPlan(
            questions, arms, work / "kept", detector, sample=load_sample(), concurrency=2
        )
    )
    rows = defaultdict[str, list[TrialRow]](list)
    for group in evaluation:
        for row in group:
            rows[row.trial.arm].append(row)
    return Measured(evaluation.build_results(), rows, _measure_baselines(rows, corpus, work))


def _measure_baselines(
    rows: dict[str, list[TrialRow]], corpus: Path, work: Path
) -> dict[str, list[bool]]:
    """Whether a plain search's best sentences answer, in as many words as each arm took."""
    index, ranked = Corpus(corpus, work), dict[str, list[str]]()
    for prompt in {row.question.prompt for arm in rows.values() for row in arm}:
        pages = [index.read(hit.url).text for hit in index.search(prompt)]
        ranked[prompt] = rank_sentences(pages, prompt)
    index.close()
    return {arm: [_baseline_answers(row, ranked) for row in own] for arm, own in rows.items()}


def _baseline_answers(row: TrialRow, ranked: dict[str, list[str]]) -> bool:
    words = len(row.trial.text.split()) or MAX_WORDS
    said = take_words(ranked[row.question.prompt], words)
    return contains_answer(said, row.question.answers)


def report(measured: Measured) -> str:
    """The part of RESULTS.md."""
    page = render_results(measured.results, "").partition("## Answers")[2]
    page = f"### Answers{page}".replace("\n## ", "\n### ")
    return f"{status_table(measured)}\n\n{page}{NOTE}"


HEAD = (
    "| arm | answer stands in the question | n | right | best sentences, same words | complete "
    "| right of complete | partial | abstained | slots filled | words |\n"
    f"|{'---|' * 11}"
)


def status_table(measured: Measured) -> str:
    """Accuracy beside status and coverage; questions that give their answer away apart."""
    lines = [HEAD]
    for arm, rows in measured.rows.items():
        both = list(zip(rows, measured.baselines[arm], strict=True))
        for given in (False, True):
            own = [pair for pair in both if _gives_away(pair[0]) == given]
            lines.append(f"| {arm} | {'yes' if given else 'no'} | {len(own)} | {_cells(own)} |")
    return "\n".join(lines)


def _gives_away(row: TrialRow) -> bool:
    return contains_answer(row.question.prompt, row.question.answers)


def _cells(own: Sequence[tuple[TrialRow, bool]]) -> str:
    rows = [row for row, _ in own]
    states = [row.trial.answer.status for row in rows]
    filled = [share for row in rows if (share := share_filled(row.trial.answer)) is not None]
    answered = [len(row.trial.text.split()) for row in rows if row.trial.text]
    shares = (
        [row.label == "right" for row in rows],
        [baseline for _, baseline in own],
        [state == "complete" for state in states],
        [row.label == "right" for row in rows if row.trial.answer.status == "complete"],
        [state == "partial" for state in states],
        [row.label == "abstained" for row in rows],
        filled,
    )
    cells = [f"{mean(share):.1%}" if share else "" for share in shares]
    return " | ".join([*cells, f"{mean(answered):.0f}" if answered else ""])


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
