"""The report's table of errors, row by row: what fails, and how the run goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.cli import run_cli
from agent.run import research
from agent.settings import Settings
from agent.state import Blocked, Failed, Searched
from agent.strategies.report.strategy import TURNS_USED_UP
from tests.support.report_runs import (
    BORN,
    FIRM,
    STAGES,
    TOPIC,
    report_settings,
    run_checked_report,
    script_replies,
    serve_report_world,
)
from tests.support.reporter import fetch_calls, search_calls
from tests.support.services import ModelRequest, Raw, Reply, Services

world = pytest.fixture(serve_report_world)
settings = pytest.fixture(report_settings)


def test_row_missing_key(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["--strategy", "report", TOPIC]) == 1
    out, err = capfd.readouterr()
    assert json.loads(out)["error"]["kind"] == "not_configured"
    assert "GEMINI_API_KEY is not set. Add it to .env" in err


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_row_gemini_is_busy(status: int, world: Services, settings: Settings) -> None:
    """Three retries on a model, then the next, with a fresh count: also between turns."""
    honest = world.think

    def busy(asked: ModelRequest) -> Reply:
        if asked.model == "gemini-3.8-flash" and asked.results:
            return Raw(status, "{}")
        return honest(asked)

    world.think = busy
    run, answer = run_checked_report(TOPIC, settings)
    models = [asked.model for asked in world.model_requests]
    first, second = settings.gemini_model, settings.gemini_fallback_models[0]
    assert models == [first] * 2 + [first] * 4 + [second] * 9
    assert answer.status == "complete" and answer.degraded
    moved = world.model_requests[6]
    # the new model is told in words what the old one did: its signatures are worth nothing here
    assert not moved.results and '<call tool="search_web">' in moved.prompt
    assert f'<hit url="{world.url(FIRM)}"' in moved.prompt


def test_row_gemini_down_for_good(world: Services, settings: Settings) -> None:
    """After the plan nobody answers: what can be is done without a model."""
    honest = world.think
    world.think = lambda asked: honest(asked) if asked.task == "plan" else Raw(503, "{}")
    run, answer = run_checked_report(TOPIC, settings)
    assert answer.degraded and answer.status in ("complete", "insufficient")
    assert "founder of Velmora Works" in world.search_queries and FIRM in world.page_requests


def test_a_stage_without_a_model_is_named(world: Services, settings: Settings) -> None:
    script_replies(world, *["prose"] * 4, task="gaps")  # two of each model
    _, answer = run_checked_report(TOPIC, settings)
    assert answer.status == "complete" and answer.degraded
    assert answer.warnings[0].startswith("No model was used for: gaps.")


def test_row_search_failure(world: Services, settings: Settings) -> None:
    """The query has no results; research goes on."""
    honest = world.hits
    world.hits = lambda query: Raw(500, "down") if query == "a query that fails" else honest(query)
    run, answer = run_checked_report(TOPIC, settings)
    assert answer.status == "complete" and world.tasks() == STAGES
    assert [e.subject for e in run.research.events_of(Failed) if e.what == "search"] == [
        "a query that fails"
    ]
    failed = json.loads(world.model_requests[2].results[0][1])
    assert failed["error"].startswith("no results: ")


def test_row_every_search_fails(world: Services, settings: Settings) -> None:
    world.hits = lambda query: Raw(500, "down")
    _, answer = run_checked_report(TOPIC, settings)
    assert answer.status == "error" and answer.error and "serpapi" in answer.error.message
    assert "draft" not in world.tasks()


def test_row_fetch_timeout(world: Services, settings: Settings) -> None:
    world.pages[FIRM] = Raw(200, "late", delay=3)
    world.hits = lambda query: [FIRM, BORN]
    quick = settings.model_copy(update={"page_timeout": 0.5})
    run, answer = run_checked_report(TOPIC, quick)
    assert [e.outcome for e in run.research.events_of(Failed)] == ["timeout"]
    assert "cannot be read" in json.loads(world.model_requests[3].results[1][0])["error"]
    assert [source.page.title for source in run.research.sources] == [BORN]
    assert answer.answer == "The city is Uppsala [1]."


def test_row_not_html(world: Services, settings: Settings) -> None:
    """A binary is skipped. (A PDF is read here: more than the row asks for.)"""
    world.pages[FIRM] = Raw(200, "\x00\x01\x02" * 500, {"Content-Type": "application/octet-stream"})
    world.hits = lambda query: [FIRM, BORN]
    run, answer = run_checked_report(TOPIC, settings)
    assert [e.outcome for e in run.research.events_of(Failed)] == ["unsupported"]
    assert answer.answer == "The city is Uppsala [1]." and answer.sources.failed == 1


def test_row_credibility_block(
    world: Services, settings: Settings, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run, answer = run_checked_report(TOPIC, settings)
    assert [event.score for event in run.research.events_of(Blocked)] == [0.16]
    assert json.loads(world.model_requests[3].results[1][1])["error"].startswith(
        "blocked: its credibility"
    )
    assert "noise" not in world.page_requests and answer.sources.blocked == 1
    run, answer = run_checked_report(TOPIC, settings.model_copy(update={"min_credibility": 0.1}))
    assert not run.research.events_of(Blocked) and "noise" in world.page_requests


BAD_CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown tool": ({"name": "run_shell", "arguments": {"query": "rm"}}, "there is no tool"),
    "no argument": ({"name": "search_web", "arguments": {}}, "needs the argument 'query'"),
    "wrong argument": ({"name": "fetch_page", "arguments": {"page": "x"}}, "needs the argument"),
    "wrong type": ({"name": "search_web", "arguments": {"query": ["a"]}}, "needs the argument"),
    "blank": ({"name": "search_web", "arguments": {"query": " \n "}}, "needs the argument"),
    "unnamed url": (
        {"name": "fetch_page", "arguments": {"url": "http://x.example/"}},
        "only pages",
    ),
    "no url": ({"name": "fetch_page", "arguments": {"url": "http://[::bad"}}, "only pages"),
    "private": ({"name": "fetch_page", "arguments": {"url": "file:///etc/passwd"}}, "only pages"),
}


@pytest.mark.parametrize("kind", BAD_CALLS)
def test_row_tool_error(kind: str, world: Services, settings: Settings) -> None:
    """The model is told, as JSON; nothing goes outside, no turn is used, research continues."""
    call, fault = BAD_CALLS[kind]
    script_replies(world, [call, *search_calls("founder of Velmora Works")], [call])
    run, answer = run_checked_report(TOPIC, settings)
    told = json.loads(world.model_requests[2].results[0][0])
    assert fault in told["error"]
    assert answer.status == "complete" and not answer.degraded
    assert set(world.page_requests) <= set(world.pages) | {"velmora-works-founder-born-gone"}
    assert all("passwd" not in name and "x.example" not in name for name in world.page_requests)


def test_row_max_iterations(
    world: Services, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """A report from what there is, a warning on stderr, status partial."""
    honest = world.think

    def endless(asked: ModelRequest) -> Reply:
        if asked.task != "gather":
            return honest(asked)
        return {
            "calls": [
                *search_calls(f"founder {len(world.model_requests)}"),
                *fetch_calls(world.url(FIRM)),
            ]
        }

    world.think, world.hits = endless, lambda query: [FIRM, BORN]
    for name, value in world.environment(tmp_path, CACHE_TTL="0").items():
        monkeypatch.setenv(name, value)
    assert run_cli(["--strategy", "report", TOPIC]) == 0
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert "Warning: max iterations reached — report may be incomplete." in err.splitlines()
    assert answer["status"] == "partial" and TURNS_USED_UP in answer["warnings"]
    assert world.tasks() == ["plan", *["gather"] * 5, "gaps", *["gather"] * 5, "draft", "verify"]
    assert answer["answer"] == "The founder is Ada Lindqvist [1]."


def test_row_max_iterations_without_gaps_is_no_warning(world: Services, settings: Settings) -> None:
    """The first round used up its turns, and nothing is open."""
    script_replies(world, {"gaps": [], "follow_up_queries": []}, task="gaps")
    _, answer = run_checked_report(TOPIC, settings.model_copy(update={"max_iterations": 4}))
    assert answer.status == "complete" and TURNS_USED_UP not in answer.warnings


def test_row_cancel(world: Services, settings: Settings) -> None:
    """Who goes away ends the run: nothing more is asked."""
    run = research(TOPIC, settings)
    events = iter(run)
    for event in events:
        if isinstance(event, Searched):
            break
    events.close()  # type: ignore[attr-defined]
    assert world.tasks() == ["plan", "gather"] and not world.page_requests
