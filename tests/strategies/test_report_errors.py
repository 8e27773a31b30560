"""The report where something fails, row by row; with each provider of models; cut and capped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent.cli import run_cli
from agent.run.begin import research
from agent.settings import Settings, parse_settings, replace_settings
from agent.state import Blocked, Failed, Halted, Searched
from agent.strategies.report.sections import TURNS_USED_UP
from tests.support.report_runs import (
    BORN,
    FIRM,
    STAGES,
    TOPIC,
    WRITING,
    report_settings,
    run_checked_report,
    script_replies,
    serve_report_world,
)
from tests.support.reporter import fetch_calls, search_calls
from tests.support.services import (
    ANTHROPIC_KEY,
    OPENAI_KEY,
    ModelRequest,
    Raw,
    Reply,
    Services,
    anthropic_error,
)


@pytest.fixture
def world(services: Services) -> Services:
    """The plan has questions: at the depth `quick` a model gathers with tools all the same."""
    return serve_report_world(services, True)


@pytest.fixture
def settings(services: Services, tmp_path: Path) -> Settings:
    return replace_settings(report_settings(services, tmp_path), {"depth": "quick"})


def test_row_missing_key(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["--strategy", "report", TOPIC]) == 1
    out, err = capfd.readouterr()
    assert json.loads(out)["error"]["kind"] == "not_configured"
    assert "GEMINI_API_KEY is not set. Add it to .env" in err
    with pytest.raises(ValueError, match=r"^GEMINI_API_KEY is not set\. Add it to \.env"):
        research(TOPIC, parse_settings({"RUNS_DIR": str(tmp_path / "none")}))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("status", [429, 503])
def test_row_gemini_is_busy(status: int, world: Services, settings: Settings) -> None:
    """Three retries on a model, then the next, with a fresh count: also between turns."""
    honest = world.think

    def busy(asked: ModelRequest) -> Reply:
        if asked.model == "gemini-3.8-flash" and asked.results:
            return Raw(status, "{}")
        return honest(asked)

    world.think = busy
    run, answer = run_checked_report(TOPIC, settings)
    assert parse_settings({}).llm_retry_waits == (2, 4, 8)
    models = [asked.model for asked in world.model_requests]
    first, second = settings.gemini_model, settings.gemini_fallback_models[0]
    assert models == [first] * 2 + [first] * 4 + [second] * (len(STAGES) - 1)
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
    assert answer.degraded and answer.status in ("partial", "insufficient")
    assert "founder of Velmora Works" in world.search_queries and FIRM in world.page_requests


def test_row_search_failure(world: Services, settings: Settings) -> None:
    """The query has no results; research goes on."""
    honest = world.hits
    world.hits = lambda query: Raw(500, "down") if query == "a query that fails" else honest(query)
    run, answer = run_checked_report(TOPIC, settings)
    assert answer.status == "complete" and world.tasks() == STAGES
    subjects = [e.subject for e in run.research.events_of(Failed) if e.what == "search"]
    assert subjects == ["a query that fails"]
    failed = json.loads(world.model_requests[2].results[0][1])
    assert failed["error"].startswith("no results: ")


def test_row_every_search_fails(world: Services, settings: Settings) -> None:
    world.hits = lambda query: Raw(500, "down")
    _, answer = run_checked_report(TOPIC, settings)
    assert answer.status == "error" and answer.error and "serpapi" in answer.error.message
    assert "section" not in world.tasks()


def test_row_not_html(world: Services, settings: Settings) -> None:
    """A binary is skipped. (A PDF is read here: more than the row asks for.)"""
    kind = {"Content-Type": "application/octet-stream"}
    world.pages[FIRM] = Raw(200, "\0\1\2" * 500, kind)
    world.hits = lambda query: [FIRM, BORN]
    run, answer = run_checked_report(TOPIC, settings)
    assert [e.outcome for e in run.research.events_of(Failed)] == ["unsupported"]
    assert "cannot be read" in json.loads(world.model_requests[3].results[1][0])["error"]
    assert answer.answer == "In short, the city is Uppsala [1]." and answer.sources.failed == 1


def test_row_credibility_block(world: Services, settings: Settings) -> None:
    run, answer = run_checked_report(TOPIC, settings)
    assert [event.score for event in run.research.events_of(Blocked)] == [0.16]
    told = json.loads(world.model_requests[3].results[1][1])["error"]
    assert told.startswith("blocked: its credibility")
    assert "noise" not in world.page_requests and answer.sources.blocked == 1
    run, answer = run_checked_report(TOPIC, settings.model_copy(update={"min_credibility": 0.1}))
    assert not run.research.events_of(Blocked) and "noise" in world.page_requests


@pytest.mark.parametrize(
    ("tool", "arguments", "fault"),
    [
        ("run_shell", {"query": "rm"}, "there is no tool"),
        ("fetch_page", {"page": "x"}, "needs the argument"),
        ("search_web", {"query": " \n "}, "needs the argument"),
        ("fetch_page", {"url": "http://[::bad"}, "only pages"),
        ("fetch_page", {"url": "file:///etc/passwd"}, "only pages"),
    ],
)
def test_row_tool_error(
    tool: str, arguments: dict[str, Any], fault: str, world: Services, settings: Settings
) -> None:
    """The model is told, as JSON; nothing goes outside, no turn is used, research continues."""
    call = {"name": tool, "arguments": arguments}
    script_replies(world, [call, *search_calls("founder of Velmora Works")], [call])
    run, answer = run_checked_report(TOPIC, settings)
    assert fault in json.loads(world.model_requests[2].results[0][0])["error"]
    assert answer.status == "complete" and not answer.degraded
    assert set(world.page_requests) <= set(world.pages) | {"velmora-works-founder-born-gone"}


def test_row_max_iterations(
    world: Services, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """A report from what there is, a warning on stderr, status partial."""
    found = fetch_calls(world.url(FIRM), world.url("noise"))
    calls = [search_calls(f"founder {n}") + found for n in range(99)]
    script_replies(world, *calls)
    world.hits = lambda query: [FIRM, BORN, "noise"]
    for name, value in world.environment(tmp_path, CACHE_TTL="0").items():
        monkeypatch.setenv(name, value)
    asked = ["--strategy", "report", "--depth", "quick", "--credibility", "source-design"]
    assert run_cli([*asked, TOPIC]) == 0
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert "Warning: max iterations reached — report may be incomplete." in err.splitlines()
    assert f"🚫 Blocked: {world.url('noise')} (credibility 0.16)" in err.splitlines()
    assert answer["status"] == "partial" and TURNS_USED_UP in answer["warnings"]
    turns = ["gather"] * 5  # those of the second round read nothing that is new
    assert world.tasks() == ["plan", *turns, "reflect", *turns, *WRITING]
    assert answer["answer"] == "In short, the founder is Ada Lindqvist [1]."


def test_a_single_iteration_still_ends_in_a_report(world: Services, settings: Settings) -> None:
    script_replies(world, search_calls("founder of Velmora Works"))
    world.hits = lambda query: [FIRM, BORN]
    _, answer = run_checked_report(
        TOPIC, settings.model_copy(update={"max_iterations": 1, "depth": "quick"})
    )
    assert world.tasks().count("gather") == 1 and answer.citations and answer.report


def test_row_cancel(world: Services, settings: Settings) -> None:
    """Who goes away ends the run: nothing more is asked."""
    run = research(TOPIC, settings)
    events = iter(run)
    for event in events:
        if isinstance(event, Searched):
            break
    events.close()  # type: ignore[attr-defined]
    assert world.tasks() == ["plan", "gather"] and not world.page_requests


ANSWER = "In short, the founder is Ada Lindqvist [1]. In short, the city is Uppsala [2]."


@pytest.fixture
def openai(world: Services, tmp_path: Path) -> Settings:
    more = {
        "RESEARCH_AGENT_LLM": "openai",
        "OPENAI_API_KEY": OPENAI_KEY,
        "OPENAI_MODEL": "some-model",
    }
    more |= {"OPENAI_BASE_URL": f"{world.base}/openai/v1", "CACHE_TTL": "0"}
    return parse_settings(world.environment(tmp_path, **more), strategy="report", depth="quick")


def see_turns_in_prompt(asked: ModelRequest) -> ModelRequest:
    """A request as a model takes it that sees the turns in its prompt alone."""
    shown = re.findall(r"<result>\n(.*?)\n</result>", asked.prompt, re.S)
    turns = [[told for told in shown if "<hit" in told], ["read"] * ("<source" in str(shown))]
    return asked._replace(results=tuple(tuple(turn) for turn in turns if turn))


def test_a_server_without_tools_is_asked_for_calls_as_json(
    world: Services, openai: Settings
) -> None:
    world.openai_takes_tools = False
    honest = world.think
    world.think = lambda asked: honest(see_turns_in_prompt(asked))
    _, answer = run_checked_report(TOPIC, openai)
    assert answer.answer == ANSWER
    assert world.forms.count("tools") == 1  # refused once, given up for the run
    prompt = world.model_requests[2].prompt
    assert "fetch_page" in prompt and "JSON Schema" not in prompt


def test_an_openai_server_with_tools_and_the_temperature_of_the_draft(
    world: Services, openai: Settings
) -> None:
    """0.3 as its design has it; a server that refuses it is asked without, for the whole run."""
    _, answer = run_checked_report(TOPIC, openai)
    assert answer.answer == ANSWER
    verify = ["verify"] * 2  # a server of one's own is shown one claim in a call
    stages = [*STAGES[:-3], *verify, "summary", *verify]
    heats = [body.get("temperature") for body in world.bodies]
    assert world.tasks() == stages and heats == [0.3 if s == "section" else None for s in stages]
    assert world.forms == ["tools" if task == "gather" else "json_schema" for task in stages]
    script_replies(
        world, Raw(400, json.dumps({"error": {"message": "temperature: only 1"}})), task="section"
    )
    world.model_requests.clear(), world.bodies.clear()
    _, answer = run_checked_report(TOPIC, openai)
    asked = zip(world.tasks(), world.bodies, strict=True)
    assert [body.get("temperature") for task, body in asked if task == "section"] == [0.3, None]
    assert answer.status == "complete"
    assert world.forms[-1] == "json_schema"  # the form of the reply was not given up for it


def test_broken_arguments_are_reported_to_the_model(world: Services, openai: Settings) -> None:
    broken = {"name": "search_web", "arguments": '{"query": "founder of Ve'}
    script_replies(world, [broken, *search_calls("founder of Velmora Works")])
    _, answer = run_checked_report(TOPIC, openai)
    assert "not a JSON object" in world.model_requests[2].results[0][0]
    assert answer.status == "complete" and not answer.degraded


def test_a_malformed_call_of_gemini_is_asked_for_again(world: Services, settings: Settings) -> None:
    body = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]}
    script_replies(world, Raw(200, json.dumps(body)))
    _, answer = run_checked_report(TOPIC, settings)
    assert answer.status == "complete" and not answer.degraded
    assert "the reply ended early (MALFORMED_FUNCTION_CALL)" in world.model_requests[2].prompt


@pytest.fixture
def claude(world: Services, tmp_path: Path) -> Settings:
    more = {"RESEARCH_AGENT_LLM": "anthropic", "ANTHROPIC_API_KEY": ANTHROPIC_KEY, "CACHE_TTL": "0"}
    more["ANTHROPIC_BASE_URL"] = f"{world.base}/anthropic"
    return parse_settings(world.environment(tmp_path, **more), strategy="report", depth="quick")


def test_claude_with_tools(world: Services, claude: Settings) -> None:
    _, answer = run_checked_report(TOPIC, claude)
    assert answer.answer == ANSWER and world.tasks() == STAGES
    assert world.forms == ["tools" if task == "gather" else "format" for task in STAGES]
    gathered = [body for body in world.bodies if "tools" in body]
    last = gathered[-1]["messages"][-1]["content"]
    assert last[0]["type"] == "tool_result" and "cache_control" in last[-1]
    thought = gathered[-1]["messages"][1]["content"][0]
    assert thought["type"] == "thinking" and thought["signature"], "a turn goes back as it came"


def test_thoughts_that_claude_does_not_take_back_are_sent_as_text(
    world: Services, claude: Settings
) -> None:
    """As after a correction, which is not part of the conversation that follows."""
    honest = world.think

    def think(asked: ModelRequest) -> Reply:
        if asked.task == "gather" and asked.results:
            said = "messages.1.content.0: `thinking` block is bound to another conversation"
            return anthropic_error(400, "invalid_request_error", said)
        return honest(see_turns_in_prompt(asked) if asked.task == "gather" else asked)

    world.think = think
    _, answer = run_checked_report(TOPIC, claude)
    assert answer.answer == ANSWER
    assert sum(bool(asked.results) for asked in world.model_requests) == 1


@pytest.mark.parametrize("cap", [{"max_calls": 9}, {"max_tokens": 7_000}])
def test_a_budget_ends_in_a_report_from_what_there_is(
    cap: dict[str, int], world: Services, settings: Settings
) -> None:
    run, answer = run_checked_report(TOPIC, settings.model_copy(update=cap))
    assert answer.status == ("partial" if answer.citations else "insufficient")
    assert run.research.events_of(Halted)
    assert {"section", "summary", "verify"} & set(world.tasks()[-2:]) or answer.degraded
    made = answer.usage.llm_calls + answer.usage.searches + len(world.page_requests)
    assert made <= cap.get("max_calls", made)
    if FIRM in world.page_requests:
        assert "founder is Ada Lindqvist" in answer.answer
