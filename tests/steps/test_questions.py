"""Twenty invented questions over the wire: right, in as many rounds as it takes, and cheap."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from evals import wire
from evals.harness import Bench


def test_invented_questions_are_answered_in_few_calls(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tmp_path)
    made = [outcome for case in wire.load(tmp_path) for outcome in wire.measure(case, bench)]
    assert [one.right and one.rounds == one.case.rounds for one in made] == [True] * 20
    answered = [one for one in made if one.case.answer]
    assert mean(one.calls for one in answered) <= 4.5  # one hop: four; two: five
    assert mean(one.tokens for one in answered) <= 1700
    one_hop = [one for one in made if one.case.rounds == 1]
    assert mean(one.calls_before_judge for one in one_hop) <= 3
    assert mean(one.tokens_before_judge for one in one_hop) <= 900
