"""Any OpenAI-compatible server: what is sent, how replies are read, and how forms are given up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.answer.json_format import to_json
from agent.errors import ModelFailed, NotConfigured
from agent.llm import ModelChain
from agent.llm.openai_compatible import OpenAICompatible
from agent.llm.openai_tools import extract_turn_json
from agent.run.begin import research
from agent.settings import Settings, parse_settings
from agent.state.excerpts import Excerpt
from agent.steps.generate_queries import MakeQueries
from agent.steps.reading_tasks import ReadSources
from tests.steps.test_slots import ended
from tests.support.services import OPENAI_KEY, ModelRequest, Raw, Services, openai_reply


@pytest.fixture
def openai(world: Services, tmp_path: Path) -> Settings:
    keys = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": f"{world.base}/openai/v1"}
    more = {"RESEARCH_AGENT_LLM": "openai", "OPENAI_MODEL": "some-model", **keys}
    return parse_settings(world.environment(tmp_path, **more))


def test_a_run_with_an_openai_server(world: Services, openai: Settings) -> None:
    _, answer = ended(openai)
    assert answer.answer == "The winner is Argentina [1]." and not answer.degraded
    tasks = ["generate_queries", "reflect", "verify", "verify"]
    assert world.tasks() == tasks  # of a server of one's own: a claim and a value, one by one
    assert set(world.forms) == {"json_schema"}
    assert answer.run and answer.run.models == ("some-model",)
    assert answer.usage.usd is None and 400 <= answer.usage.input_tokens < 2000


def test_forms_are_given_up(world: Services, openai: Settings) -> None:
    world.openai_forms = {"prompt"}
    _, answer = ended(openai)
    assert answer.status == "complete"
    assert world.forms == ["json_schema", "json_object"] + ["prompt"] * 4
    assert all("JSON Schema" in asked.prompt for asked in world.model_requests[-4:])


def test_a_refused_key_is_reported_without_the_key(world: Services, openai: Settings) -> None:
    wrong = openai.model_copy(update={"openai_api_key": type(openai.openai_api_key)("sk-wrong")})
    _, answer = ended(wrong)
    assert answer.status == "error" and answer.error and "OPENAI_API_KEY" in answer.error.remedy
    assert "sk-wrong" not in to_json(answer)


def test_a_refused_key_moves_on_to_another_provider(world: Services, openai: Settings) -> None:
    other = {"llm": ("gemini", "openai"), "gemini_api_key": type(openai.gemini_api_key)("no")}
    _, answer = ended(openai.model_copy(update=other))
    models = [a.model for a in world.model_requests]
    assert models == ["gemini-3.8-flash"] + ["some-model"] * 3
    assert answer.status == "complete"


def local_chain(services: Services) -> ModelChain:
    services.openai_needs_key = False
    return ModelChain([OpenAICompatible("m", f"{services.base}/openai/v1", "", 5, None)], 5, ())


TASK = MakeQueries(topic="x")
JSON = '{"queries": ["a"]}'
DRAFT = 'Maybe {"queries": ["wrong draft"]}? Hmm, no.'
HARMONY = f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"
MESSAGES: dict[str, Any] = {
    "parts": {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": JSON}]},
    "thoughts": {"content": f"<think>{DRAFT}</think>{JSON}"},
    "brackets": {"content": f"[THINK]{DRAFT}[/THINK]{JSON}"},
    "thoughts that nothing began": {"content": f"{DRAFT}\n</think>\n\n{JSON}"},
    "harmony": {
        "content": f"{HARMONY}<|channel|>final <|constrain|>json<|message|>{JSON}<|return|>"
    },
    "reasoning_content": {"content": "", "reasoning_content": JSON},
    "reasoning": {"content": None, "reasoning": f"{DRAFT}</think>{JSON}"},
    "prose and a fence": {"content": f"The set {{a, b}} is it:\n```json\n{JSON}\n```\nGood luck!"},
}


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("streams", [False, True])
def test_a_reply_is_read_where_its_json_is(kind: str, streams: bool, services: Services) -> None:
    choice = {"delta" if streams else "message": MESSAGES[kind], "finish_reason": "stop"}
    body = json.dumps({"choices": [choice]})
    services.think = lambda asked: Raw(200, f"data: {body}\n\n" if streams else body)
    reply = local_chain(services)(TASK)
    assert reply.answer.queries == ["a"] and services.forms == ["json_schema"]


def test_a_tag_of_thoughts_in_a_quote_is_text(services: Services) -> None:
    services.think = lambda asked: {"queries": ["what is </think> in a reply"]}
    assert local_chain(services)(TASK).answer.queries == ["what is </think> in a reply"]


UNREADABLE = {
    "empty": openai_reply(""),
    "cut": openai_reply('{"queries": ["a', "length"),
    "thoughts alone": {"choices": [{"message": {"content": "", "reasoning_content": DRAFT}}]},
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_is_asked_in_the_next_form(kind: str, services: Services) -> None:
    """The first form with a readable reply is kept, whatever comes in it later."""
    unreadable = Raw(200, json.dumps(UNREADABLE[kind]))
    services.think = lambda asked: JSON if services.forms[-1] == "prompt" else unreadable
    ask = local_chain(services)
    assert ask(TASK).answer.queries == ["a"]
    assert services.forms == ["json_schema", "json_object", "prompt"]
    ask(TASK.model_copy(update={"topic": "y"}))
    assert services.forms[3:] == ["prompt"]


@pytest.mark.parametrize("kind", UNREADABLE)
def test_nothing_is_asked_in_one_form_more_than_twice(kind: str, services: Services) -> None:
    services.think = lambda asked: Raw(200, json.dumps(UNREADABLE[kind]))
    with pytest.raises(ModelFailed) as failed:
        local_chain(services)(TASK)
    assert failed.value.outcome == "invalid"
    assert services.forms == ["json_schema", "json_object", "prompt", "prompt"]


def body_of(error: Any) -> str:
    return json.dumps({"error": error})


FILTERED = {"message": "The response was filtered due to the prompt.", "code": "content_filter"}
WINDOW = "max_total_tokens (1721) must be less than or equal to max_seq_len (1310)"
LARGE = "Request too large for model `m` on tokens per minute (TPM): Limit 600, Requested 1423."
NO_MODEL = "Check OPENAI_MODEL."
ERRORS: dict[str, tuple[int, Any, str, str, int]] = {
    "upstream": (200, {"message": "Upstream error", "code": 502}, "unavailable", "", 2),
    "no room": (429, {"message": "Quota: limit: 0, model: m"}, "rate_limited", "", 1),
    "filter": (400, FILTERED, "blocked", "", 1),
    "quota": (429, {"message": "Pay.", "code": "insufficient_quota"}, "no_credit", "", 1),
    "too large": (413, {"message": LARGE, "code": "rate_limit_exceeded"}, "too_long", "", 1),
    "no address": (404, {}, "not_found", "OPENAI_BASE_URL (most servers want /v1", 1),
    "no endpoint": (200, "Unexpected endpoint or method.", "not_found", "OPENAI_BASE_URL (", 1),
    "Ollama": (404, {"message": "model 'm' not found, try pulling it"}, "not_found", NO_MODEL, 1),
    "vLLM": (404, {"message": "The model `m` does not exist."}, "not_found", NO_MODEL, 1),
    "LM Studio": (400, {"message": 'Invalid model identifier "m".'}, "not_found", NO_MODEL, 1),
    "OpenAI": (404, {"message": "?", "code": "model_not_found"}, "not_found", NO_MODEL, 1),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_are_distinguished_by_what_they_say(kind: str, services: Services) -> None:
    """The service's own words are reported; only what may pass is asked again."""
    status, error, outcome, remedy, calls = ERRORS[kind]
    services.think = lambda asked: Raw(status, body_of(error))
    services.openai_needs_key = False
    model = OpenAICompatible("m", f"{services.base}/openai/", "", 5, None)
    with pytest.raises(ModelFailed) as failed:
        ModelChain([model], 5, (0,))(TASK)
    assert failed.value.outcome == outcome and remedy in failed.value.remedy
    assert len(services.model_requests) == calls and set(services.forms) == {"json_schema"}
    said = failed.value.attempts[0]
    assert said.outcome == outcome and said.detail


