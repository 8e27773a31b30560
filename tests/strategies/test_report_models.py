"""The report with each provider of models: tools, JSON, temperature, broken calls."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent.settings import Settings, parse_settings
from tests.support.report_runs import (
    STAGES,
    TOPIC,
    report_settings,
    run_checked_report,
    script_replies,
    serve_report_world,
)
from tests.support.reporter import search_calls
from tests.support.services import (
    ANTHROPIC_KEY,
    OPENAI_KEY,
    ModelRequest,
    Raw,
    Reply,
    Services,
    anthropic_error,
)

world = pytest.fixture(serve_report_world)
settings = pytest.fixture(report_settings)


@pytest.fixture
def openai(world: Services, tmp_path: Path) -> Settings:
    more = {
        "LLM": "openai",
        "OPENAI_API_KEY": OPENAI_KEY,
        "OPENAI_BASE_URL": f"{world.base}/openai/v1",
        "OPENAI_MODEL": "some-model",
        "CACHE_TTL": "0",
    }
    return parse_settings(world.environment(tmp_path, **more), strategy="report")


def test_an_openai_server_with_tools(world: Services, openai: Settings) -> None:
    _, answer = run_checked_report(TOPIC, openai)
    assert answer.answer == "The founder is Ada Lindqvist [1]. The city is Uppsala [2]."
    stages = [*STAGES, "verify"]  # a server of one's own is shown one claim in a call
    assert world.tasks() == stages
    wanted = ["tools" if task == "gather" else "json_schema" for task in stages]
    assert world.forms == wanted


def test_a_server_without_tools_is_asked_for_calls_as_json(
    world: Services, openai: Settings
) -> None:
    world.openai_takes_tools = False
    honest = world.think

    def think(asked: ModelRequest) -> Reply:
        """It sees the turns in its prompt alone."""
        shown = re.findall(r"<result>\n(.*?)\n</result>", asked.prompt, re.S)
        turns = [[told for told in shown if "<hit" in told], ["read"] * ("<source" in str(shown))]
        return honest(asked._replace(results=[turn for turn in turns if turn]))

    world.think = think
    _, answer = run_checked_report(TOPIC, openai)
    assert answer.answer == "The founder is Ada Lindqvist [1]. The city is Uppsala [2]."
    assert world.forms.count("tools") == 1  # refused once, given up for the run
    assert (
        "fetch_page" in world.model_requests[2].prompt
        and "JSON Schema" not in world.model_requests[2].prompt
    )


def test_the_temperature_of_the_draft(world: Services, openai: Settings) -> None:
    """0.3 as its design has it; a server that refuses it is asked without, for the whole run."""
    run_checked_report(TOPIC, openai)
    sent = [(asked.task, body.get("temperature")) for asked, body in zip(*seen(world), strict=True)]
    assert {task for task, heat in sent if heat is not None} == {"draft"}
    assert ("draft", 0.3) in sent
    refusals = iter([Raw(400, json.dumps({"error": {"message": "temperature: only 1"}}))])
    honest = world.think
    world.think = lambda asked: (asked.task == "draft" and next(refusals, None)) or honest(asked)
    world.model_requests.clear(), world.bodies.clear()
    _, answer = run_checked_report(TOPIC, openai)
    asked = [
        body.get("temperature") for a, body in zip(*seen(world), strict=True) if a.task == "draft"
    ]
    assert asked == [0.3, None] and answer.status == "complete"
    assert world.forms[-1] == "json_schema"  # the form of the reply was not given up for it


def seen(world: Services) -> tuple[list[ModelRequest], list[dict[str, Any]]]:
    return world.model_requests, world.bodies


def test_no_temperature_for_gemini(world: Services, settings: Settings) -> None:
    run_checked_report(TOPIC, settings)
    assert world.bodies and all(
        "temperature" not in body.get("generationConfig", {}) for body in world.bodies
    )


def test_broken_arguments_are_told_to_the_model(world: Services, openai: Settings) -> None:
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
    assert "the call of a tool was malformed" in world.model_requests[2].prompt


@pytest.fixture
def claude(world: Services, tmp_path: Path) -> Settings:
    more = {
        "LLM": "anthropic",
        "ANTHROPIC_API_KEY": ANTHROPIC_KEY,
        "ANTHROPIC_BASE_URL": f"{world.base}/anthropic",
        "CACHE_TTL": "0",
    }
    return parse_settings(world.environment(tmp_path, **more), strategy="report")


def test_claude_with_tools(world: Services, claude: Settings) -> None:
    _, answer = run_checked_report(TOPIC, claude)
    assert answer.answer == "The founder is Ada Lindqvist [1]. The city is Uppsala [2]."
    assert world.tasks() == STAGES
    assert world.forms == ["tools" if task == "gather" else "format" for task in STAGES]
    gathered = [body for body in world.bodies if "tools" in body]
    last = gathered[-1]["messages"][-1]["content"]
    assert last[0]["type"] == "tool_result" and "cache_control" in last[-1]
    thought = gathered[-1]["messages"][1]["content"][0]
    assert thought["type"] == "thinking" and thought["signature"], "a turn goes back as it came"


def test_thoughts_that_claude_does_not_take_back_are_told_as_text(
    world: Services, claude: Settings
) -> None:
    """As after a correction, which is not part of the conversation that follows."""
    honest = world.think

    def think(asked: ModelRequest) -> Reply:
        if asked.task == "gather" and asked.results:
            said = "messages.1.content.0: `thinking` block is bound to another conversation"
            return anthropic_error(400, "invalid_request_error", said)
        shown = re.findall(r"<result>\n(.*?)\n</result>", asked.prompt, re.S)
        turns = [[told for told in shown if "<hit" in told], ["read"] * ("<source" in str(shown))]
        if asked.task == "gather":
            asked = asked._replace(results=[turn for turn in turns if turn])
        return honest(asked)

    world.think = think
    _, answer = run_checked_report(TOPIC, claude)
    assert answer.answer == "The founder is Ada Lindqvist [1]. The city is Uppsala [2]."
    assert sum(bool(asked.results) for asked in world.model_requests) == 1
