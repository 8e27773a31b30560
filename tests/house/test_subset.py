"""A regression of answers is caught: a sample of questions, compared with recorded metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.subset import Outcomes, load_record, measure, regressions, sample_questions


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the corpus's index, which is made once."""
    return tmp_path_factory.mktemp("index")


def test_answers_are_not_worse_than_they_were(data: Path, tmp_path: Path, index: Path) -> None:
    """A dozen of the questions; `make eval` asks them all."""
    asked, recorded = sample_questions(data), load_record()
    assert {question.key for question in asked} == recorded.keys()
    asked = asked[:12]
    before = {question.key: recorded[question.key] for question in asked}
    assert regressions(before, measure(data, asked, tmp_path, cache_dir=index)) == []


def test_one_of_ten_lost_is_seen_and_one_of_a_hundred_is_not() -> None:
    before = load_record()
    right = [key for key, row in before.items() if row["right"]]
    assert regressions(before, before) == [] == regressions(before, mark_wrong(right[:1], before))
    (told,) = regressions(before, mark_wrong(right[: len(before) // 10], before))
    assert told.startswith("right: -0.100")
    broken = {key: {**row, "not_failed": 0.0} for key, row in before.items()}
    assert regressions(before, broken) == ["not_failed: -1.000 (-1.000 to -1.000)"]


def mark_wrong(keys: list[str], before: Outcomes) -> Outcomes:
    return {**before, **{key: {**before[key], "right": 0.0} for key in keys}}
