"""Twenty invented questions over the wire: right, in as many rounds as it takes, and cheap."""

from __future__ import annotations

import pytest

from evals.wire import measure


@pytest.mark.slow
def test_invented_questions_are_answered_in_few_calls() -> None:
    found = measure()
    assert found["right"] == found["rounds_as_expected"] == found["questions"] == 20
    assert found["llm_calls_per_answer"] <= 4.5  # one hop: four; two: five
    assert found["input_tokens_per_answer"] <= 1700
    assert found["llm_calls_of_one_hop_before_judge"] <= 3
    assert found["input_tokens_of_one_hop_before_judge"] <= 900
