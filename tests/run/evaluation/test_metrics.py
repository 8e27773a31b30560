"""Metrics against values computed by hand, and intervals against known distributions."""

from __future__ import annotations

from math import comb

import pytest

from agent.run.evaluation.scoring import (
    contains_gold,
    estimate_mean,
    estimate_ratio,
    is_right,
)


@pytest.mark.parametrize(
    ("text", "golds", "expected"),
    [
        ("The Eiffel Tower!", ["eiffel tower"], 1),
        ("Ada King Lovelace", ["Byron", "ada king lovelace"], 1),  # the best alias counts
        ("Marchand won", ["Mar"], 0),  # not inside a word
        ("它于１９９７年在北京成立。", ["1997年"], 1),
    ],
)
def test_a_gold_answer_is_found_in_a_text(text: str, golds: list[str], expected: int) -> None:
    assert contains_gold(text, golds) == expected


def test_yes_and_no_are_right_only_as_the_first_word() -> None:
    assert is_right("Yes, both are.", ["yes"]) and not is_right("No, not yes.", ["yes"])
    assert not is_right("", ["yes"]) and is_right("It was Ulm [1].", ["Ulm"])


def test_an_interval_is_that_of_the_binomial_distribution() -> None:
    """The bootstrap of k ones in n is Binomial(n, k/n) / n: its ends are known exactly."""
    n, k = 100, 30
    upto, ends = 0.0, []
    for hits in range(n + 1):
        before, upto = upto, upto + comb(n, hits) * 0.3**hits * 0.7 ** (n - hits)
        ends += [hits / n for edge in (0.025, 0.975) if before < edge <= upto]
    figure = estimate_mean([1.0] * k + [0.0] * (n - k))
    assert figure.value == 0.3 and ends == [0.21, 0.39]
    assert figure.interval == pytest.approx(ends, abs=0.0101)


def test_none_or_all_of_n_has_an_interval_and_equal_rows_have_none() -> None:
    figure = estimate_ratio([(1, 2), (3, 3), (0, 0), (0, 1)])  # 4 of 6; one question has no claims
    assert figure.value == round(4 / 6, 4) and figure.interval and figure.interval[0] == 0
    assert estimate_ratio([(0, 0)]).value is None and estimate_ratio([]).interval is None
    assert estimate_mean([0.4]).interval is estimate_mean([0.4] * 9).interval is None
    of_twenty = (0.8316, 1.0)  # Clopper and Pearson: 0.025 ** (1/20)
    assert estimate_mean([1.0] * 20).interval == of_twenty
