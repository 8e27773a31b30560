"""OpenAI's wire form, as chat programs send and read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent.calls.journal_reader import read_journal
from tests.support import open_webui
from tests.support.follower import FOLLOW_UP, OPEN, PARENT, SEARCHED, forget, set_up, shown_earlier
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.web import TOPIC, Web, configure_from, online, wait_until

CHAT = "/v1/chat/completions"


def say(*texts: Any, **more: Any) -> dict[str, Any]:
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
        body = say(TOPIC, temperature=0.2, tools=[], user="me")  # what we do not know is ignored
        response = web.client.post(CHAT, json={**body, "messages": [system, *body["messages"]]})
        answer = web.runs.find(response.headers["x-run-id"]).answer  # type: ignore[union-attr]
        streamed = parse_chunks(web.client.post(CHAT, json=say(TOPIC, stream=True)).text)
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


def test_a_stream_tells_progress_quotes_and_marks(web: Web) -> None:
    body = say(TOPIC, stream=True, stream_options={"include_usage": True})
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


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("change", "status", "code", "said"),
    [
        ({"model": "gpt-9"}, 404, "model_not_found", "research-quick"),
        ({"messages": []}, 400, None, "no question"),
        ({"messages": [{"role": "user", "content": " "}]}, 400, None, "no question"),
        ({"messages": [{"role": "user", "content": "\0\1\2\3"}]}, 400, None, "cannot be empty"),
        ({"messages": [{"role": "assistant", "content": TOPIC}]}, 400, None, "no question"),
        (say("a" * 2001), 400, "context_length_exceeded", "at most 2000"),
        (say([{"type": "image_url", "image_url": {"url": "x"}}]), 400, None, "Only text"),
        (say(7), 400, None, "messages.0.content"),
    ],
)
def test_what_cannot_be_asked_is_an_error_object(
    web: Web, stream: bool, change: Any, status: int, code: str | None, said: str
) -> None:
    response = web.client.post(CHAT, json={**say(TOPIC), "stream": stream, **change})
    error = response.json()["error"]
    assert response.status_code == status and error["code"] == code and said in error["message"]
    assert error["type"] == "invalid_request_error" and error["param"] is None


@pytest.mark.slow
def test_refusals_of_the_server_are_error_objects_too(world: Services, tmp_path: Path) -> None:
    with Web(configure_from({"RUNS_DIR": str(tmp_path)})) as web:
        for stream in (True, False):
            response = web.client.post(CHAT, json=say(TOPIC, stream=stream))
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
            told = web.client.get(path, headers={"Authorization": "Bearer secret"}).json()
            assert told["object"] == ("list" if path == "/v1/models" else "model")
        assert web.client.post(CHAT, json=say(TOPIC)).status_code == 401
    world.fault = lambda: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    with online(world, tmp_path) as web:
        whole = web.client.post(CHAT, json=say(TOPIC))
        assert whole.status_code == 502 and whole.json()["error"]["type"] == "server_error"
        *_, last = parse_chunks(web.client.post(CHAT, json=say(TOPIC, stream=True)).text)
        assert last["error"]["message"] == whole.json()["error"]["message"]


def test_each_model_is_a_way_to_research(web: Web) -> None:
    names = [one["id"] for one in web.client.get("/v1/models").json()["data"]]
    assert names == ["research", "research-quick", "research-deep", "research-report"]
    assert web.client.get("/v1/models/gpt-9").status_code == 404
    shapes = {}
    for name in ("research-quick", "research-report"):
        run = web.client.post(CHAT, json=say(TOPIC, model=name)).headers["x-run-id"]
        path = web.runs.library.find(run)
        assert path
        shapes[name] = read_journal(path).header["settings"]
    assert shapes["research-quick"]["max_rounds"] == 1
    assert shapes["research-report"]["strategy"] == "report"


def test_the_run_that_gave_the_last_answer_is_followed(services: Services, tmp_path: Path) -> None:
    world = set_up(services)
    with online(world, tmp_path) as web:
        first = web.client.post(CHAT, json=say(PARENT)).json()
        said = first["choices"][0]["message"]["content"]
        forget(world)
        again = web.client.post(CHAT, json=say(PARENT, said, FOLLOW_UP))
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
        said = "Ada Lindqvist [1] did. See run 20261125T043732Z-610092ab8e9b"
        response = web.client.post(
            CHAT, json=say(PARENT, said, [{"type": "text", "text": FOLLOW_UP}])
        )
        assert "1931" in response.json()["choices"][0]["message"]["content"]
    [prompt] = [one.prompt for one in world.model_requests if one.task == "understand"]
    assert shown_earlier(prompt) == [(PARENT, said.replace(" [1]", ""))]
    assert world.search_queries
    journal = next((tmp_path / "runs").glob("*.jsonl"))
    assert read_journal(journal).header["parent"]["run"] == ""


def test_after_an_answer_from_elsewhere_a_question_is_answered_as_alone(web: Web) -> None:
    """The searches are made: none takes for its result that no earlier run read anything."""
    alone, after = (
        web.client.post(CHAT, json=say(*said)).json()["choices"][0]["message"]["content"]
        for said in ((TOPIC,), ("Who founded LEGO?", "Somebody.", TOPIC))
    )
    assert "Argentina won the 2022 FIFA World Cup" in alone
    assert after.partition("### Sources")[0] == alone.partition("### Sources")[0]


def test_what_the_pages_of_an_earlier_turn_do_not_answer_is_searched(
    services: Services, tmp_path: Path
) -> None:
    """A model that finds no answer in them, and asks for nothing more, ends no run."""
    world = set_up(services)
    think = world.think

    def content(asked: ModelRequest) -> Reply:
        reply = think(asked)
        if asked.task == "understand" and isinstance(reply, dict):
            return {**reply, "slots": []}
        is_lacking = asked.task == "reflect" and "Uppsala" not in asked.prompt
        lack = {"answerable": False, "need_more": False, "new_queries": []}
        return {**reply, **lack} if is_lacking and isinstance(reply, dict) else reply

    world.think = content
    with online(world, tmp_path) as web:
        first = web.client.post(CHAT, json=say(PARENT)).json()
        said = first["choices"][0]["message"]["content"]
        forget(world)
        again = web.client.post(CHAT, json=say(PARENT, said, OPEN)).json()
    assert "Uppsala" in again["choices"][0]["message"]["content"]
    assert SEARCHED in world.search_queries


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_stops_its_run(
    world: Services, tmp_path: Path, gate: threading.Event, stream: bool
) -> None:
    with online(world, tmp_path) as web:
        body = say(TOPIC, stream=stream)
        if stream:
            with web.client.stream("POST", CHAT, json=body) as response:
                assert next(response.iter_lines()).startswith("data: ")
        else:
            with pytest.raises(httpx2.ReadTimeout):
                web.client.post(CHAT, json=body, timeout=1)
        wait_until(lambda: web.client.get("/api/runs").json()[0]["cancelled"])
        gate.set()
        wait_until(lambda: web.runs.load == (0, 0))
    assert not world.page_requests


def test_beyond_the_queue_it_says_when_to_come_again(
    world: Services, tmp_path: Path, gate: threading.Event
) -> None:
    with online(
        world, tmp_path, RESEARCH_AGENT_API_MAX_RUNS="1", RESEARCH_AGENT_API_MAX_QUEUE="0"
    ) as web:
        with web.client.stream("POST", CHAT, json=say(TOPIC, stream=True)):
            full = httpx2.post(f"{web.base}{CHAT}", json=say(TOPIC), trust_env=False, timeout=20)
        gate.set()
    assert full.status_code == 429 and full.headers["retry-after"] == "5"
    assert full.json()["error"]["code"] == "rate_limit_exceeded"


@pytest.mark.slow
def test_open_webui_shows_answer_quotes_and_progress(web: Web) -> None:
    """Its own middleware reads the stream. OPEN_WEBUI_WHEEL names its wheel, of 0.12.4 or so."""
    wheel = os.environ.get("OPEN_WEBUI_WHEEL", "")
    if not Path(wheel).is_file():
        pytest.skip("OPEN_WEBUI_WHEEL names no wheel")
    stream = web.client.post(CHAT, json=say(TOPIC, stream=True)).content
    command = [sys.executable, open_webui.__file__, wheel]
    events = json.loads(subprocess.run(command, input=stream, stdout=-1, check=True).stdout)
    shown = [one["data"] for one in events if one["type"] == "source"]
    quotes = [text for one in shown for text in one["document"]]
    assert any(quote.startswith("Argentina won the 2022 FIFA") for quote in quotes)
    assert {row["source"] for one in shown for row in one["metadata"]} == {
        "corpus:world-cup-final-2022.md"
    }
    progress = [one["data"] for one in events if one["type"] == "status"]
    assert progress[-1]["done"] and len(progress) > 5
    last = events[-1]["data"]
    assert last["done"] and last["output"][0]["content"][0]["text"].startswith("Argentina won")


@pytest.mark.slow
def test_the_official_client_reads_all_of_it(web: Web) -> None:
    import openai  # half a second

    client = openai.OpenAI(base_url=f"{web.base}/v1", api_key="any", max_retries=0)
    assert client.models.retrieve("research").id in [one.id for one in client.models.list()]
    body = say(TOPIC)
    message = client.chat.completions.create(**body).choices[0].message
    cited = message.annotations[0].url_citation
    assert message.content[cited.start_index : cited.end_index] == "[1]"
    stream = client.chat.completions.create(**body, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text.startswith("Argentina won")
    with pytest.raises(openai.NotFoundError, match="gpt-9"):
        client.chat.completions.create(**say(TOPIC, model="gpt-9"))
    with pytest.raises(openai.BadRequestError, match="no question"):
        client.chat.completions.create(model="research", messages=[])