def test_the_wait_of_an_error_is_waited(services: Services) -> None:
    replies = [Raw(429, body_of({"message": "Rate limit. Please try again in 1m2.5s."})), JSON]
    services.think = lambda asked: replies.pop(0)
    services.openai_needs_key = False
    model = OpenAICompatible("m", f"{services.base}/openai/v1/chat/completions", "", 5, None)
    with pytest.raises(ModelFailed) as failed:
        ModelChain([model], 5, (0,))(TASK)  # longer than anybody waits
    assert failed.value.outcome == "rate_limited"
    replies.insert(0, Raw(429, body_of({"message": "Please try again in 750ms."})))
    waits: list[float] = []
    ModelChain([model], 5, (0,), waits.append)(TASK)
    assert waits == [0.75]


def test_a_key_in_quotes_is_named(services: Services) -> None:
    model = OpenAICompatible("m", f"{services.base}/openai/v1", "'sk-quoted'", 5, None)
    with pytest.raises(ModelFailed) as failed:
        model.generate(TASK, "")
    assert failed.value.remedy == "Take the quotes off OPENAI_API_KEY."


def test_a_prompt_that_the_server_cut_is_reported_and_cut(services: Services) -> None:
    """A reply that can be used is; after another one less evidence is shown."""
    source = Excerpt(source=1, title="t", url="u", passages=("Argentina won. " * 400,))
    task = ReadSources(topic="x", evidence=(source,))
    nothing = {"answerable": False, "answer": "", "citations": [], "slots": []}
    replies = ["I cannot see a question.", json.dumps(nothing)]

    def think(asked: ModelRequest) -> Raw:
        body = openai_reply(replies.pop(0))
        body["usage"]["prompt_tokens"] = 128
        return Raw(200, json.dumps(body))

    services.think = think
    reply = local_chain(services)(task)
    first, second = services.model_requests
    assert second.prompt.count("Argentina won") < first.prompt.count("Argentina won") / 2
    assert [attempt.outcome for attempt in reply.attempts] == ["invalid", "ok"]
    assert services.forms == ["json_schema"] * 2  # which is not to blame
    assert all("OLLAMA_CONTEXT_LENGTH" in attempt.remedy for attempt in reply.attempts[:1])


