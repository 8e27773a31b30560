"""Figures: what an arm's trials come to, and how arms differ on the same questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

from agent.evaluate.measures import Figure, contains, difference, exact, f1, mean, ratio
from agent.evaluate.questions import Question
from agent.evaluate.trials import Trial

Json = dict[str, Any]


class Row(NamedTuple):
    """A question, what an arm made of it, and what the judge says of that."""

    question: Question
    trial: Trial
    label: str  # right, wrong, abstained; failed: there was an error
    sound: int | None = None  # claims that the judge finds in their quotes; None: not judged

    @property
    def right(self) -> float:
        """1 for a right answer, and for abstaining where there is nothing to answer."""
        return float(self.label == ("right" if self.question.answers else "abstained"))

    @property
    def answered(self) -> bool:
        return self.label in ("right", "wrong")

    def score(self, measure: Callable[[str, Sequence[str]], float]) -> float:
        """A measure of the text; of abstaining where that is right, 1."""
        return float(measure(self.trial.text, self.question.answers) or self._rightly_silent)

    @property
    def _rightly_silent(self) -> float:
        return float(not self.question.answers and self.label == "abstained")


def figures(rows: Sequence[Row]) -> Json:
    """What one arm comes to. Sums are over questions; intervals are of 95%, drawn by question."""
    answered = [row for row in rows if row.answered]
    usages = [row.trial.answer.usage for row in rows]
    return {
        "n": len(rows),
        "accuracy": _told(mean([row.right for row in rows])),
        "answered": len(answered),
        "abstained": sum(row.label == "abstained" for row in rows),
        "wrong": sum(not row.right for row in answered),
        "failed": sum(row.label == "failed" for row in rows),
        "accuracy_of_answered": _told(mean([row.right for row in answered])),
        "exact_match": _told(mean([row.score(exact) for row in rows])),
        "f1": _told(mean([row.score(f1) for row in rows])),
        "contains": _told(mean([row.score(contains) for row in rows])),
        **_gold(rows),
        **_citations(rows),
        "seconds": round(math.fsum(usage.seconds for usage in usages), 3),
        "seconds_median": round(median(usage.seconds for usage in usages), 3),
        "usd": _dollars([usage.usd for usage in usages]),
        "tokens": sum(row.trial.tokens for row in rows),
        "llm_calls": sum(usage.llm_calls for usage in usages),
        "searches": sum(usage.searches for usage in usages),
        "pages": sum(usage.pages for usage in usages),
    }


def _gold(rows: Sequence[Row]) -> Json:
    """The share of gold pages that searches found, that were read, that answers cite."""
    return {
        f"gold_{name}": _told(
            ratio([(len(getattr(row.trial, name)), len(row.question.gold)) for row in rows])
        )
        for name in ("found", "read", "cited")
    }


def _citations(rows: Sequence[Row]) -> Json:
    """Precision: claims that their citations support, of those that cite. Recall: those that cite,
    of all claims. Statements and citations as in ALCE (Gao et al. 2023), but judged by the run's
    own verdicts: rules, or the model that verified. `judged`: the same precision by the judge,
    which sees the quotes alone.
    """
    claims = [row.trial.answer.claims for row in rows]
    cited = [[claim for claim in group if claim.citations] for group in claims]
    judged = [
        (row.sound, len(own)) for row, own in zip(rows, cited, strict=True) if row.sound is not None
    ]
    sound = [[claim for claim in group if claim.verdict == "supported"] for group in cited]
    return {
        "citation_precision": _told(
            ratio(list(zip(map(len, sound), map(len, cited), strict=True)))
        ),
        "citation_precision_judged": _told(ratio(judged)),
        "citation_recall": _told(ratio(list(zip(map(len, cited), map(len, claims), strict=True)))),
    }


def _dollars(prices: Sequence[float | None]) -> float | None:
    """The sum; None where a price is not known."""
    known = [usd for usd in prices if usd is not None]
    return round(math.fsum(known), 6) if len(known) == len(prices) else None


def differences(arms: Sequence[tuple[str, Sequence[Row]]]) -> list[Json]:
    """The first arm less each other, question by question."""
    (name, ours), *others = arms
    return [{"arm": name, "less": other, **_paired(ours, theirs)} for other, theirs in others]


def _paired(ours: Sequence[Row], theirs: Sequence[Row]) -> Json:
    measures: dict[str, Callable[[Row], float]] = {
        "accuracy": lambda row: row.right,
        "f1": lambda row: row.score(f1),
        "tokens_a_question": lambda row: row.trial.tokens,
    }
    told = {
        name: _told(difference([measure(r) for r in ours], [measure(r) for r in theirs]))
        for name, measure in measures.items()
    }
    return {"n": len(ours), **told}


def _told(figure: Figure) -> Json:
    return figure.model_dump(mode="json")
