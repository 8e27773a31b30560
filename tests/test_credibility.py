"""The credibility score: its formula, its parts and its limits."""

from __future__ import annotations

import pytest
from agent.pages.credibility import credibility
from agent.research import Hit
from hypothesis import given
from hypothesis import strategies as st

QUESTION = "Who won the 2022 FIFA World Cup?"


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://www.mit.edu/a", 0.9),
        ("https://www.ox.ac.uk/", 0.9),
        ("https://data.gov.au/", 0.9),
        ("https://en.wikipedia.org/wiki/X", 0.8),
        ("https://notwikipedia.org/", 0.7),
        ("https://someblog.com/", 0.4),
        ("https://old.reddit.com/r/x", 0.3),
        ("https://education.com/", 0.4),
        ("file:///home/me/notes.md", 0.4),
    ],
)
def test_domains_count_by_suffix(url: str, domain: float) -> None:
    assert credibility(QUESTION, Hit(url=url), 2026).domain == domain


def test_the_formula() -> None:
    hit = Hit(url="https://a.com/", title="FIFA World Cup 2022", snippet="Argentina won in 2025.")
    found = credibility(QUESTION, hit, 2026)
    assert (found.domain, found.relevance, found.recency) == (0.4, 1.0, 0.1)
    assert found.score == round(0.4 * 0.4 + 0.5 * 1.0 + 0.1, 2)


def test_relevance_of_chinese_is_by_bigrams() -> None:
    hit = Hit(url="https://a.com/", title="2022年世界杯冠军是阿根廷")
    assert credibility("谁赢得了2022年世界杯", hit, 2026).relevance > 0.3


@given(st.text(), st.builds(Hit, url=st.text(), title=st.text(), snippet=st.text()))
def test_scores_stay_between_0_and_1(question: str, hit: Hit) -> None:
    try:
        score = credibility(question, hit, 2026).score
    except ValueError:  # not an address; searches never give one
        return
    assert 0 <= score <= 1
