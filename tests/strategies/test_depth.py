"""What `--depth` sets, and what an estimate makes of strategy and depth."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import UsageError
from agent.run.begin import research
from agent.run.estimate import estimate
from agent.settings import DEPTHS, Effort, Settings, parse_settings
from tests.support.worlds import read_journal_lines

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


def test_a_resumed_run_is_as_deep_as_it_was_begun(tmp_path: Path) -> None:
    begun = Settings(offline=True, depth="deep", runs_dir=tmp_path, cache_dir=tmp_path)
    topic = "Who founded LEGO?"
    first = research(topic, begun, resume="deep")
    first.answer()
    header = read_journal_lines(tmp_path / "deep.jsonl")[0]["settings"]
    assert (header["depth"], header["max_steps"]) == ("deep", 8)
    assert header["effort"]["evidence_tokens"] == 8000
    quick = begun.model_copy(update={"depth": "quick", "effort": Effort(evidence_tokens=2000)})
    again = research(topic, quick, resume="deep")
    again.answer()
    assert [e.type for e in again.research.events] == [e.type for e in first.research.events]


def test_an_estimate_knows_strategy_and_depth() -> None:
    def calls(strategy: str, depth: str) -> float:
        given = parse_settings(KEY, strategy=strategy, depth=depth)
        made = estimate("Who founded LEGO?", given)
        assert made.calls.min < made.calls.max and made.tokens.min < made.tokens.max
        return made.calls.max

    for strategy in ALL:
        assert calls(strategy, "quick") <= calls(strategy, "normal") < calls(strategy, "deep")
    assert calls("slots", "normal") != calls("loop", "normal")


@pytest.mark.parametrize("strategy", ALL)
def test_an_estimate_counts_the_judge_at_least_once(strategy: str) -> None:
    rules, model = (
        estimate("Who founded LEGO?", parse_settings(KEY, strategy=strategy, verify=how))
        for how in ("rules", "model")
    )
    assert model.calls.min == rules.calls.min + 1 and model.tokens.min > rules.tokens.min


def test_the_function_is_the_packages_own() -> None:
    import agent
    from agent import research as begin
    from agent.run.begin import research as the_same

    assert begin is agent.research is the_same
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agent.nothing  # noqa: B018 - asking is the test


def test_settings_are_those_of_the_environment_unless_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RESEARCH_AGENT_LLM", "extractive")
    monkeypatch.setenv("SEARCH_PROVIDERS", "nobody")
    with pytest.raises(UsageError, match="nobody"):
        research("Who founded LEGO?")


def test_an_answer_runs_the_run_once(tmp_path: Path) -> None:
    settings = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path)
    run = research("Who founded LEGO?", settings)
    first, events = run.answer(), len(run.research.events)
    assert first.status == "complete" and run.answer().answer == first.answer
    assert len(run.research.events) == events > 5


@pytest.mark.parametrize("strategy", ALL)
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
