"""Replies as real models send them: recited, cut off, too long, as text, in pieces, or for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.calls import Reply, Task, Thinking
from agent.errors import ModelFailed
from agent.llm import Model, ModelChain
from agent.llm.openai_compatible import OpenAICompatible
from agent.llm.openai_stream import join_stream
from agent.llm.openai_tools import extract_turn_json
from agent.run.begin import research
from agent.run.journal_calls import choose_thinking
from agent.settings import DEPTHS, Settings
from agent.state.excerpts import Excerpt
from agent.steps.generate_queries import MakeQueries
from agent.steps.judges import JudgeClaims
from agent.steps.reading_tasks import ReadSources
from agent.steps.synthesize import WriteAnswer
from agent.strategies.report.gather import Explore
from tests.llm.test_gemini import GOOD, gemini
from tests.support.page_server import Connection, PageServer
from tests.support.services import (
    OPENAI_KEY,
    ModelRequest,
    Raw,
    Services,
    gemini_reply,
    openai_reply,
)
from tests.support.thinker import Fact, Thinker

TASK = MakeQueries(topic="Who won?")
READING = {"answerable": False, "answer": "", "citations": [], "slots": [], "need_more": False}
READING |= {"new_queries": []}


def read_sources(words: int) -> ReadSources:
    text = "Argentina won the cup. " * (words // 4)
    excerpts = (Excerpt(source=n, title="t", url="u", passages=(text,)) for n in (1, 2))
    return ReadSources(topic="Who won?", evidence=tuple(excerpts))


def openai(services: Services, key: str = OPENAI_KEY, name: str = "m") -> OpenAICompatible:
    services.openai_needs_key = bool(key)
    return OpenAICompatible(name, f"{services.base}/openai/v1", key, 5, None)


def ask(task: Task[Any], *models: Model) -> Reply[Any]:
    return ModelChain(models, 5, ())(task)


def ended(reason: str, text: str = "") -> Raw:
    body = gemini_reply(text, ModelRequest("", "m", "", ""), reason)
    body["usageMetadata"] = {"promptTokenCount": 100, "candidatesTokenCount": 7}
    return Raw(200, json.dumps(body))


@pytest.mark.parametrize(
    ("reason", "said"),
    [("RECITATION", "copy only a few words"), ("MALFORMED_RESPONSE", "ended early")],
)
def test_the_model_is_asked_again_then_the_next(reason: str, said: str, services: Services) -> None:
    services.think = lambda asked: ended(reason) if asked.model == "gemini-3.8-flash" else GOOD
    first, second = gemini(services), gemini(services)
    second.name = "gemini-3.5-flash-lite"
    chain = ModelChain([first, second], 5, ())
    reply = chain(TASK)
    asked = [request.model for request in services.model_requests]
    assert asked == ["gemini-3.8-flash"] * 2 + ["gemini-3.5-flash-lite"]
    assert said in services.model_requests[1].prompt
    assert said not in services.model_requests[2].prompt  # another model's fault
    assert [attempt.outcome for attempt in reply.attempts] == ["invalid", "invalid", "ok"]
    assert reply.input_tokens > 200  # unusable ones cost
    chain(TASK.model_copy(update={"topic": "Who else?"}))
    assert services.model_requests[3].model == "gemini-3.8-flash"


TOO_LONG = [
    "This model's maximum context length is 2048 tokens. However, your messages resulted in 4,100",
    "maximum context length is 2048 tokens. However, you requested 4100 tokens (2100 in the "
    "messages, 2000 in the completion)",
]


@pytest.mark.parametrize("message", TOO_LONG)
def test_evidence_is_cut_to_the_window_and_the_form_kept(message: str, services: Services) -> None:
    def think(asked: ModelRequest) -> Any:
        too_long = len(asked.prompt) > 6000
        return Raw(400, json.dumps({"error": {"message": message}})) if too_long else READING

    services.think = think
    chain = ModelChain([openai(services)], 5, ())
    reply = chain(read_sources(1600))
    lengths = [len(request.prompt) for request in services.model_requests]
    assert lengths[-1] <= 6000 and lengths == sorted(lengths, reverse=True)
    last = services.model_requests[-1].prompt
    assert '<source id="1"' in last and '<source id="2"' in last and "Who won?" in last
    assert set(services.forms) == {"json_schema"}
    assert {attempt.outcome for attempt in reply.attempts} == {"too_long", "ok"}
    chain(read_sources(1600))
    assert len(services.model_requests) == len(lengths) + 1  # it is known now


def test_a_reply_is_limited_and_gets_more_tokens_once_it_was_cut_off(services: Services) -> None:
    replies = [Raw(200, json.dumps(openai_reply("long", "length"))), GOOD, GOOD]
    services.think = lambda asked: replies.pop(0)
    chain = ModelChain([openai(services)], 5, ())
    chain(TASK)
    chain(TASK.model_copy(update={"topic": "Who else?"}))
    limits = [body["max_tokens"] for body in services.bodies]
    assert limits == [2000, 16_000, 16_000]
    assert services.forms == ["json_schema", "json_object", "json_object"]
    assert "be shorter" in services.model_requests[1].prompt


def events(text: str, size: int = 5, usage: bool = True) -> Iterator[bytes]:
    for at in range(0, len(text), size):
        yield event({"choices": [{"index": 0, "delta": {"content": text[at : at + size]}}]})
    yield event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if usage:
        yield event({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 9}})
    yield b"data: [DONE]\n\n"


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


@pytest.mark.slow
def test_a_slow_reply_is_waited_for_as_long_as_it_comes() -> None:
    """In all it takes longer than the limit, which is of silence."""
    pieces = list(events(json.dumps(GOOD), size=1))

    def drip(connection: Connection) -> None:
        connection.send(STREAM + b"Content-Length: %d\r\n\r\n" % sum(map(len, pieces)))
        for piece in pieces:
            connection.server.stopping.wait(0.04)
            connection.send(piece)
        connection.hang()  # a connection that ends with unread bytes would lose the last pieces

    with PageServer({"/v1/chat/completions": drip}) as server:
        reply = ask(TASK, OpenAICompatible("m", f"{server.url}/v1", "key", 1.5, None))
    assert reply.answer.queries == ["a", "b", "c"]
    assert (reply.input_tokens, reply.output_tokens) == (30, 9)


def test_a_silent_server_is_given_up() -> None:
    def hang(connection: Connection) -> None:
        connection.send(STREAM + b"\r\ndata: {}\n\n")
        connection.hang()

    with PageServer({"/v1/chat/completions": hang}) as server, pytest.raises(ModelFailed) as caught:
        ask(TASK, OpenAICompatible("m", f"{server.url}/v1", "key", 0.3, None))
    assert caught.value.outcome == "timeout"


@pytest.mark.parametrize("end", [b"", b"data: {broken\n\n", b"data: [DONE]\n\n"])
def test_a_stream_that_breaks_off_is_no_reply(end: bytes, services: Services) -> None:
    begun = event({"choices": [{"delta": {"content": json.dumps(GOOD)}}]}) + end
    services.think = lambda asked: Raw(200, begun.decode())
    with pytest.raises(ModelFailed) as caught:
        ask(TASK, openai(services))
    assert caught.value.outcome == "unavailable" and "broke off" in caught.value.message


CALLS = {"calls": [{"name": "search_web", "arguments": {"query": "x"}}]}


@pytest.mark.parametrize(
    ("task", "said", "form"), [(TASK, GOOD, "json_schema"), (Explore(topic="x"), CALLS, "tools")]
)
def test_streams_may_be_refused(task: Task[Any], said: Any, form: str, services: Services) -> None:
    refusal = Raw(400, json.dumps({"error": {"message": "stream_options is not supported"}}))
    services.think = lambda asked: refusal if "stream" in services.bodies[-1] else said
    ask(task, openai(services))
    assert ["stream" in body for body in services.bodies] == [True, False]
    assert set(services.forms) == {form}


@given(st.text(max_size=60), st.integers(1, 9))
def test_a_stream_is_the_reply_that_was_not_streamed(text: str, size: int) -> None:
    joined = join_stream(b"".join(events(text, size)))
    assert joined and joined["choices"][0]["message"]["content"] == text
    assert joined["usage"]["prompt_tokens"] == 30


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_a_stream_or_not(data: bytes) -> None:
    assert join_stream(data) is None


def test_calls_of_tools_come_in_pieces() -> None:
    pieces: list[dict[str, Any]] = [
        {"index": 0, "id": "a", "function": {"name": "search_web", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"query": '}},
        {"index": 1, "id": "b", "function": {"name": "fetch_page", "arguments": "{}"}},
        {"index": 0, "function": {"arguments": '"x"}'}, "extra_content": {"signature": "s"}},
    ]
    said = [event({"choices": [{"delta": {"tool_calls": [piece]}}]}) for piece in pieces]
    said.append(event({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}))
    joined = join_stream(b"".join(said))
    assert joined
    turn = json.loads(extract_turn_json(joined["choices"][0]["message"]))
    called = [(call["name"], call["arguments"]) for call in turn["calls"]]
    assert called == [("search_web", {"query": "x"}), ("fetch_page", {})]
    assert turn["verbatim"]["tool_calls"][0]["extra_content"] == {"signature": "s"}


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "search_web", "arguments": {"query": "x"}}\n</tool_call>',
        "I would now call search_web with the question.",
    ],
)
def test_a_model_that_only_writes_of_tools_is_asked_by_schema(
    text: str, services: Services
) -> None:
    services.think = lambda asked: (
        json.dumps(CALLS)
        if "JSON Schema" in asked.prompt or services.forms[-1] != "tools"
        else Raw(200, json.dumps(openai_reply(text)))
    )
    reply = ask(Explore(topic="Who won?"), openai(services))
    assert [call.name for call in reply.answer.calls] == ["search_web"]
    assert services.forms[0] == "tools" and services.forms[1] != "tools"


@pytest.mark.parametrize(
    ("model", "level", "sent"),
    [
        ("gemini-3.8-flash", "off", {"thinking_level": "LOW"}),
        ("gemini-3.5-flash-lite", "off", {"thinking_level": "MINIMAL"}),
        ("gemini-2.5-flash", "off", {"thinking_budget": 0}),
        ("gemini-3.8-flash", "", None),
    ],
)
def test_how_much_gemini_thinks_is_sent(
    model: str, level: Thinking, sent: dict[str, Any] | None, services: Services
) -> None:
    services.think = lambda asked: GOOD
    asked = gemini(services)
    asked.name = model
    asked.generate(TASK.model_copy(update={"thinking": level}), "")
    assert services.bodies[0]["generationConfig"].get("thinkingConfig") == sent


def test_by_default_planning_and_judging_think_little(settings: Settings) -> None:
    claims = JudgeClaims(topic="x", claims=())
    tasks: list[Task[Any]] = [TASK, claims, read_sources(4), WriteAnswer(topic="x")]
    deep = {depth: settings.model_copy(update={"depth": depth}) for depth in DEPTHS}
    levels = {depth: [choose_thinking(task, deep[depth]) for task in tasks] for depth in DEPTHS}
    assert levels["quick"] == ["low", "low", "", ""]
    assert levels["deep"] == ["low", "low", "high", "high"]
    medium = deep["deep"].model_copy(update={"thinking": "medium"})
    assert {choose_thinking(task, medium) for task in tasks} == {"medium"}


def test_each_model_is_reported_with_its_usage(services: Services, settings: Settings) -> None:
    services.pages, services.default_hits = {"tower": "The tower was opened in 1975."}, ["tower"]
    think = Thinker([Fact("opened", "1975", "opened in 1975")], ["orbita"])
    services.think = lambda asked: (
        ended("OTHER")
        if asked.model == "gemini-3.8-flash" and asked.task == "reflect"
        else think(asked)
    )
    answer = research("When was the tower opened?", settings).answer()
    usage = answer.usage
    first, second = usage.by_model["gemini-3.8-flash"], usage.by_model["gemini-3.5-flash-lite"]
    assert (first.provider, first.calls, second.calls) == ("gemini", 4, 1)
    assert first.input_tokens + second.input_tokens == usage.input_tokens
    assert first.output_tokens + second.output_tokens == usage.output_tokens
    assert usage.usd and first.usd and second.usd
    assert first.usd + second.usd == pytest.approx(usage.usd, abs=2e-6)  # each is rounded
    again = research("", Settings(), replay=Path(str(answer.run and answer.run.journal))).answer()
    assert again.usage.by_model == usage.by_model


def test_tokens_from_a_cache_are_counted(services: Services) -> None:
    body = openai_reply(json.dumps(GOOD))
    body["usage"] = {"prompt_tokens": 500, "completion_tokens": 9}
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 384}
    services.think = lambda asked: Raw(200, json.dumps(body))
    reply = ask(TASK, openai(services))
    assert [(cost.input_tokens, cost.cached_tokens) for cost in reply.costs] == [(500, 384)]
    reported = gemini_reply(json.dumps(GOOD), ModelRequest("", "m", "", ""))
    services.bodies.clear()
    reported["usageMetadata"] = {"promptTokenCount": 900, "cachedContentTokenCount": 600}
    services.think = lambda asked: Raw(200, json.dumps(reported))
    assert ask(TASK, gemini(services)).costs[0].cached_tokens == 600
    config = services.bodies[0]["generationConfig"]
    assert config["maxOutputTokens"] == 16_000, "thoughts need tokens too"
