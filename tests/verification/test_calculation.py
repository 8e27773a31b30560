"""Arithmetic of a judge is computed here, over numbers that the claim's quotes have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.state import Calculation
from agent.verification.calculation import compute_claim
from agent.verification.differences import find_differences
from agent.verification.rules import Assessment, QuotePlace, limit_assessment

BRIDGES = "The Norvik bridge is 1,240 metres long. The Hallen bridge is 980 metres long. "
OTHERS = (
    "The Aspurg bridge is 310 metres long. It was opened on 1 May 1990 and closed on 2 March 2020."
)
SPLIT = "Of the members 3 voted yes, and 1 voted no."


def place(text: str) -> QuotePlace:
    return QuotePlace(text, "", 0, len(text), source=7)


def compute(expression: str, claim: str, text: str = BRIDGES + OTHERS) -> str:
    """The fault of a calculation; "" where it holds."""
    computed = compute_claim(expression, claim, [place(text)])
    return computed.fault if computed else "none"


@pytest.mark.parametrize(
    ("expression", "claim"),
    [
        ("1,240 - 980", "The Norvik bridge is 260 metres longer than the Hallen bridge."),
        ("100 * 980 / 1240", "The Hallen bridge has 79% of the length of the Norvik bridge."),
        ("count(1240 > 900, 980 > 900, 310 > 900)", "Two of the bridges exceed 900 metres."),
        ("years(1990-05-01, 2020-03-02)", "The Aspurg bridge was open for 29 years."),
        ("1240 / 1000", "The Norvik bridge is 1.24 km long."),
        ("1.240 - 980", "Die Brücke von Norvik ist 260 Meter länger als die von Hallen."),
    ],
)
def test_what_follows_holds(expression: str, claim: str) -> None:
    text = BRIDGES + OTHERS if "Brücke" not in claim else BRIDGES.replace("1,240", "1.240")
    assert compute(expression, claim, text) == ""


@pytest.mark.parametrize(
    ("expression", "claim", "fault"),
    [
        ("1240 - 980", "The Norvik bridge is 280 metres longer.", "does not say"),
        ("1240 - 960", "The Norvik bridge is 280 metres longer.", "in none of its quotes"),
        ("1240 - 980", "The Norvik bridge is more than 260 metres longer.", "does not say"),
        ("1240 / (980 - 980)", "The Norvik bridge is 260 metres longer.", "cannot be computed"),
    ],
)
def test_what_does_not_follow_fails(expression: str, claim: str, fault: str) -> None:
    found = compute(expression, claim)
    assert found and found != "none" and fault in found


def test_a_judges_arithmetic_is_computed() -> None:
    def judge(expression: str, claim: str) -> Assessment:
        judged = Assessment("supported", "a-model", Calculation(expression=expression))
        return limit_assessment(judged, claim, [place(SPLIT)])

    right = judge("100 * 3 / (3 + 1)", "75% of the members voted yes.")
    assert (right.verdict, right.by) == ("supported", "calculation")
    assert right.calculation and right.calculation.value == 75
    assert {SPLIT[o.start : o.end] for o in right.calculation.operands} == {"3", "1"}
    assert {one.citation for one in right.calculation.operands} == {7}
    wrong = judge("100 * 3 / (3 + 1)", "80% of the members voted yes.")
    assert (wrong.verdict, wrong.by) == ("unsupported", "calculation")
    assert judge("", "75% of the members voted yes.").verdict != "supported"


@pytest.mark.parametrize("text", ["3 + 1", "1990-05-01 - 2020-03-02", "1 / 0"])
def test_a_needless_calculation_loses_no_claim(text: str) -> None:
    """Small models compute for each claim; all numbers of this one are in its quote."""
    judged = Assessment("supported", "a-model", Calculation(expression=text))
    for claim, verdict in ((SPLIT, "supported"), ("Of the members 9 voted yes.", "unsupported")):
        assert limit_assessment(judged, claim, [place(SPLIT)]).verdict == verdict


@pytest.mark.parametrize("text", ["__import__('os')", "3 ** 1", "(" * 500 + "3" + ")" * 500, "n/a"])
def test_what_is_no_arithmetic_neither_proves_nor_refutes(text: str) -> None:
    judged = Assessment("supported", "a-model", Calculation(expression=text))
    for claim, verdict in (("3 members agreed.", "supported"), ("75% of them agreed.", "partial")):
        assert limit_assessment(judged, claim, [place(SPLIT)]) == Assessment(verdict, "a-model")


@given(st.text(alphabet="0123456789+-*/()., <>=maxincountdy\"'°€٣", max_size=60))
def test_any_expression_ends(text: str) -> None:
    computed = compute_claim(text, "It has 260 of 1,240 metres.", [place(BRIDGES)])
    assert computed is None or isinstance(computed.fault, str)


# --- differences ----------------------------------------------------------------------------------

PAGE = "Coffee may reduce the risk of some cancers, researchers in Lund found in 2015."


@pytest.mark.parametrize(
    ("claim", "page", "words"),
    [
        (PAGE.replace("may reduce", "will reduce"), ("may",), ("will",)),
        (PAGE.replace("may reduce", "may not reduce"), (), ("not",)),
        (PAGE, (), ()),
    ],
)
def test_a_claim_is_compared_with_the_nearest_sentence(
    claim: str, page: tuple[str, ...], words: tuple[str, ...]
) -> None:
    text = f"Tea is warm. {PAGE} Nobody drank it."
    found = find_differences(claim, [QuotePlace(text, "", 0, len(text))])
    assert found and found.sentence == PAGE and (found.page, found.claim) == (page, words)
    assert find_differences(PAGE, []) is None
