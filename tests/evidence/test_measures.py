"""Sentences of two pages that give one measure of one thing different numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.evidence.measures import find_disagreements
from agent.evidence.quoting import anchor_quote
from agent.state import Source
from tests.support.typed_slots import build_source

HAS = "Acme Pumps has 4,200 employees and 12 plants."


def numbers(first: str, *others: str) -> set[tuple[str, str]]:
    sources: list[Source] = [build_source(n, text) for n, text in enumerate((first, *others), 1)]
    quote = anchor_quote(first, sources[0])
    assert quote
    return {(one.number, one.other_number) for one in find_disagreements((quote,), sources)}


@pytest.mark.parametrize(
    ("first", "other", "expected"),
    [
        (HAS, "Acme Pumps employs 3,850 people in 12 plants.", {("4,200", "3,850")}),
        (HAS, "It is old. The 3,850 employees of Acme Pumps are proud.", {("4,200", "3,850")}),
        (HAS, "Acme Pumps employs about 4,000 people.", set()),  # rounded
        (HAS, "Acme Pumps employs 4200 people.", set()),
        ("Acme Pumps has at least 20 plants.", "Acme Pumps has less than 30 plants.", set()),
        (
            "Acme Pumps has at least 20 plants.",
            "Acme Pumps has at most 10 plants.",
            {("20", "10")},
        ),
        (HAS, "Bolt Works employs 3,850 people.", set()),  # another thing
        (HAS, "Acme Pumps has 3,850 employees in Lund.", set()),  # of a part
        (HAS, "Acme Pumps had 3,850 employees in 2019.", set()),  # of another time
        (HAS, "Acme Pumps won 30 prizes.", set()),  # another measure
        ("Acme Pumps won 3 titles and 5 cups.", "Acme Pumps won 5 cups.", set()),
        ("Acme Pumps | 9.1 | gains: 3.2", "Acme Pumps | 2.4 | gains: 4", set()),  # rows
        (
            "Staff of Acme Pumps have 25 days of holiday.",
            "Employees of Acme Pumps have 28 days of holiday.",
            set(),  # names that the other page does not have
        ),
        (
            "At Acme Pumps all have 25 days of holiday.",
            "At Acme Pumps all now have 28 days of holiday.",
            {("25 days", "28 days")},
        ),
    ],
)
def test_what_disagrees(first: str, other: str, expected: set[tuple[str, str]]) -> None:
    assert numbers(first, other) == expected
    assert numbers(other, first) == {(b, a) for a, b in expected}


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_texts_are_compared(first: str, other: str) -> None:
    sources = [build_source(n, text or "x") for n, text in enumerate((first, other), 1)]
    quote = anchor_quote(sources[0].page.text, sources[0])
    for rival in find_disagreements((quote,) if quote else (), sources):
        assert rival.quote.source != rival.other.source
        assert rival.number in rival.quote.text and rival.other_number in rival.other.text
