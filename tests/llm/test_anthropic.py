"""Claude on the wire: what is sent, how replies are read, and what each refusal is taken for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.answer.json_format import to_json
from agent.calls import Thinking
from agent.calls.prices import Price, find_price, load_prices
from agent.errors import ModelFailed, NotConfigured
from agent.llm import ModelChain
from agent.llm.anthropic import MAX_REPLY_TOKENS, Anthropic
from agent.llm.anthropic_messages import extract_turn_json
from agent.run.begin import research
from agent.settings import Settings, parse_settings
from agent.state import Outcome
from agent.state.clock import utc_today
from agent.steps.generate_queries import MakeQueries
from tests.steps.test_slots import ended
from tests.support.catcher import Catcher
from tests.support.services import ANTHROPIC_KEY, Raw, Services, anthropic_error, anthropic_reply

TASK = MakeQueries(topic="Who won?")
GOOD = {"queries": ["a", "b", "c"], "slots": [{"name": "winner"}]}
PRICE = Price(**{"from": "2026-01-01"}, input=1, output=2, cache_read=0.1, cache_write=1.25)
MODEL = "claude-test"


def claude(services: Services, price: Price | None = PRICE, timeout: float = 5) -> Anthropic:
    return Anthropic(MODEL, f"{services.base}/anthropic", ANTHROPIC_KEY, timeout, price)


def text(value: object) -> list[dict[str, Any]]:
    return [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]


def raw(content: list[dict[str, Any]], reason: str = "end_turn") -> Raw:
    return Raw(200, json.dumps(anthropic_reply(content, reason)))


@pytest.fixture
def settings(world: Services, tmp_path: Path) -> Settings:
    more = {
        "RESEARCH_AGENT_LLM": "anthropic",
        "ANTHROPIC_API_KEY": ANTHROPIC_KEY,
        "ANTHROPIC_BASE_URL": f"{world.base}/anthropic",
        "GEMINI_API_KEY": "",
        "CACHE_TTL": "0",
    }
    return parse_settings(world.environment(tmp_path, **more))


def test_a_run_with_claude(world: Services, settings: Settings) -> None:
    _, answer = ended(settings)
    assert answer.answer == "The winner is Argentina [1]." and not answer.degraded
    assert world.tasks() == ["generate_queries", "reflect", "verify"]
    assert set(world.forms) == {"format"}
    reading = world.bodies[1]  # what stays the same is marked for the cache
    assert reading["system"][0]["cache_control"] == {"type": "ephemeral"}
    evidence, rest = reading["messages"][0]["content"]
    assert evidence["text"].endswith("</source>") and "cache_control" in evidence
    assert "cache_control" not in rest and reading["max_tokens"] == MAX_REPLY_TOKENS
    assert answer.run and answer.run.models == ("claude-sonnet-5-5",)
    price = find_price(load_prices(None), "claude-sonnet-5-5", utc_today())
    assert price and answer.usage.usd == pytest.approx(3 * price.cost_usd(100, 20, 60, 30))
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (300, 60)
    journal = Path(str(answer.run.journal)).read_text("utf-8")
    assert ANTHROPIC_KEY not in journal + to_json(answer)
    assert research("", Settings(), replay=Path(str(answer.run.journal))).answer().usage.usd


def test_thoughts_are_not_read_and_cached_tokens_have_their_prices(services: Services) -> None:
    thought = {"type": "thinking", "thinking": '{"queries": ["no"]}', "signature": "s"}
    services.think = lambda asked: raw([thought, *text(GOOD)])
    reply = ModelChain([claude(services)], 5, ())(TASK)
    assert reply.answer.queries == ["a", "b", "c"]
    assert (reply.input_tokens, reply.output_tokens) == (100, 20)
    assert reply.usd == pytest.approx((10 * 1 + 60 * 0.1 + 30 * 1.25 + 20 * 2) / 1e6)
    assert ModelChain([claude(services, None)], 5, ())(TASK).usd is None


def test_a_way_of_asking_for_json_that_is_refused_is_given_up(services: Services) -> None:
    services.anthropic_forms, forms = {"prompt"}, ["format", "prompt"]
    services.think = lambda asked: GOOD
    model = claude(services)
    chain = ModelChain([model], 5, ())
    assert chain(TASK).answer.queries == ["a", "b", "c"] and services.forms == forms
    chain(TASK)
    assert services.forms == [*forms, forms[-1]], "for the rest of the run"


def test_another_refusal_is_not_argued_with(services: Services) -> None:
    services.think = lambda asked: anthropic_error(
        400, "invalid_request_error", "prompt is too long: 1000001 tokens > 1000000 maximum"
    )
    with pytest.raises(ModelFailed, match="too long") as caught:
        ModelChain([claude(services)], 5, ())(TASK)
    assert caught.value.outcome == "too_long" and len(services.model_requests) == 1


@pytest.mark.parametrize(("level", "sent"), [("low", {"effort": "low"}), ("off", {}), ("", {})])
def test_the_effort_is_sent(level: Thinking, sent: dict[str, str], services: Services) -> None:
    services.think = lambda asked: GOOD
    task = TASK.model_copy(update={"thinking": level, "max_reply_tokens": 321})
    claude(services).generate(task, "")
    (body,) = services.bodies
    assert body["output_config"].pop("format") and body["output_config"] == sent
    assert body.get("thinking") == ({"type": "disabled"} if level == "off" else None)
    assert body["max_tokens"] == 321


def test_an_option_that_is_refused_is_sent_once(services: Services) -> None:
    refusal = anthropic_error(400, "invalid_request_error", "This model does not support effort.")
    services.think = lambda a: refusal if "effort" in services.bodies[-1]["output_config"] else GOOD
    model = claude(services)
    for _ in (1, 2):
        model.generate(TASK.model_copy(update={"thinking": "low"}), "")
    assert ["effort" in body["output_config"] for body in services.bodies] == [True, False, False]


def test_no_redirect_is_followed_with_the_key() -> None:
    with Catcher() as elsewhere, Catcher(307, f"http://{elsewhere.host}/") as gateway:
        model = Anthropic(MODEL, f"http://{gateway.host}", ANTHROPIC_KEY, 5, None)
        with pytest.raises(ModelFailed, match="a redirect to 127.0.0.1 that is not followed"):
            model.generate(TASK, "")
        assert ANTHROPIC_KEY in gateway.text and elsewhere.requests == []


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (raw(text('{"queries": ["a"'), "max_tokens"), "cut off"),
        (raw([], "model_context_window_exceeded"), "cut off"),
        (Raw(200, json.dumps({"content": [7, {"type": "text"}], "usage": []})), "empty"),
        (raw(text({"queries": 7})), "does not fit"),
    ],
)
def test_a_reply_that_is_no_answer_is_asked_for_again_saying_why(
    first: Raw, said: str, services: Services
) -> None:
    replies: list[Any] = [first]
    services.think = lambda asked: replies.pop() if replies else GOOD
    assert ModelChain([claude(services)], 5, ())(TASK).answer.queries == ["a", "b", "c"]
    assert said in services.model_requests[1].prompt and len(services.model_requests) == 2


REFUSALS: list[tuple[Raw, Outcome, list[float]]] = [
    (anthropic_error(401, "authentication_error", "invalid x-api-key"), "bad_key", []),
    (anthropic_error(402, "billing_error", "no"), "no_credit", []),
    (anthropic_error(400, "invalid", "Your credit balance is too low to go on."), "no_credit", []),
    (anthropic_error(404, "not_found_error", "model: claude-x"), "not_found", []),
    (anthropic_error(413, "request_too_large", "too large"), "too_long", []),
    (
        anthropic_error(429, "rate_limit_error", "slow")._replace(headers={"Retry-After": "5"}),
        "rate_limited",
        [5, 5, 8],
    ),
    (anthropic_error(529, "overloaded_error", "Overloaded"), "unavailable", [2, 4, 8]),
    (anthropic_error(504, "timeout_error", "oh"), "timeout", [2, 4, 8]),
    (Raw(200, "<html>"), "invalid", []),
    (raw([], "refusal"), "blocked", []),
]


@pytest.mark.parametrize(("reply", "outcome", "waits"), REFUSALS)
def test_refusals(reply: Raw, outcome: Outcome, waits: list[float], services: Services) -> None:
    services.think = lambda asked: reply
    waited: list[float] = []
    with pytest.raises(ModelFailed) as caught:
        ModelChain([claude(services)], 5, (2, 4, 8), sleep=waited.append)(TASK)
    assert caught.value.outcome == outcome and waited == waits
    assert len(services.model_requests) == len(waits) + 1
    assert caught.value.message and caught.value.remedy
    if name := {"not_found": "ANTHROPIC_MODEL", "bad_key": "ANTHROPIC_API_KEY"}.get(outcome):
        assert name in caught.value.remedy


def test_the_next_provider_is_asked_when_claude_is_overloaded(
    world: Services, settings: Settings
) -> None:
    honest = world.think
    busy = anthropic_error(529, "overloaded_error", "Overloaded")
    world.think = lambda asked: busy if asked.model == MODEL else honest(asked)
    both = {"llm": (f"anthropic:{MODEL}", "anthropic")}
    _, answer = ended(settings.model_copy(update=both))
    models = [asked.model for asked in world.model_requests]
    assert models == [MODEL] * 4 + ["claude-sonnet-5-5"] * 3
    assert answer.status == "complete" and answer.degraded


@pytest.mark.parametrize(
    ("content", "calls"),
    [
        ([{"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}], [{"a": 1}]),
        ([{"type": "tool_use", "id": "t", "name": "n", "input": "x"}], [None]),
    ],
)
def test_calls_of_tools_are_read(content: list[dict[str, Any]], calls: list[Any]) -> None:
    turn = json.loads(extract_turn_json(content))
    assert [call.get("arguments") for call in turn["calls"]] == calls
    assert turn["verbatim"] == {"role": "assistant", "content": content}


def test_what_is_not_set_is_named() -> None:
    with pytest.raises(NotConfigured, match="ANTHROPIC_API_KEY"):
        research("x", parse_settings({"RESEARCH_AGENT_LLM": "anthropic"}))


def test_a_model_is_looked_up_at_no_cost(services: Services) -> None:
    assert claude(services).probe() == "the key works, the model exists"
    unknown = Anthropic("gpt", f"{services.base}/anthropic", ANTHROPIC_KEY, 5, None)
    with pytest.raises(ModelFailed) as caught:
        unknown.probe()
    assert caught.value.outcome == "not_found" and services.model_requests == []
