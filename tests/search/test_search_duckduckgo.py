"""DuckDuckGo: what `ddgs` is asked, and what its exceptions are taken to mean."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import ddgs
import pytest

from agent.search.duckduckgo import DuckDuckGo
from agent.state import Hit, Outcome
from tests.support.search_wire import (
    STRICT,
    DDGSException,
    FakeDDGS,
    RatelimitException,
    TimeoutException,
    failure,
    fake_duckduckgo,
)

ROW = {"href": "https://a.org/", "title": "T", "body": "S"}


def test_what_duckduckgo_is_asked_and_replies() -> None:
    fake = FakeDDGS([ROW], DDGSException("No results found."))
    provider = fake_duckduckgo(fake, STRICT)
    assert provider.search("q") == (Hit(url="https://a.org/", title="T", snippet="S"),)
    assert provider.search("q") == ()
    assert fake.asked[0] == {
        "query": "q (site:a.org OR site:b.org) -site:c.org",
        "region": "de-de",
        "timelimit": "w",
        "max_results": 10,
    }


@pytest.mark.parametrize(
    ("answer", "outcome", "tries"),
    [
        (RatelimitException("429"), "rate_limited", 3),
        (TimeoutException("x"), "timeout", 1),
        (DDGSException("... operation timed out"), "timeout", 1),
        (ValueError("parse"), "unavailable", 1),
    ],
)
def test_duckduckgo_failures(answer: Exception, outcome: Outcome, tries: int) -> None:
    fake = FakeDDGS(answer)
    assert failure(fake_duckduckgo(fake)).outcome == outcome
    assert len(fake.asked) == tries


def test_duckduckgo_goes_on_after_a_rate_limit() -> None:
    fake, pauses = FakeDDGS(RatelimitException(""), RatelimitException(""), [ROW]), list[float]()
    assert DuckDuckGo(client=fake, pause=pauses.append).search("q")
    assert len(fake.asked) == 3 and pauses == [1.0, 2.0]


def test_duckduckgo_that_hangs_ends_at_the_deadline() -> None:
    over = threading.Event()

    class Hangs(FakeDDGS):
        def text(self, **asked: Any) -> Any:
            over.wait()

    assert failure(fake_duckduckgo(Hangs(None), timeout=0.1)).outcome == "timeout"
    over.set()


def test_duckduckgo_asks_what_the_installed_ddgs_takes() -> None:
    fake = FakeDDGS([])
    fake_duckduckgo(fake).search("q")
    assert set(fake.asked[0]) <= set(inspect.signature(ddgs.DDGS._search_sync).parameters)
    assert "timeout" in inspect.signature(ddgs.DDGS).parameters
