"""A regression of answers is caught: questions of the data, compared with what came of them."""

from __future__ import annotations

from pathlib import Path

from evals.subset import Outcomes, chosen, measure, recorded, regressions


def test_answers_are_not_worse_than_they_were(data: Path, tmp_path: Path) -> None:
    asked = chosen(data)
    before = recorded()
    assert {question.key for question in asked} == before.keys()
    assert regressions(before, measure(data, asked, tmp_path)) == []


def test_a_real_regression_is_seen(data: Path, tmp_path: Path) -> None:
    """With a tenth of the evidence the answers are worse, though the same pages are read."""
    asked = chosen(data)[:60]
    before = {question.key: recorded()[question.key] for question in asked}
    worse = regressions(before, measure(data, asked, tmp_path, evidence_tokens=200))
    assert [line.partition(":")[0] for line in worse] == ["right", "gold_cited"]


def test_one_of_ten_lost_is_seen_and_one_of_a_hundred_is_not() -> None:
    before = recorded()
    right = [key for key, row in before.items() if row["right"]]
    assert regressions(before, before) == [] == regressions(before, without(right[:1], before))
    (told,) = regressions(before, without(right[: len(before) // 10], before))
    assert told.startswith("right: -0.100")
    broken = {key: {**row, "not_failed": 0.0} for key, row in before.items()}
    assert regressions(before, broken) == ["not_failed: -1.000 (-1.000 to -1.000)"]


def without(keys: list[str], before: Outcomes) -> Outcomes:
    return {**before, **{key: {**before[key], "right": 0.0} for key in keys}}
