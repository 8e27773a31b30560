"""The metrics of an arm's trials, and the paired differences between arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from agent.evaluate.metrics import (
    MetricValue,
    contains_gold,
    estimate_difference,
    estimate_mean,
    estimate_ratio,
    exact_match,
    token_f1,
)
from agent.evaluate.questions import EvaluationQuestion
from agent.evaluate.trials import Trial
from agent.outside.budget import round_dollars, sum_usages
from agent.state.json_data import Json

Metric = Callable[[str, Sequence[str]], float]  # of a text and its gold answers


class TrialRow(NamedTuple):
    """A question, its trial in one arm, and the judge's label.

    `supported_claims` counts the claims that the judge finds in their quotes; None: not judged.
    """

    question: EvaluationQuestion
    trial: Trial
    label: str  # right, wrong or abstained; told for a task; failed where there was an error
    supported_claims: int | None = None

    @property
    def accuracy(self) -> float:
        """1 for a right answer, or for an abstention where no answer exists; else 0."""
        return float(self.label == ("right" if self.question.answers else "abstained"))

    @property
    def is_answered(self) -> bool:
        return self.label in ("right", "wrong", "told")

    def score(self, metric: Metric) -> float:
        """Return a metric of the answer's text; 1 for an abstention where no answer exists."""
        is_right_abstention = not self.question.answers and self.label == "abstained"
        return float(metric(self.trial.text, self.question.answers) or is_right_abstention)


def summarize_trials(rows: Sequence[TrialRow]) -> Json:
    """Return all metrics of one arm: sums over questions, and means with intervals of 95%.

    Means of what is right are over the questions that are no tasks.
    """
    asked = _without_tasks(rows)
    answered = [row for row in asked if row.is_answered]
    usages = [row.trial.answer.usage for row in rows]
    total = round_dollars(sum_usages(usages))
    return {
        "n": len(rows),
        "accuracy": _mean([row.accuracy for row in asked]),
        "answered": sum(row.is_answered for row in rows),
        "abstained": sum(row.label == "abstained" for row in rows),
        "wrong": sum(not row.accuracy for row in answered),
        "failed": sum(row.label == "failed" for row in rows),
        "accuracy_of_answered": _mean([row.accuracy for row in answered]),
        "exact_match": _mean([row.score(exact_match) for row in asked]),
        "f1": _mean([row.score(token_f1) for row in asked]),
        "contains": _mean([row.score(contains_gold) for row in asked]),
        **_gold_metrics(rows),
        **_citation_metrics(rows),
        "seconds": round(math.fsum(usage.seconds for usage in usages), 3),
        "seconds_median": round(median(usage.seconds for usage in usages), 3),
        "usd": total.usd,
        "tokens": total.input_tokens + total.output_tokens,
        "llm_calls": total.llm_calls,
        "searches": total.searches,
        "pages": total.pages,
    }


def _without_tasks(rows: Sequence[TrialRow]) -> list[TrialRow]:
    return [row for row in rows if row.question.task is None]


def _gold_metrics(rows: Sequence[TrialRow]) -> Json:
    """The shares of gold pages that searches found, that were read, and that answers cite."""
    return {
        f"gold_{name}": _ratio(
            [(len(getattr(row.trial, name)), len(row.question.gold)) for row in rows]
        )
        for name in ("found", "read", "cited")
    }


def _citation_metrics(rows: Sequence[TrialRow]) -> Json:
    """Citation precision and recall, with statements and citations as in ALCE (Gao et al. 2023).

    Precision: the claims that their citations support, among those that cite. The verdicts are the
    run's own, by rules or by the model that verified. `citation_precision_judged` takes the
    judge's verdicts, which sees the quotes alone. Recall: the claims that cite, among all.
    """
    claims = [row.trial.answer.claims for row in rows]
    citing = [[claim for claim in group if claim.citations] for group in claims]
    supported = [[claim for claim in group if claim.verdict == "supported"] for group in citing]
    judged = [
        (row.supported_claims, len(group))
        for row, group in zip(rows, citing, strict=True)
        if row.supported_claims is not None
    ]
    return {
        "citation_precision": _ratio(list(zip(map(len, supported), map(len, citing), strict=True))),
        "citation_precision_judged": _ratio(judged),
        "citation_recall": _ratio(list(zip(map(len, citing), map(len, claims), strict=True))),
    }


def compare_arms(arms: Sequence[tuple[str, Sequence[TrialRow]]]) -> list[Json]:
    """Return the paired differences of the first arm and each other one, question by question."""
    (name, ours), *others = arms
    return [
        {"arm": name, "less": other, **_paired_differences(ours, theirs)}
        for other, theirs in others
    ]


def _paired_differences(ours: Sequence[TrialRow], theirs: Sequence[TrialRow]) -> Json:
    asked = _without_tasks(ours), _without_tasks(theirs)
    return {
        "n": len(ours),
        "accuracy": _difference(*asked, lambda row: row.accuracy),
        "f1": _difference(*asked, lambda row: row.score(token_f1)),
        "tokens_a_question": _difference(ours, theirs, lambda row: row.trial.tokens),
    }


def _difference(
    ours: Sequence[TrialRow], theirs: Sequence[TrialRow], metric: Callable[[TrialRow], float]
) -> Json:
    return _to_json(estimate_difference([*map(metric, ours)], [*map(metric, theirs)]))


def _mean(values: Sequence[float]) -> Json:
    return _to_json(estimate_mean(values))


def _ratio(pairs: Sequence[tuple[float, float]]) -> Json:
    return _to_json(estimate_ratio(pairs))


def _to_json(value: MetricValue) -> Json:
    return value.model_dump(mode="json")
