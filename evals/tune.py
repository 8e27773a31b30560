"""Fits the weights of the extractive engine: `python -m evals.tune [--data DIR]`.

Prints WEIGHTS for agent/llm/ranking.py and CONFIDENCE for agent/llm/selection.py, both from the
tune half alone. Ranking: the probability that a sentence with the gold answer, from a gold page
if there is one, comes first (softmax over the sentences shown, gradient descent, l2). Confidence:
logistic regression of "the evidence holds the answer" over runs with and without gold passages.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.llm import ranking, selection
from agent.llm.question import understood
from agent.search.corpus import Corpus
from evals.extractive import ROOT, SETS, half, holds, questions, without_gold

SHARE = {"musique": 0.5, "2wiki": 0.5}  # how much a data set counts in ranking; others: 1
NEAR = 0.35  # worth of a sentence with the answer from a page that is not gold


class Example(NamedTuple):
    """A question with the sentences that the engine was shown."""

    question: dict[str, Any]
    ranked: list[ranking.Scored]
    worth: list[float]  # of each sentence: 1 where it answers


def example(question: dict[str, Any], corpus: Path, work: Path) -> Example:
    """What the product showed the engine for a question."""
    from agent.evidence import select
    from agent.run import research
    from agent.settings import Settings

    settings = Settings(offline=True, corpus=corpus, cache_dir=work, runs_dir=work / "runs")
    run = research(question["question"], settings)
    for _ in run:
        pass
    topic, sources = question["question"], run.research.sources
    shown = select(sources, topic, settings.evidence_tokens)
    ranked = ranking.scored(ranking.lines(shown), understood(topic))
    gold = {s.n for s in sources if s.page.url.rpartition("?id=")[2] in question["gold"]}
    worth = [
        holds(s.line.text, question["answers"]) * (1.0 if s.line.source in gold else NEAR)
        for s in ranked
    ]
    return Example(question, ranked, worth)


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """The scalar product."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def fit_ranking(examples: Sequence[Example], rounds: int = 150) -> list[float]:
    """Weights under which sentences that answer come first."""
    weights = list(ranking.WEIGHTS)
    usable = [e for e in examples if any(e.worth)]
    for number in range(rounds):
        slope = [0.0] * len(weights)
        for one in usable:
            _add_slope(slope, one, weights, SHARE.get(one.question["dataset"], 1.0))
        step = 1.5 / (1 + number / 40)
        weights = [
            w + step * (s / len(usable) - 0.002 * w) for w, s in zip(weights, slope, strict=True)
        ]
    return weights


def _add_slope(slope: list[float], one: Example, weights: Sequence[float], share: float) -> None:
    scores = [dot(weights, s.features) for s in one.ranked]
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    chances = [power / sum(powers) for power in powers]
    right = dot(chances, one.worth) + 1e-9
    for chance, worth, s in zip(chances, one.worth, one.ranked, strict=True):
        pull = share * (chance * worth / right - chance)
        if abs(pull) > 1e-4:
            for i, feature in enumerate(s.features):
                slope[i] += pull * feature


def fit_confidence(examples: Sequence[Example], rounds: int = 800) -> dict[str, float]:
    """Log odds that the evidence answers, from the signs that `selection` looks at."""
    data: list[tuple[list[float], bool]] = []
    for one in examples:
        question = understood(one.question["question"])
        best = sorted(one.ranked, key=lambda s: -s.score)[:3]
        if best and selection.confidence(question, one.ranked) > float("-inf"):
            signs = selection.signs(question, one.ranked, best)
            data.append(([signs[name] for name in selection.CONFIDENCE], any(one.worth)))
    weights = [0.0] * len(selection.CONFIDENCE)
    for _ in range(rounds):
        slope = [0.0] * len(weights)
        for signs_of, answers in data:
            error = answers - 1 / (1 + math.exp(-dot(weights, signs_of)))
            for i, sign in enumerate(signs_of):
                slope[i] += error * sign
        weights = [
            w + 2.0 * (s / len(data) - 0.001 * w) for w, s in zip(weights, slope, strict=True)
        ]
    return dict(zip(selection.CONFIDENCE, weights, strict=True))


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m evals.tune")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    given = parser.parse_args()
    every = questions(given.data, (*SETS, *SHARE))
    asked = [question for question in every if half(question) == "tune"]
    corpus = given.data.resolve() / "multihop/corpus.jsonl.gz"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        bare = without_gold(every, corpus, work / "bare.jsonl")
        for file in (corpus, bare):
            Corpus(file, work).close()
        full = [example(question, corpus, work) for question in asked]
        empty = [example(question, bare, work) for question in asked]
    weights = dict(zip(ranking.FEATURES, fit_ranking(full), strict=True))
    known = [one for one in (*full, *empty) if one.question["dataset"] in SETS]
    confidence = fit_confidence(known)
    for name, found in (("WEIGHTS", weights), ("CONFIDENCE", confidence)):
        print(name, {key: round(value, 2) for key, value in found.items()})


if __name__ == "__main__":
    main()
