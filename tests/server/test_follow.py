"""Asking on over HTTP, over MCP and in a chat, as their users do."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from agent.answer.schema import answer_schema
from agent.mcp_server.tools import Tools
from agent.server.run_manager import Runs
from agent.state import RunRequest
from tests.support.follower import FOLLOW_UP, OPEN, PARENT, forget, set_up
from tests.support.processes import start_command
from tests.support.services import Services
from tests.support.web import Web, configure_from, parse_frames, wait_until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def world(services: Services) -> Services:
    return set_up(services)


@pytest.fixture
def web(world: Services, tmp_path: Path) -> Iterator[Web]:
    with Web(configure_from(world.environment(tmp_path, CACHE_TTL="0"))) as running:
        yield running


def ask_parent(web: Web, world: Services) -> str:
    """The path at which the run can be followed; the services forget its requests."""
    name = web.ask(PARENT).headers["x-run-id"]
    forget(world)
    return f"/api/runs/{name}/follow"


def test_a_run_is_followed_by_its_name(web: Web, world: Services) -> None:
    path = ask_parent(web, world)
    response = web.client.post(path, json={"question": FOLLOW_UP, "max_words": 30})
    assert response.status_code == 200 and response.headers["x-run-id"]
    told = response.json()
    assert told.pop("question") == FOLLOW_UP and "1931" in told.pop("report")
    jsonschema.validate(told, answer_schema())
    assert told["run"]["follows"]["run"] in path and told["usage"]["searches"] == 0
    assert not world.search_queries and not world.page_requests
    [newest, _] = web.client.get("/api/runs").json()
    assert newest["question"] == FOLLOW_UP


def test_a_follow_up_is_streamed_to_who_accepts_a_stream(web: Web, world: Services) -> None:
    path, accept = ask_parent(web, world), {"Accept": "text/event-stream"}
    body = {"question": FOLLOW_UP}
    with web.client.stream("POST", path, json=body, headers=accept) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        frames = list(parse_frames(response.iter_lines()))
    assert [frame["detail"] for frame in frames if frame["type"] == "plan"][0].startswith(FOLLOW_UP)
    assert frames[-1] == {"id": len(frames), "type": "end", "detail": "complete"}
    name = path.split("/")[3]
    streamed = web.stream(FOLLOW_UP, follow=name)[-2]["detail"]  # the field of the body, too
    assert streamed["run"]["follows"]["run"] == name


def test_what_cannot_be_followed_over_http(web: Web, world: Services) -> None:
    path = ask_parent(web, world)
    for name in ("nobody", "..%2f..%2fetc%2fpasswd", "%2Fetc%2Fpasswd.jsonl", "a" * 101):
        refused = web.client.post(f"/api/runs/{name}/follow", json={"question": FOLLOW_UP})
        assert refused.status_code in (404, 422), name
    assert web.client.post(path, json={"question": ""}).status_code == 400
    assert web.client.post(path, json={"question": FOLLOW_UP, "corpus": "/"}).status_code == 422
    for name in ("nobody", "../parent", "/etc/passwd", ""):
        assert web.ask(FOLLOW_UP, follow=name).status_code == 422, name
    assert not world.model_requests


def test_a_run_that_goes_on_is_not_followed_yet(web: Web, world: Services) -> None:
    think, go_on = world.think, threading.Event()

    def hold(asked: Any) -> Any:
        go_on.wait(20)
        return think(asked)

    world.think = hold
    body = {"question": PARENT, "detach": True}
    with web.client.stream("POST", "/api/research/stream", json=body) as begun:
        name = begun.headers["x-run-id"]
        refused = web.client.post(f"/api/runs/{name}/follow", json={"question": FOLLOW_UP})
        assert refused.status_code == 409 and "not ended" in refused.text
        go_on.set()
        list(begun.iter_lines())
    wait_until(lambda: web.runs.load == (0, 0))
    followed = web.client.post(f"/api/runs/{name}/follow", json={"question": FOLLOW_UP})
    assert followed.status_code == 200


def test_the_tool_research_takes_the_run_that_it_follows(world: Services, tmp_path: Path) -> None:
    configure = configure_from(world.environment(tmp_path, CACHE_TTL="0"))
    server = Tools(configure, Runs(configure({}))).make_server()

    async def talk() -> None:
        async with Client(server) as client:
            research, *_ = (await client.list_tools()).tools
            assert "follow" in research.input_schema["properties"]
            first = (await client.call_tool("research", {"question": PARENT})).structured_content
            forget(world)
            asked = {"question": FOLLOW_UP, "follow": first["run"]["id"]}
            told = (await client.call_tool("research", asked)).structured_content
            assert "1931" in told["answer"] and not world.search_queries
            for name in ("nobody", "../../x"):
                refused = await client.call_tool("research", {**asked, "follow": name})
                assert refused.is_error

    asyncio.run(talk())


def start_chat(world: Services, folder: Path, *arguments: str, **options: Any) -> Any:
    environment = {**os.environ, **world.environment(folder, CACHE_TTL="0"), "TERM": "dumb"}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | options
    command = ("-m", "agent.cli", "chat", *arguments)
    return start_command(*command, cwd=ROOT, env=environment, text=True, **pipes)


def chat(world: Services, folder: Path, lines: list[str], *arguments: str) -> tuple[int, str, str]:
    with start_chat(world, folder, *arguments) as process:
        out, err = process.communicate("\n".join(lines), timeout=60)
    assert "Traceback" not in err, err
    return process.returncode, out, err


@pytest.mark.slow
def test_lines_are_questions_that_follow_one_another(world: Services, tmp_path: Path) -> None:
    status, out, err = chat(world, tmp_path, [PARENT, "", FOLLOW_UP, ":sources", ":what", "quit"])
    assert status == 0
    assert "The founder is Ada Lindqvist [1].\n\n[1] firm <" in out
    assert "The founded is 1931 [1]." in out and "#:~:text=" in out
    assert "0 searches, 0 pages" in err and ":new starts a new topic" in err


@pytest.mark.slow
def test_answers_as_json_lines_and_neither_new_nor_a_failure_is_followed(
    world: Services, tmp_path: Path
) -> None:
    lines = [PARENT, "x" * 3000, FOLLOW_UP, ":new", PARENT, FOLLOW_UP]
    status, out, _ = chat(world, tmp_path, lines, "--json")
    told = [json.loads(line) for line in out.splitlines()]
    assert status == 1 and "too long" in told.pop(1)["error"]["message"]
    assert [answer["status"] for answer in told] == ["complete"] * 4
    runs = [answer["run"]["id"] for answer in told]
    parents = [answer["run"].get("follows", {}).get("run") for answer in told]
    assert parents == [None, runs[0], None, runs[2]]
    status, out, _ = chat(world, tmp_path, [OPEN], "--json", "--follow", runs[1])
    assert json.loads(out)["run"]["follows"]["run"] == runs[1]


def test_what_a_chat_cannot_begin_with(world: Services, tmp_path: Path) -> None:
    assert chat(world, tmp_path, [PARENT], "--follow", "nobody")[0] == 2
    assert chat(world, tmp_path, [PARENT], "--strategy", "nothing")[0] == 2
    assert chat(world, tmp_path, [PARENT], "--llm", "openai")[0] == 1
    assert not world.model_requests


@pytest.mark.slow
def test_an_interrupt_stops_the_answer_and_not_the_chat(world: Services, tmp_path: Path) -> None:
    think, reached, go_on = world.think, threading.Event(), threading.Event()

    def hold(asked: Any) -> Any:
        if asked.task == "reflect" and not go_on.is_set():
            reached.set()
            go_on.wait(30)
        return think(asked)

    world.think = hold
    master, terminal = pty.openpty()
    process = start_chat(world, tmp_path, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    seen = Screen(master)
    with process:
        seen.wait_for("> ")
        os.write(master, f"{PARENT}\n".encode())
        assert reached.wait(30)
        process.send_signal(signal.SIGINT)
        seen.wait_for("Stopping with the best answer so far")
        go_on.set()
        seen.wait_for("(partial;")
        process.send_signal(signal.SIGINT)  # after the answer it ends nothing, nor at the prompt
        os.write(master, b"\n")  # a line editor sees a signal that came before it waits by a key
        seen.wait_for("exit or Ctrl-D")
        os.write(master, f"{FOLLOW_UP}\n".encode())
        seen.wait_for("1931")
        seen.wait_for("(complete; 0 searches")
        os.write(master, b"exit\n")
        assert process.wait(30) == 0
    os.close(master)


class Screen:
    """What a terminal shows, read as it comes."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._text = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):  # the other side is closed
            while data := os.read(self._master, 4096):
                self._text += data.decode("utf-8", "replace")

    def wait_for(self, text: str) -> None:
        """Wait until a text is shown, and look no more at what is before its end."""
        wait_until(lambda: text in self._text, 30)
        self._text = self._text.partition(text)[2]


def test_a_server_waits_until_each_end_is_told(tmp_path: Path) -> None:
    """A run that is over is not done: its line in the log may still be on its way."""
    settings = configure_from({"RUNS_DIR": str(tmp_path)}, offline=True)({})
    is_over, may_tell = threading.Event(), threading.Event()

    def tell(_: object) -> None:
        is_over.set()
        may_tell.wait(60)

    runs = Runs(settings, tell)
    runs.begin("Who founded LEGO?", settings, RunRequest())
    assert is_over.wait(60) and runs.load == (0, 0) and not runs.wait(0)
    may_tell.set()
    assert runs.wait(60)
