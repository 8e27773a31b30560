"""Rate limits: no window holds more calls than it may, over threads and processes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from agent.calls.rate_limits import (
    RateLimit,
    RateLimiter,
    SharedRateLimits,
    parse_rate_limits,
)
from agent.errors import UsageError
from agent.run.begin import research
from agent.settings import parse_settings
from tests.support.cups import cup_topic, serve_cups
from tests.support.services import Raw, Services


def test_processes_and_threads_share_a_file_and_no_window_holds_more(tmp_path: Path) -> None:
    went: list[float] = []

    def ask() -> None:  # each with an object of its own, as a process has
        limits = SharedRateLimits(
            {"gemini": RateLimit(99), "gemini:pro": RateLimit(2)}, tmp_path, 0.6
        )
        turns = RateLimiter(limits)
        assert not turns.is_limited("openai", "pro") and turns.is_limited("gemini", "flash")
        turns.acquire("gemini", "pro")
        went.append(time.time())

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    went.sort()
    assert len(went) == 6
    assert all(later - sooner >= 0.5 for sooner, later in zip(went, went[2:], strict=False))


def test_a_file_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gemini-60.sqlite").write_bytes(b"no database, but as long as one" * 99)
    with pytest.raises(UsageError, match="cannot be counted"):
        SharedRateLimits({"gemini": RateLimit(2)}, tmp_path).wait("gemini", 0)


def test_tokens_are_counted_and_one_larger_than_the_limit_takes_all(tmp_path: Path) -> None:
    limits = SharedRateLimits({"gemini": RateLimit(100, tokens=50)}, tmp_path, 0.6)
    began = time.monotonic()
    for tokens in (20, 20, 500):
        limits.wait("gemini", tokens)
    assert time.monotonic() - began >= 0.5


def begin(folder: Path, limits: str) -> None:
    given = {"GEMINI_API_KEY": "k", "CACHE_DIR": str(folder), "RESEARCH_AGENT_RATE_LIMITS": limits}
    research("a?", parse_settings(given))


def test_a_limit_that_cannot_be_counted_is_reported_before_any_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UsageError, match="cannot be written"):
        begin(tmp_path / "file", "gemini=3")


def test_limits_are_parsed_or_refused(tmp_path: Path) -> None:
    assert parse_rate_limits(["gemini=300", "openai=60/90000", "gemini:gemini-3.8-flash=5"]) == {
        "gemini": RateLimit(300),
        "openai": RateLimit(60, 90_000),
        "gemini:gemini-3.8-flash": RateLimit(5),
    }
    for wrong in ("gemini", "gemini=0", "gemini=-1", "=3", "gemini=3/0", "gemini=3/x"):
        with pytest.raises(UsageError, match="RESEARCH_AGENT_RATE_LIMITS"):
            begin(tmp_path, wrong)
    with pytest.raises(UsageError, match="no provider 'geminii'"):  # it would limit nothing
        begin(tmp_path, "serpapi=3,geminii:pro=3")


def test_a_run_waits_for_its_turn_and_nothing_is_given_up_for_it(
    services: Services, tmp_path: Path
) -> None:
    """Each search waits longer than a group's patience, and a 429 is tried again."""
    serve_cups(services, 1)
    refusals = [Raw(429, "{}", {"Retry-After": "0"})]
    think = services.think
    services.think = lambda request: refusals.pop() if refusals else think(request)
    more = {
        "RESEARCH_AGENT_RATE_LIMITS": "serpapi=1,gemini=1000",
        "RESEARCH_AGENT_RATE_WINDOW": "0.5",
        "CACHE_TTL": "0",
    }
    settings = parse_settings(services.environment(tmp_path, **more), patience=0.01)
    answer = research(cup_topic(1), settings).answer()
    assert answer.status == "complete" and len(services.search_queries) == answer.usage.searches > 1
    assert not [row for row in answer.attempts if row.outcome == "missed"]
