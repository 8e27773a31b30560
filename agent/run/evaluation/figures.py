"""The figures of an evaluation: what was right, what was cited, what it cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from agent.calls.budget import CallUsage, round_dollars, sum_usages
from agent.evidence.markers import strip_markers
from agent.run.evaluation.questions import EvaluationQuestion
from agent.run.evaluation.scoring import MetricValue, estimate_mean, estimate_ratio, is_right
from agent.state import HOLDING, Json

Label = Literal["right", "wrong", "abstained", "failed"]
#: The text of a prediction without an answer.
ABSTENTION = "Unable to find the answer"


def answer_text(row: Json) -> str:
    """The answer without markers; "" for an error or an abstention, which has no claims."""
    is_answer = row.get("claims") and row.get("status") != "error"
    return strip_markers(row["answer"]).strip() if is_answer else ""


def label_answer(question: EvaluationQuestion, row: Json) -> Label:
    """What an answer is by the gold answers; one without any is right to abstain."""
    text = answer_text(row)
    if not text:
        return "failed" if row["status"] == "error" else "abstained"
    return "right" if is_right(text, question.answers) else "wrong"


def summarize_answers(pairs: Sequence[tuple[EvaluationQuestion, Json]]) -> Json:
    """Sums over questions, and means with intervals of 95 %.

    Statements and citations are as in ALCE (Gao et al. 2023). Precision: the claims that their
    citations support, among those that cite, by the run's own verdicts. Recall: the claims that
    cite, among all.
    """
    labels = [label_answer(*pair) for pair in pairs]
    wanted = ["right" if question.answers else "abstained" for question, _ in pairs]
    found = Counter(labels)
    claims = [row.get("claims") or [] for _, row in pairs]
    citing = [[one for one in own if one["citations"]] for own in claims]
    holding = [[one for one in own if one["verdict"] in HOLDING] for own in citing]
    return {
        "n": len(pairs),
        "accuracy": _dump(
            estimate_mean([float(a == b) for a, b in zip(labels, wanted, strict=True)])
        ),
        "answered": found["right"] + found["wrong"],
        "abstained": found["abstained"],
        "wrong": found["wrong"],
        "failed": found["failed"],
        "citation_precision": _ratio(holding, citing),
        "citation_recall": _ratio(citing, claims),
        **_sum_usage([row.get("usage") or {} for _, row in pairs]),
    }


def _sum_usage(usages: Sequence[Json]) -> Json:
    fields = CallUsage.model_fields
    rows = [{name: value for name, value in one.items() if name in fields} for one in usages]
    total = round_dollars(sum_usages([CallUsage.model_validate(row) for row in rows]))
    return {
        "seconds": round(math.fsum(one.get("seconds", 0.0) for one in usages), 3),
        "usd": total.usd,
        "tokens": total.input_tokens + total.output_tokens,
        "llm_calls": total.llm_calls,
        "searches": total.searches,
        "pages": total.pages,
    }


def _ratio(parts: Sequence[Sequence[Any]], wholes: Sequence[Sequence[Any]]) -> Json:
    return _dump(estimate_ratio(list(zip(map(len, parts), map(len, wholes), strict=True))))


def _dump(value: MetricValue) -> Json:
    return value.model_dump(mode="json")
