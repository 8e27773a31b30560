"""What is measured at length by `evals`, in small: the promises of a verdict, and its measures.

False sentences made of true ones, and true ones in other words, go through `Verify`: all of them by
`python -m evals.swaps`, a sample here. The measures of judges and of confidence are tried too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.outside import Reply, Task
from evals import calibration, claims
from evals.calibration import SaidValue, calibration_error
from evals.pairs import Pair, build_pairs, load_paraphrases
from evals.swaps import ARMS, Outcome, check_pair

SAMPLE = 75  # of so many pairs one is run


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """The pairs of the demo corpus alone."""
    return build_pairs(Path("no such folder"))


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
def test_no_promise_is_broken(pairs: list[Pair], arm: str) -> None:
    outcomes = [check_pair(pair, arm) for pair in pairs[::SAMPLE]]
    assert [outcome for outcome in outcomes if outcome.broken] == []
    assert {outcome.verdict for outcome in outcomes} > {"supported"}  # and something was at stake


@pytest.mark.slow
def test_no_true_sentence_in_another_language_is_lost() -> None:
    told = [pair for pair in load_paraphrases() if pair.kind == "language"][::7]
    assert {check_pair(pair, "none").verdict for pair in told} == {"unchecked"}
    assert {check_pair(pair, "perfect").verdict for pair in told} == {"supported"}


@pytest.mark.slow
def test_a_broken_promise_is_seen(pairs: list[Pair]) -> None:
    false = next(pair for pair in pairs if pair.wrong)
    true = next(pair for pair in pairs if pair.kind == "count")
    assert Outcome(false, "none", "supported", "").broken
    assert Outcome(false, "agrees", "supported", "supported").broken
    assert Outcome(true, "none", "dropped", "").broken
    assert Outcome(true, "perfect", "partial", "supported").broken
    assert not Outcome(true, "errs", "dropped", "unsupported").broken


def test_a_judge_is_measured_by_its_batch() -> None:
    kinds, quotes = ("refute", "attributable"), ("Claim 1 holds.",)
    rows = [claims.Row(f"Claim {n} holds.", quotes, kinds[n % 2]) for n in range(8)]

    def ask(task: Task[Any]) -> Reply[Any]:
        """Right by itself; in a batch it calls all supported, and forgets the last."""
        alone = len(task.claims) == 1  # type: ignore[attr-defined]
        right = int(task.claims[0].text.split()[1]) % 2  # type: ignore[attr-defined]
        said = "supported" if right or not alone else "contradicted"
        several = range(1, len(task.claims) + alone)  # type: ignore[attr-defined]
        verdicts = [{"claim": n, "verdict": said, "source": None} for n in several]
        return Reply(answer=task.answer_type.model_validate({"verdicts": verdicts}), model="x")

    single, batch = claims.measure(rows, ask, (1, 4))
    assert single["balanced_accuracy"] == 1 and single["false_called_supported"] == 0
    assert batch["refuted_called_supported"] == 4 and batch["no_verdict"] == 2
    table = claims.EVALUATION.report([{"judge": "x", **row} for row in (single, batch)])
    assert table.count("| x |") == 2 and "| 4 of 4 |" in table


def test_calibration_error_is_the_mean_gap() -> None:
    sure = [SaidValue("a", "report", 0.9, n < 9, "row") for n in range(10)]
    vain = [SaidValue("a", "report", 1.0, n < 5, "row") for n in range(10)]
    assert calibration_error(sure) == pytest.approx(0)
    assert calibration_error(vain) == pytest.approx(0.5)
    assert calibration_error([*sure, *vain]) == pytest.approx(0.25)
    told = calibration.EVALUATION.report([*sure, *vain])
    assert "| a | 0.9 to 1.0 | 20 | 0.95 | 14 | 70.0% | +0.25 |" in told
