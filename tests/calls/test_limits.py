"""Limits: no window holds more than it may, whoever asks, and a refusal slows everybody down."""

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


def test_processes_share_a_file_and_no_window_holds_more(tmp_path: Path) -> None:
    went = []
    for _ in range(3):  # as three processes would, one after another
        limits = SharedRateLimits({"gemini": RateLimit(2)}, tmp_path, 0.6)
        for _ in range(2):
            limits.wait("gemini", 0)
            went.append(time.time())
    assert all(later - sooner >= 0.5 for sooner, later in zip(went, went[2:], strict=False))


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "gemini-60.sqlite").write_bytes(b"no database, but as long as one" * 99)
    with pytest.raises(UsageError, match="cannot be counted"):
        SharedRateLimits({"gemini": RateLimit(2)}, tmp_path).wait("gemini", 0)


def test_tokens_are_counted_and_one_larger_than_the_limit_takes_all(tmp_path: Path) -> None:
    limits = SharedRateLimits({"gemini": RateLimit(100, tokens=50)}, tmp_path, 0.6)
    began = time.monotonic()
    for tokens in (20, 20, 500):
        limits.wait("gemini", tokens)
    assert time.monotonic() - began >= 0.5


def test_one_limit_for_all_threads(tmp_path: Path) -> None:
    given = {"gemini": RateLimit(10_000), "gemini:pro": RateLimit(6)}
    limits = SharedRateLimits(given, tmp_path, 0.6)
    turns, took = RateLimiter(limits), []

    def ask() -> None:
        turns.acquire("gemini", "pro")
        took.append(turns.seconds_waited())

    threads = [threading.Thread(target=ask) for _ in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(took) == 9 and turns.seconds_waited() > 0
    assert not turns.is_limited("openai", "pro") and turns.is_limited("gemini", "flash")


def test_a_limit_that_cannot_be_counted_is_told_before_anybody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    given = {"GEMINI_API_KEY": "k", "CACHE_DIR": str(tmp_path / "file")}
    with pytest.raises(UsageError, match="cannot be written"):
        research("a?", parse_settings({**given, "RESEARCH_AGENT_RATE_LIMITS": "gemini=3"}))


def test_rules() -> None:
    told = parse_rate_limits(["gemini=300", "openai=60/90000", "gemini:gemini-3.8-flash=5"])
    assert told == {
        "gemini": RateLimit(300),
        "openai": RateLimit(60, 90_000),
        "gemini:gemini-3.8-flash": RateLimit(5),
    }
    for wrong in ("gemini", "gemini=0", "gemini=-1", "=3", "gemini=3/0", "gemini=3/x"):
        with pytest.raises(UsageError, match="RESEARCH_AGENT_RATE_LIMITS"):
            parse_rate_limits([wrong])
        with pytest.raises(UsageError, match="RESEARCH_AGENT_RATE_LIMITS"):
            research(
                "a?", parse_settings({"GEMINI_API_KEY": "k", "RESEARCH_AGENT_RATE_LIMITS": wrong})
            )


def test_a_limit_of_nobody_is_told() -> None:
    """A misspelt name would limit nothing."""
    with pytest.raises(UsageError, match="no provider 'geminii'"):
        research(
            "a?",
            parse_settings(
                {"GEMINI_API_KEY": "k", "RESEARCH_AGENT_RATE_LIMITS": "serpapi=3,geminii:pro=3"}
            ),
        )


def test_a_run_waits_for_its_turn_and_nothing_is_given_up_for_it(
    services: Services, tmp_path: Path
) -> None:
    """Each search waits longer than a group's patience, and a 429 is tried again."""
    serve_cups(services, 1)
    refusals = [Raw(429, "{}", {"Retry-After": "0"})]
    known = services.think
    services.think = lambda asked: refusals.pop() if refusals else known(asked)
    more = {
        "RESEARCH_AGENT_RATE_LIMITS": "serpapi=1,gemini=1000",
        "RESEARCH_AGENT_RATE_WINDOW": "0.5",
        "CACHE_TTL": "0",
    }
    settings = parse_settings(services.environment(tmp_path, **more), patience=0.01)
    run = research(cup_topic(1), settings)
    answer = run.answer()
    assert answer.status == "complete" and len(services.search_queries) == answer.usage.searches > 1
    assert not [row for row in answer.attempts if row.outcome == "missed"]
