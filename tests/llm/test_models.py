"""Which models are asked for which kind of task, several servers side by side, and their prices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import responses

from agent.errors import ModelFailed, NotConfigured, UsageError
from agent.llm import ModelChain, model_label
from agent.llm.openai_compatible import OpenAICompatible
from agent.run.begin import research
from agent.run.estimate import estimate
from agent.run.models import make_models, order_models
from agent.settings import Settings, parse_settings
from agent.steps.generate_queries import MakeQueries
from tests.steps.test_slots import ended
from tests.support.catcher import Catcher
from tests.support.services import Raw, Services

KEYS = {"GEMINI_API_KEY": "g", "OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}


def labels(settings: Settings) -> dict[str, list[str]]:
    orders = order_models(settings, make_models(settings))
    return {kind: [model_label(model) for model in models] for kind, models in orders.items()}


def test_each_kind_has_its_own_models_and_then_the_general_ones() -> None:
    named = {"RESEARCH_AGENT_LLM": "gemini:x, judge=openai:j, judge=gemini:x, plan=gemini:p"}
    found = labels(parse_settings(KEYS | named))
    assert (found["plan"], found["judge"]) == (["gemini:p", "gemini:x"], ["openai:j", "gemini:x"])
    assert found["read"] == found["write"] == ["gemini:x"]
    found = labels(parse_settings(KEYS, llm=("read=openai:r", "gemini:x", "read=openai:s")))
    assert found["read"] == ["openai:r", "openai:s", "gemini:x"] and found["write"] == ["gemini:x"]
    alone = labels(parse_settings(KEYS, llm=("judge=openai:j",)))
    assert alone["judge"] == ["openai:j", *alone["read"]], "the general order is the default"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"RESEARCH_AGENT_LLM": "read=mistral:x"}, "Unknown model provider 'mistral'"),
        (
            {"RESEARCH_AGENT_LLM": "judge=openai", "OPENAI_BASE_URL": "http://localhost:1/v1"},
            "OPENAI_MODEL is not set",
        ),
        ({"OPENAI_SERVERS": "gemini=http://localhost:1/v1"}, "a name of its own"),
        ({"OPENAI_SERVERS": "home=file:///v1"}, "is not name=http"),
    ],
)
def test_what_cannot_be_meant_is_refused(named: dict[str, str], message: str) -> None:
    with pytest.raises((UsageError, NotConfigured)) as caught:
        make_models(parse_settings(KEYS | named))
    assert message in caught.value.message


@pytest.fixture
def two(world: Services, tmp_path: Path) -> Settings:
    """A small model plans and reads, a stronger one judges: on two servers."""
    world.openai_needs_key = False
    servers = f"small={world.base}/openai/v1, strong={world.base}/openai/v1"
    more = {
        "OPENAI_SERVERS": servers,
        "RESEARCH_AGENT_LLM": "small:s,judge=strong:t",
        "CACHE_TTL": "0",
    }
    return parse_settings(world.environment(tmp_path, **more))


def asked_models(world: Services) -> dict[str, set[str]]:
    asked: dict[str, set[str]] = {}
    for request in world.model_requests:
        asked.setdefault(request.task, set()).add(request.model)
    return asked


def test_each_task_goes_to_the_model_of_its_kind(world: Services, two: Settings) -> None:
    _, answer = ended(two)
    assert answer.status == "complete" and len(make_models(two)) == 2
    assert asked_models(world) == {"generate_queries": {"s"}, "reflect": {"s"}, "verify": {"t"}}
    used = {name: (row.provider, row.calls) for name, row in answer.usage.by_model.items()}
    assert used == {"s": ("small", 2), "t": ("strong", 2)}


def test_a_judge_that_is_down_is_replaced_by_others(world: Services, two: Settings) -> None:
    think = world.think
    world.think = lambda asked: Raw(500, "down") if asked.model == "t" else think(asked)
    _, answer = ended(two)
    assert answer.status == "complete"
    assert asked_models(world)["verify"] == {"s", "t"}
    _, answer = ended(two.model_copy(update={"llm": ("small:s", "judge=strong:s")}))
    assert list(answer.usage.by_model) == ["small:s", "strong:s"], "two servers, one name"


def test_a_resumed_run_omits_a_failed_model(world: Services, two: Settings, tmp_path: Path) -> None:
    think = world.think
    world.think = lambda asked: Raw(401, "{}") if asked.model == "s" else think(asked)
    settings = two.model_copy(update={"llm": ("small:s", "strong:t")})
    _, answer = ended(settings)
    assert answer.run and answer.run.journal and world.model_requests[0].model == "s"
    lines = Path(answer.run.journal).read_text().splitlines(keepends=True)
    first_reply = next(n for n, line in enumerate(lines) if "small:s" in line)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[: first_reply + 1]))
    world.model_requests.clear()
    again = research("", settings, resume=str(cut)).answer()
    assert again.answer == answer.answer
    assert {request.model for request in world.model_requests} == {"t"}


def test_keys_go_to_their_own_server_alone() -> None:
    with Catcher() as first, Catcher() as second:
        servers = f"one=http://{first.host}/v1, two=http://{second.host}/v1"
        named = {"OPENAI_SERVERS": servers, "OPENAI_SERVER_KEYS": "one=secret-1,two=secret-2"}
        settings = parse_settings(
            KEYS | named | {"RESEARCH_AGENT_LLM": "one:a,two:b", "LLM_RETRY_WAITS": ""}
        )
        chain = ModelChain(make_models(settings), 5, ())
        with pytest.raises(ModelFailed):
            chain(MakeQueries(topic="x"))
    assert "Bearer secret-1" in first.text and "secret-2" not in first.text
    assert "Bearer secret-2" in second.text and "secret-1" not in second.text
    shown = repr(settings) + settings.model_dump_json()
    assert "secret-1" not in shown and "secret-2" not in shown


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "m:latest", "meta": {"n_ctx": 2048}}, "lists the model; its window: 2,048 tokens"),
        ({"id": "m", "max_model_len": "many", "meta": 3}, "lists the model"),
        ({"id": "n", "context_length": 4096}, "does not list the model"),
    ],
)
def test_a_probe_reports_the_window(row: dict[str, Any], message: str) -> None:
    with responses.RequestsMock() as mock:
        mock.get("http://127.0.0.1:9/v1/models", json={"data": ["odd", row]})
        model = OpenAICompatible("m", "http://127.0.0.1:9/v1", "", 5, None)
        assert model.probe().endswith(message)


def test_a_cap_in_dollars_needs_the_price_of_each_model_that_is_asked_first() -> None:
    capped = parse_settings(KEYS | {"RESEARCH_AGENT_LLM": "openai:gpt-5-mini"}, max_usd=1.0)
    assert make_models(capped)
    with pytest.raises(UsageError, match="the price of other is not known"):
        make_models(capped.model_copy(update={"llm": (*capped.llm, "judge=openai:other")}))


@pytest.mark.parametrize(
    ("set_up", "asked"),
    [
        ({"GEMINI_API_KEY": "a-key"}, "gemini:gemini-3.8-flash"),
        ({"OPENAI_API_KEY": "a-key"}, "openai:gpt-5.6-luna"),
        ({"ANTHROPIC_API_KEY": "a-key"}, "anthropic:claude-sonnet-5-5"),
        ({"OPENAI_BASE_URL": "http://localhost:1/v1", "OPENAI_MODEL": "m"}, "openai:m"),
        ({"GEMINI_API_KEY": "a-key", "OPENAI_API_KEY": "a-key"}, "gemini:gemini-3.8-flash"),
    ],
)
def test_one_key_alone_is_enough(set_up: dict[str, str], asked: str) -> None:
    assert model_label(make_models(parse_settings(set_up))[0]) == asked


def test_a_model_without_its_provider_is_suggested_with_it() -> None:
    with pytest.raises(UsageError) as refused:
        make_models(parse_settings(KEYS, llm=("claude-sonnet-5-5",)))
    assert "anthropic:claude-sonnet-5-5" in refused.value.remedy


def test_an_estimate_needs_no_key() -> None:
    with pytest.raises(ValueError, match=r"^GEMINI_API_KEY is not set\. Add it to \.env"):
        make_models(parse_settings({}))
    assert estimate("Who won?", parse_settings({})).models[0] == "gemini-3.8-flash"
