"""What is said of a run that goes on, and edits of one that ended: over HTTP, MCP, in a chat."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from agent.mcp_server.tools import Tools
from agent.run import aresearch
from agent.serving.runs import Runs
from agent.settings import Settings
from tests.serving.test_follow_doors import Screen, chat, start_chat
from tests.support.follower import FIRM, PARENT, forget, set_up
from tests.support.services import Services
from tests.support.web import Web, configure_from, wait_until

SAID = "also look at Norway"


@pytest.fixture
def world(services: Services) -> Services:
    world = set_up(services)
    think = world.think
    heard = {"queries": ["Velmora Works Norway"], "since": ""}
    world.think = lambda asked: heard if asked.task == "heed" else think(asked)
    return world


@pytest.fixture
def web(world: Services, tmp_path: Path) -> Iterator[Web]:
    with Web(configure_from(world.environment(tmp_path, CACHE_TTL="0"))) as running:
        yield running


@contextmanager
def held(world: Services) -> Iterator[threading.Event]:
    """The first call of a model waits for the event."""
    think, go_on = world.think, threading.Event()

    def hold(asked: Any) -> Any:
        assert go_on.wait(20)
        return think(asked)

    world.think = hold
    yield go_on
    go_on.set()


@pytest.mark.slow
def test_something_is_said_over_http(web: Web, world: Services) -> None:
    body = {"question": PARENT, "detach": True}
    with (
        held(world) as go_on,
        web.client.stream("POST", "/api/research/stream", json=body) as begun,
    ):
        path = f"/api/runs/{begun.headers['x-run-id']}"
        say = f"{path}/say"
        wait_until(lambda: bool(world.model_requests))
        heard = web.client.post(say, json={"text": SAID})
        assert heard.status_code == 202 and heard.json()["state"] == "running"
        for text, status in (("x" * 501, 413), (" ", 422)):
            assert web.client.post(say, json={"text": text}).status_code == status
        assert web.client.post("/api/runs/nobody/say", json={"text": SAID}).status_code == 404
        go_on.set()
        frames = "".join(begun.iter_lines())
    assert f"{SAID} | search: Velmora Works Norway" in frames
    assert web.client.get(f"{path}/answer").json()["run"]["said"] == [SAID]
    refused = web.client.post(say, json={"text": SAID})
    assert refused.status_code == 409 and "ended" in refused.text


def test_a_run_is_edited_over_http(web: Web, world: Services) -> None:
    name = web.ask(PARENT).headers["x-run-id"]
    forget(world)
    same = web.ask(PARENT, edit=name)
    assert same.json()["run"]["edits"] == {"run": name, "without": [], "add": []}
    assert not (world.model_requests or world.search_queries or world.page_requests)
    world.pages["copy"] = FIRM
    changed = web.ask(PARENT, edit=name, without=[world.url("firm")], add=[world.url("copy")])
    assert {one["url"] for one in changed.json()["citations"]} == {world.url("copy")}
    assert world.page_requests == ["copy"] and not world.search_queries
    assert web.ask(PARENT, edit="nobody").status_code == 422
    assert web.ask(PARENT, say=["x" * 501]).status_code == 422


@pytest.mark.slow
def test_something_is_said_and_a_run_is_edited_over_mcp(world: Services, tmp_path: Path) -> None:
    configure = configure_from(world.environment(tmp_path, CACHE_TTL="0"))
    server = Tools(configure, Runs(configure({}))).make_server()
    told: list[str] = []

    async def hear(_: float, __: float | None, message: str | None) -> None:
        told.append(message or "")

    async def talk() -> None:
        async with Client(server) as client:
            with held(world) as go_on:
                asked = {"question": PARENT}
                call = client.call_tool("research", asked, progress_callback=hear)
                running = asyncio.create_task(call)  # type: ignore[arg-type]
                while not told:
                    await asyncio.sleep(0.01)
                name = told[0].partition(" (run ")[2].rstrip(")")
                heard = await client.call_tool("say", {"run": name, "text": SAID})
                assert heard.structured_content == {"run": name, "said": SAID}
                go_on.set()
                answer = (await running).structured_content
            assert answer and answer["run"]["said"] == [SAID]
            late = await client.call_tool("say", {"run": name, "text": SAID})
            assert late.is_error
            forget(world)
            again = await client.call_tool("research", {"question": PARENT, "edit": name})
            assert again.structured_content and not world.model_requests

    asyncio.run(talk())


def test_something_is_said_to_a_run_that_is_awaited(world: Services, settings: Settings) -> None:
    async def talk() -> None:
        run = aresearch(PARENT, settings)
        run.say(SAID)
        answer = await run
        assert answer.run and answer.run.said == (SAID,)
        edited = await aresearch("", settings, edit=answer.run.id, without=[world.url("noise")])
        assert edited.topic == PARENT and edited.run and edited.run.edits

    asyncio.run(talk())


@pytest.mark.slow
def test_a_chat_edits_its_last_answer(world: Services, tmp_path: Path) -> None:
    world.pages["copy"] = FIRM
    lines = [":say x", PARENT, f":without {world.url('firm')}", f":add {world.url('copy')}", ":add"]
    status, out, err = chat(world, tmp_path, lines, "--json")
    asked, without, added = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and "There is no answer yet." in err and ":new begins anew" in err
    assert without["run"]["edits"]["run"] == asked["run"]["id"] and not without["citations"]
    assert added["run"]["edits"]["without"] == [world.url("firm")]
    assert {one["url"] for one in added["citations"]} == {world.url("copy")}


@pytest.mark.slow
def test_a_line_that_is_typed_while_a_chat_answers_is_an_instruction(
    world: Services, tmp_path: Path
) -> None:
    with held(world) as go_on:
        master, terminal = pty.openpty()
        process = start_chat(world, tmp_path, stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        seen = Screen(master)
        with process:
            seen.wait_for("> ")
            os.write(master, f"{PARENT}\n".encode())
            wait_until(lambda: bool(world.model_requests), 30)
            os.write(master, f"{SAID}\n".encode())
            seen.wait_for(f"It is told: {SAID}")
            go_on.set()
            seen.wait_for("(complete;")
            os.write(master, b":quit\n")
            assert process.wait(30) == 0
        os.close(master)
    assert "Velmora Works Norway" in world.search_queries
