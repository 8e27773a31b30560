"""The credibility score: its formula, its parts and its limits; what a threshold lets through."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.evidence.credibility import (
    Blocking,
    Credibility,
    find_blocked,
    host_owner,
    rate_credibility,
)
from agent.state import Hit

ROOT = Path(__file__).parents[2]
QUESTION = "Who won the 2022 FIFA World Cup?"
DOMAINS = tomllib.loads((ROOT / "agent/evidence/domains.toml").read_text("utf-8"))


def domain(url: str) -> float:
    return rate_credibility(QUESTION, Hit(url=url), 2026).domain


@pytest.mark.parametrize(
    ("url", "score"),
    [
        ("https://www.mit.edu/a", 0.9),
        ("https://en.wikipedia.org/wiki/X", 0.8),
        ("https://www.bbc.co.uk/news", 0.8),
        ("https://notwikipedia.org/", 0.7),
        ("https://someblog.com/", 0.4),
        ("https://nature.com.evil.io/", 0.4),
        ("https://bbc.co.uk@evil.io/", 0.4),
        ("https://evil.io\\@bbc.co.uk/", 0.4),
        ("https://someone.wordpress.com/", 0.3),
        ("https://ijxyz.org/vol1", 0.3),
        ("https://www.theonion.com/x", 0.1),
        ("https://www.bbc.co.uk/sponsored/x", 0.3),
        ("file:///me/notes.md", 0.4),
        ("http://[", 0.4),
    ],
)
def test_domains_count_by_suffix_then_by_their_look(url: str, score: float) -> None:
    assert domain(url) == score


def test_the_formula() -> None:
    hit = Hit(url="https://a.com/", title="FIFA World Cup 2022", snippet="Argentina won in 2025.")
    found = rate_credibility(QUESTION, hit, 2026)
    assert (found.domain, found.relevance, found.recency) == (0.4, 1.0, 0.1)
    assert found.score == round(0.4 * 0.4 + 0.5 * 1.0 + 0.1, 2)


@pytest.mark.parametrize(
    ("url", "owner"),
    [
        ("https://news.bbc.co.uk/", "bbc.co.uk"),
        ("https://de.wikipedia.org/wiki/X", "wikipedia.org"),
        ("https://ann.wordpress.com/x", "ann.wordpress.com"),
        ("https://a.municipio.gob.mx/", "municipio.gob.mx"),
        ("http://127.0.0.1:80/x", ""),
        ("notes.md", ""),
    ],
)
def test_subdomains_have_one_owner_where_not_everybody_may_have_one(url: str, owner: str) -> None:
    assert host_owner(url) == owner


URLS = st.text() | st.text("htp:/[]@\\.eduorg-%#?1", max_size=40).map("http://".__add__)


@given(st.text(), st.builds(Hit, url=URLS, title=st.text(), snippet=st.text()))
def test_scores_stay_between_0_and_1(question: str, hit: Hit) -> None:
    found = rate_credibility(question, hit, 2026)
    assert 0 <= found.score <= 1 and found.reason


def scored(*scores: float) -> list[tuple[str, Credibility]]:
    """Pairs named a, b, c with these scores."""
    parts = {"domain": 0.4, "relevance": 0.0, "recency": 0.0, "reason": "a general site"}
    return [(chr(97 + i), Credibility(score=score, **parts)) for i, score in enumerate(scores)]


def test_a_threshold_never_leaves_nothing_and_says_so() -> None:
    blocked, note = find_blocked(scored(0.5, 0.9, 0.2, 0.51), Blocking("source-design", 0.5))
    assert (list(blocked.items()), note) == ([("a", 0.5), ("c", 0.2)], "")
    found = scored(0.1, 0.4, 0.2, 0.5, 0.4)
    blocked, note = find_blocked(found, Blocking("source-design", 0.5))
    assert list(blocked.items()) == [("a", 0.1), ("c", 0.2)]
    assert "above 0.5" in note and "the best 3 of 5" in note


def test_a_report_blocks_by_the_host_alone_or_as_specified() -> None:
    urls = ("https://some-site.com/", "https://www.theonion.com/", "https://www.nature.com/")
    found = [(url, rate_credibility(QUESTION, Hit(url=url), 2026)) for url in urls]
    assert find_blocked(found, Blocking()) == ({urls[1]: 0.1}, "")
    blocked, note = find_blocked(found, Blocking("source-design"))
    assert set(blocked) == set() and "above 0.5" in note, "none has a word of the question"
    assert set(find_blocked(found, Blocking("source-design", 0.3))[0]) == set(urls[:2])
    assert set(find_blocked(found, Blocking("host", 0.4))[0]) == set(urls[:2])


@given(st.lists(st.floats(0, 1)), st.floats(0, 1))
def test_what_passes_is_never_worse_than_the_rest(scores: list[float], threshold: float) -> None:
    given_scores = scored(*scores)
    blocked, note = find_blocked(given_scores, Blocking("source-design", threshold))
    passed = [one.score for name, one in given_scores if name not in blocked]
    assert len(passed) + len(blocked) == len(scores) and bool(passed) == bool(scores)
    assert blocked == {name: one.score for name, one in given_scores if name in blocked}
    assert all(score <= min(passed) for score in blocked.values())
    assert bool(note) == (bool(scores) and max(scores) <= threshold)


def test_each_listed_host_is_named_once_and_gets_the_score_of_its_class() -> None:
    hosts = {name: row.get("hosts", "").split() for name, row in DOMAINS.items()}
    names = [host for row in hosts.values() for host in row]
    assert len(names) == len(set(names))
    for name, row in DOMAINS.items():
        assert 0 <= row["score"] <= 1 and row["reason"]
        assert sum(key in row for key in ("hosts", "look", "path")) == 1
        for host in hosts[name]:
            assert domain(f"https://www.{host}/a") == row["score"], host
