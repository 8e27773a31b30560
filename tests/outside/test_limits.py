"""Limits: no window holds more than it may, whoever asks, and a refusal slows everybody down."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import UsageError
from agent.outside.rate_limits import (
    MAX_RESERVATIONS,
    FileCounterStore,
    RateLimiter,
    RateLimits,
    parse_rate_limits,
)
from agent.outside.rate_window import (
    MAX_SEND_DELAY,
    SLICES,
    RateLimit,
    WindowState,
    record_refusal,
    reserve,
)
from agent.run import research
from agent.settings import parse_settings
from tests.support.cups import cup_topic, serve_cups
from tests.support.services import Raw, Services

WINDOW = 60.0


def drive(rate: RateLimit, gaps: list[float], tokens: list[int]) -> list[tuple[float, int]]:
    """When each of a queue of requests went, the next coming so long after the one before."""
    now, sent, went = 1_000.3, WindowState(), []
    for gap, size in zip(gaps, tokens, strict=True):
        now += gap
        while True:
            wait, sent = reserve(sent, rate, size, now, WINDOW)
            if not wait:
                break
            now += wait
        went.append((now, size))
    return went


@given(
    st.integers(1, 400),
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.01, 0.5, 7.0, 90.0]),
            st.integers(0, 40),
            st.sampled_from([0.0, 0.5, 0.99]),
        ),
        max_size=150,
    ),
)
def test_no_window_holds_more_than_the_limit(
    requests: int, asked: list[tuple[float, int, float]]
) -> None:
    """Though some take almost a slice from where they are counted to the provider."""
    rate = RateLimit(requests, tokens=100)
    gone = drive(rate, [gap for gap, _, _ in asked], [size for _, size, _ in asked])
    lates = [part * MAX_SEND_DELAY * WINDOW / SLICES for _, _, part in asked]
    went = sorted((at + late, size) for (at, size), late in zip(gone, lates, strict=True))
    for i, (start, _) in enumerate(went):
        inside = [size for at, size in went[i:] if at < start + WINDOW]
        assert len(inside) <= requests and sum(inside) <= 100


@pytest.mark.slow
@pytest.mark.parametrize("requests", [5, 60, 300, 1000])
def test_almost_all_of_the_limit_is_used_and_not_in_bursts(requests: int) -> None:
    went = [
        at for at, _ in drive(RateLimit(requests), [0.0] * (4 * requests), [0] * (4 * requests))
    ]
    minutes = (went[-1] - went[0]) / WINDOW
    assert len(went) / (minutes + 1 / requests) >= 0.95 * requests
    width = WINDOW / SLICES
    assert max(sum(at <= other < at + width for other in went) for at in went) <= 2 * max(
        1, -(-requests * 11 // (10 * SLICES))
    )


def test_a_request_larger_than_the_limit_goes_alone() -> None:
    went = drive(RateLimit(100, tokens=50), [0.0] * 3, [10, 500, 10])
    assert went[1][0] - went[0][0] >= WINDOW and went[2][0] - went[1][0] >= WINDOW


def test_a_refusal_slows_everybody_and_the_rate_comes_back() -> None:
    sent, rate, now = record_refusal(WindowState(), 4.0, 1000.0, WINDOW), RateLimit(600), 1000.0
    assert reserve(sent, rate, 0, now, WINDOW)[0] == 4.0
    again = record_refusal(sent, 0.0, 1001.0, WINDOW)  # it was under way together with the first
    assert again.share == sent.share == 0.7 and again.rest == 1004.0
    assert record_refusal(sent, 0.0, 1010.0, WINDOW).share < 0.7
    assert record_refusal(sent, 1e9, 1010.0, WINDOW).rest <= 1010 + 600

    def in_a_slice(at: float) -> int:
        kept, count = sent, 0
        while not (step := reserve(kept, rate, 0, at, WINDOW))[0]:
            kept, count = step[1], count + 1
        return count

    assert [in_a_slice(at) for at in (1005.0, 1040.0, 1090.0)] == [4, 5, 6]


def test_processes_share_a_file_and_a_new_one_knows_what_was_sent(tmp_path: Path) -> None:
    clock = [5000.0]

    def files() -> FileCounterStore:
        return FileCounterStore(tmp_path, {"gemini": RateLimit(3)}, WINDOW, lambda: clock[0])

    assert files().reserve("gemini", 0) == 0.0
    assert files().reserve("gemini", 0) > 0  # one in each slice
    for _ in range(2):
        clock[0] += 1
        assert files().reserve("gemini", 0) == 0.0
    clock[0] += 50
    assert files().reserve("gemini", 0) > 0
    clock[0] += 10
    assert files().reserve("gemini", 0) == 0.0
    for file in tmp_path.iterdir():
        file.write_bytes(b'{"slices": [{"n"')
    assert files().reserve("gemini", 0) == 0.0


class Slow:
    """A store that tells each turn after some milliseconds."""

    def __init__(self) -> None:
        self.took = 0

    def reserve(self, name: str, tokens: int) -> float:
        time.sleep(0.005)
        self.took += 1
        return 0.0

    def report_refusal(self, name: str, seconds: float) -> None:
        pass


@pytest.mark.parametrize(("window", "turns"), [(1e6, 1), (0.06, MAX_RESERVATIONS)])
def test_a_turn_that_is_told_late_is_taken_anew(window: float, turns: int) -> None:
    """It was counted too early; but where every turn is late, nothing waits for ever."""
    store = Slow()
    RateLimits({"gemini": RateLimit(9)}, store, window).wait("gemini", 0)
    assert store.took == turns


def test_one_limit_for_all_threads(tmp_path: Path) -> None:
    given = {"gemini": RateLimit(10_000), "gemini:pro": RateLimit(6)}
    limits = RateLimits(given, FileCounterStore(tmp_path, given, 0.6), 0.6)
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
    """Each search waits longer than a group's patience; a 429 of the model lowers its rate."""
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
    kept: Any = WindowState.model_validate_json(
        (tmp_path / "cache/limits/gemini-0.5.json").read_text()
    )
    assert kept.share == pytest.approx(0.7) and kept.cut > 0
