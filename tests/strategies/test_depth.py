"""What `--depth` sets, and what an estimate makes of strategy and depth."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import UsageError
from agent.run.begin import research
from agent.run.estimate import estimate
from agent.settings import DEPTHS, Settings, parse_settings

ALL, KEY = ("slots", "loop", "report"), {"GEMINI_API_KEY": "x"}


def test_a_depth_sets_what_is_not_given() -> None:
    quick, normal, deep = (Settings(depth=d) for d in ("quick", "normal", "deep"))
    assert quick.max_iterations == normal.max_iterations < deep.max_iterations
    for name in ("max_rounds", "max_steps", "max_words"):
        assert getattr(quick, name) < getattr(normal, name) < getattr(deep, name)
    for name in ("pages_per_query", "pages_per_step", "report_tokens", "evidence_tokens"):
        sizes = [getattr(one.effort, name) for one in (quick, normal, deep)]
        assert sizes == sorted(set(sizes)) and len(sizes) == 3
    assert normal == Settings() and normal.max_seconds is None
    assert quick.max_tokens and deep.max_tokens and quick.max_tokens < deep.max_tokens
    assert deep.max_seconds == 600


def test_what_is_given_wins_over_the_depth() -> None:
    asked = parse_settings({}, depth="deep", max_rounds=1, max_usd=0.5)
    assert (asked.max_rounds, asked.effort.double_check, asked.max_usd) == (1, True, 0.5)
    assert asked.max_steps == DEPTHS["deep"]["max_steps"]
    with pytest.raises(UsageError, match="--depth"):
        parse_settings({}, depth="bottomless")


def test_an_estimate_knows_strategy_and_depth() -> None:
    def calls(strategy: str, depth: str) -> float:
        given = parse_settings(KEY, strategy=strategy, depth=depth)
        made = estimate("Who founded LEGO?", given)
        assert made.calls.min < made.calls.max and made.tokens.min < made.tokens.max
        return made.calls.max

    for strategy in ALL:
        assert calls(strategy, "quick") <= calls(strategy, "normal") < calls(strategy, "deep")
    assert calls("slots", "normal") != calls("loop", "normal")


def test_settings_are_those_of_the_environment_unless_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RESEARCH_AGENT_LLM", "extractive")
    monkeypatch.setenv("SEARCH_PROVIDERS", "nobody")
    with pytest.raises(UsageError, match="nobody"):
        research("Who founded LEGO?")


@pytest.mark.parametrize("strategy", ["slots", "report"])
def test_a_run_that_is_left_early_says_so(strategy: str, tmp_path: Path) -> None:
    settings = parse_settings(
        {}, offline=True, strategy=strategy, runs_dir=tmp_path, cache_dir=tmp_path
    )
    run = research("Who founded LEGO?", settings)
    for event in run:
        if event.type == "searched":
            break
    answer = run.answer()
    assert answer.status == "error" and answer.error and answer.error.kind == "stopped"
    events = list(run.research.events)
    assert list(run) == events == run.research.events