def test_a_cut_prompt_without_evidence_is_asked_once_in_a_form(services: Services) -> None:
    """Nothing can be left out of it: what is understood counts, with the remedy beside it."""
    body = openai_reply(JSON)
    body["usage"]["prompt_tokens"] = 128
    services.think = lambda asked: Raw(200, json.dumps(body))
    [attempt] = local_chain(services)(MakeQueries(topic="x" * 1500)).attempts
    assert attempt.outcome == "ok" and "OLLAMA_CONTEXT_LENGTH" in attempt.remedy
    body["choices"][0]["message"]["content"] = "I cannot see a question."
    with pytest.raises(ModelFailed, match="no JSON object") as failed:
        local_chain(services)(MakeQueries(topic="x"))  # the prompt is long where it has the schema
    assert "OLLAMA_CONTEXT_LENGTH" in failed.value.remedy


@pytest.mark.parametrize(("cost", "usd"), [(0.0125, 0.0125), (0, 0.0), ("x", None), (-1, None)])
def test_the_cost_that_a_service_reports_is_the_price(
    cost: Any, usd: Any, services: Services
) -> None:
    body = openai_reply(JSON)
    body["usage"]["cost"] = cost
    services.think = lambda asked: Raw(200, json.dumps(body))
    assert local_chain(services)(TASK).usd == usd


@pytest.mark.parametrize("ids", [("same", "same"), ("", ""), (None, None), ("call_1", "call_1")])
def test_each_call_of_a_turn_has_an_id_of_its_own(ids: tuple[str | None, ...]) -> None:
    calls = [{"id": i, "function": {"name": "search_web", "arguments": "{}"}} for i in ids]
    read = json.loads(extract_turn_json({"content": None, "tool_calls": calls}))
    given = [call["id"] for call in read["calls"]]
    assert len(set(given)) == 2 and all(given)
    assert given == [call["id"] for call in read["verbatim"]["tool_calls"]]


BROKEN = {
    "cut off": (Raw(200, json.dumps(openai_reply('{"queries": ["a"', "length"))), "invalid"),
    "no choices": (Raw(200, json.dumps({"choices": []})), "invalid"),
    "html": (Raw(200, "<html>"), "invalid"),
    "filtered": (Raw(200, json.dumps(openai_reply("", "content_filter"))), "blocked"),
    "quota": (Raw(429, '{"error": {"code": "insufficient_quota", "message": "x"}}'), "no_credit"),
    "busy": (Raw(503, "{}"), "unavailable"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_replies_that_are_not(kind: str, services: Services) -> None:

    raw, outcome = BROKEN[kind]
    services.think = lambda asked: raw
    services.openai_needs_key = False
    model = OpenAICompatible("m", f"{services.base}/openai/v1", "", 5, None)
    with pytest.raises(ModelFailed) as caught:
        ModelChain([model], 5, ())(MakeQueries(topic="x"))
    assert caught.value.outcome == outcome and caught.value.attempts


def test_what_is_not_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="OPENAI_MODEL"):
        research("x", parse_settings({"OPENAI_BASE_URL": "http://localhost:1/v1"}))
    with pytest.raises(NotConfigured, match="GEMINI_API_KEY") as caught:
        research("x", parse_settings({}))
    ways = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "Ollama")
    assert all(way in caught.value.remedy for way in ways) and "--offline" in caught.value.message
