"""OpenAI's wire form, as chat programs send and read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.calls.journal_reader import read_journal
from tests.support.follower import FOLLOW_UP, PARENT, forget, set_up, shown_earlier
from tests.support.services import Raw, Services
from tests.support.web import TOPIC, Web, configure_from, online

CHAT = "/v1/chat/completions"


def chat(*texts: Any, **more: Any) -> dict[str, Any]:
    """A conversation in which the user speaks first."""
    roles = ["user", "assistant"] * len(texts)
    messages = [{"role": r, "content": t} for r, t in zip(roles, texts, strict=False)]
    return {"model": "research", "messages": messages, **more}


def parse_chunks(text: str) -> list[dict[str, Any]]:
    """The chunks of a stream, which ends as clients expect it to."""
    *lines, last = [line for line in text.split("\n\n") if line and line[0] != ":"]
    assert last == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def test_an_answer_is_a_completion_with_marks_that_are_links(
    world: Services, tmp_path: Path
) -> None:
    with online(world, tmp_path) as web:
        system = {"role": "system", "content": "Answer in verse."}
        body = chat(TOPIC, temperature=0.2, tools=[], user="me")  # what we do not know is ignored
        response = web.client.post(CHAT, json={**body, "messages": [system, *body["messages"]]})
        answer = web.runs.find(response.headers["x-run-id"]).answer  # type: ignore[union-attr]
        streamed = parse_chunks(web.client.post(CHAT, json=chat(TOPIC, stream=True)).text)
    reply = response.json()
    assert response.status_code == 200 and reply["object"] == "chat.completion" and answer
    [choice] = reply["choices"]
    text, marks = choice["message"]["content"], choice["message"]["annotations"]
    assert choice["finish_reason"] == "stop" and answer.claims[0].text.rstrip(".") in text
    link = answer.citations[0].link
    for mark in marks:
        cited = mark["url_citation"]
        assert mark["type"] == "url_citation" and cited["url"] == link
        assert text[cited["start_index"] : cited["end_index"]] == rf"[\[1\]](<{link}>)"
    assert len(marks) == text.count(rf"[\[1\]](<{link}>)") > 0
    assert answer.citations[0].quote in text.replace("\\", "")
    usage = reply["usage"]
    assert usage["prompt_tokens"] == answer.usage.input_tokens > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    deltas = [one["choices"][0]["delta"] for one in streamed]
    assert deltas[0] == {"role": "assistant", "content": ""}
    whole = "".join(delta.get("content", "") for delta in deltas)
    assert whole.partition("### Sources")[0] == text.partition("### Sources")[0]


def test_a_stream_has_progress_quotes_and_marks(web: Web) -> None:
    body = chat(TOPIC, stream=True, stream_options={"include_usage": True})
    response = web.client.post(CHAT, json=body)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    chunks = parse_chunks(response.text)
    assert len({one["id"] for one in chunks}) == 1
    assert chunks[-1]["choices"] == [] and "prompt_tokens" in chunks[-1]["usage"]
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    events = [one["event"] for one in chunks if "event" in one]
    progress = [one["data"] for one in events if one["type"] == "status"]
    assert progress[-1] == {"description": "Answered", "done": True}
    assert any(one["description"].startswith("search: ") for one in progress)
    [source] = [one["data"] for one in events if one["type"] == "source"]
    assert source["document"][0].startswith("Argentina won the 2022 FIFA World Cup")
    assert len(source["document"]) == len(source["metadata"])
    deltas = [one["choices"][0]["delta"] for one in chunks[:-1]]
    text = "".join(delta.get("content", "") for delta in deltas)
    [marks] = [delta["annotations"] for delta in deltas if "annotations" in delta]
    for mark in marks:  # a document of one's own has no link
        cited = mark["url_citation"]
        assert text[cited["start_index"] : cited["end_index"]] == "[1]"
        assert cited["url"] == source["source"]["url"] == "corpus:world-cup-final-2022.md"


@pytest.mark.parametrize(
    ("change", "status", "code", "message"),
    [
        ({"model": "gpt-9"}, 404, "model_not_found", "research-quick"),
        ({"messages": []}, 400, None, "no question"),
        ({"messages": [{"role": "user", "content": "\0\1\2\3"}]}, 400, None, "cannot be empty"),
        (chat("a" * 2001), 400, "context_length_exceeded", "at most 2000"),
        (chat([{"type": "image_url", "image_url": {"url": "x"}}]), 400, None, "Only text"),
        (chat(7), 400, None, "messages.0.content"),
    ],
)
def test_an_invalid_request_gets_an_error_object(
    web: Web, change: Any, status: int, code: str | None, message: str
) -> None:
    response = web.client.post(CHAT, json={**chat(TOPIC), "stream": True, **change})
    error = response.json()["error"]
    assert response.status_code == status and error["code"] == code and message in error["message"]
    assert error["type"] == "invalid_request_error" and error["param"] is None


@pytest.mark.slow
def test_refusals_of_the_server_are_error_objects_too(world: Services, tmp_path: Path) -> None:
    with Web(configure_from({"RUNS_DIR": str(tmp_path)})) as web:
        for stream in (True, False):
            response = web.client.post(CHAT, json=chat(TOPIC, stream=stream))
            assert response.status_code == 500
            error = response.json()["error"]
            assert error["type"] == "server_error" and "GEMINI_API_KEY" in error["message"]
            assert "--offline" in error["message"]
        long = web.client.post(CHAT, content=b"0" * 4_000_001)
        assert long.status_code == 413 and long.json()["error"]["code"] == "request_too_large"
        assert web.client.post(CHAT, content=b"{").json()["error"]["message"]
    token = {"RESEARCH_AGENT_API_TOKEN": "secret"}
    with online(world, tmp_path, **token) as web:
        for path in ("/v1/models", "/v1/models/research"):
            assert web.client.get(path).json()["error"]["code"] == "invalid_api_key"
            listed = web.client.get(path, headers={"Authorization": "Bearer secret"}).json()
            assert listed["object"] == ("list" if path == "/v1/models" else "model")
        assert web.client.post(CHAT, json=chat(TOPIC)).status_code == 401
    world.fault = lambda: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    with online(world, tmp_path) as web:
        whole = web.client.post(CHAT, json=chat(TOPIC))
        assert whole.status_code == 502 and whole.json()["error"]["type"] == "server_error"
        *_, last = parse_chunks(web.client.post(CHAT, json=chat(TOPIC, stream=True)).text)
        assert last["error"]["message"] == whole.json()["error"]["message"]


def test_each_model_name_selects_settings(web: Web) -> None:
    names = [one["id"] for one in web.client.get("/v1/models").json()["data"]]
    assert names == ["research", "research-quick", "research-deep", "research-report"]
    assert web.client.get("/v1/models/gpt-9").status_code == 404
    shapes = {}
    for name in ("research-quick", "research-report"):
        run = web.client.post(CHAT, json=chat(TOPIC, model=name)).headers["x-run-id"]
        path = web.runs.library.find(run)
        assert path
        shapes[name] = read_journal(path).header["settings"]
    assert shapes["research-quick"]["max_rounds"] == 1
    assert shapes["research-report"]["strategy"] == "report"


def test_the_run_that_gave_the_last_answer_is_followed(services: Services, tmp_path: Path) -> None:
    world = set_up(services)
    with online(world, tmp_path) as web:
        first = web.client.post(CHAT, json=chat(PARENT)).json()
        reply = first["choices"][0]["message"]["content"]
        forget(world)
        again = web.client.post(CHAT, json=chat(PARENT, reply, FOLLOW_UP))
        assert "1931" in again.json()["choices"][0]["message"]["content"]
        assert not world.search_queries and not world.page_requests
        run = web.client.get(f"/api/runs/{again.headers['x-run-id']}").json()["answer"]["run"]
        assert f"chatcmpl-{run['follows']['run']}" == first["id"]


def test_of_answers_from_elsewhere_only_the_meaning_is_taken(
    services: Services, tmp_path: Path
) -> None:
    """Nothing of it was read here: the question is put in full, and searched."""
    world = set_up(services)
    with online(world, tmp_path) as web:
        reply = "Ada Lindqvist [1] did. See run 20261125T043732Z-610092ab8e9b"
        web.client.post(CHAT, json=chat(PARENT, reply, [{"type": "text", "text": FOLLOW_UP}]))
    [prompt] = [one.prompt for one in world.model_requests if one.task == "understand"]
    assert shown_earlier(prompt) == [(PARENT, reply.replace(" [1]", ""))]
    assert world.search_queries


def test_after_an_answer_from_elsewhere_a_question_is_answered_as_alone(web: Web) -> None:
    """Searches are made, although no earlier run read anything."""
    alone, after = (
        web.client.post(CHAT, json=chat(*turns)).json()["choices"][0]["message"]["content"]
        for turns in ((TOPIC,), ("Who founded LEGO?", "Somebody.", TOPIC))
    )
    assert "Argentina won the 2022 FIFA World Cup" in alone
    assert after.partition("### Sources")[0] == alone.partition("### Sources")[0]


@pytest.mark.slow
def test_the_official_client_reads_all_of_it(web: Web) -> None:
    import openai  # half a second

    client = openai.OpenAI(base_url=f"{web.base}/v1", api_key="any", max_retries=0)
    assert client.models.retrieve("research").id in [one.id for one in client.models.list()]
    body = chat(TOPIC)
    message = client.chat.completions.create(**body).choices[0].message
    cited = message.annotations[0].url_citation
    assert message.content[cited.start_index : cited.end_index] == "[1]"
    stream = client.chat.completions.create(**body, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text.startswith("Argentina won")
    with pytest.raises(openai.NotFoundError, match="gpt-9"):
        client.chat.completions.create(**chat(TOPIC, model="gpt-9"))
    with pytest.raises(openai.BadRequestError, match="no question"):
        client.chat.completions.create(model="research", messages=[])
