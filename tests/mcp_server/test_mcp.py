"""The MCP server, asked by the SDK's own client: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from agent.answer.check_result import check_schema
from agent.answer.schema import answer_schema
from agent.mcp_server.tools import URI_PREFIX, Tools
from agent.server.run_manager import Runs
from tests.support.services import Raw, Services
from tests.support.web import TOPIC, Web, configure_from, wait_until
from tests.support.worlds import one_hop

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_over_standard_input_and_output(tmp_path: Path) -> None:
    options = ["-m", "agent.cli", "mcp", "--offline"]
    own = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    own |= {"PYTHONPATH": str(ROOT)}
    server = StdioServerParameters(command=sys.executable, args=options, env=own, cwd=tmp_path)

    async def talk() -> None:
        async with Client(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert [*tools] == "research check audit search read".split()
            spends = {n for n, t in tools.items() if not t.annotations.idempotent_hint}
            assert spends == {"research", "check", "search"}
            assert "follow" in tools["research"].input_schema["properties"]
            lines: list[str] = []

            async def progress(n: float, total: float | None, message: str | None) -> None:
                lines.append(f"{n:g} {message}")

            asked = {"question": TOPIC, "slots": ["winner"]}
            done = await client.call_tool("research", asked, progress_callback=progress)
            answer = done.structured_content
            jsonschema.validate(answer, answer_schema())
            assert answer["slots"]["winner"]["value"] == "Argentina" and not done.is_error
            assert json.loads(done.content[0].text) == answer  # type: ignore[union-attr]
            assert lines[0] == f"1 start: {TOPIC}" and lines[-1].endswith("end: complete")
            await links(client, answer, done)
            await pages(client, answer)
            await audits(client, answer)
            await resources(client, answer)
            await checks(client)
            await mistakes(client)

    asyncio.run(talk())


async def links(client: Client, answer: dict[str, Any], done: Any) -> None:
    [run, *sources] = [block for block in done.content if block.type == "resource_link"]
    assert json.loads((await client.read_resource(run.uri)).contents[0].text) == answer
    assert [one.name for one in sources] == list(
        dict.fromkeys(f"[{c['id']}]" for c in answer["citations"])
    )
    for link in sources:
        [content] = (await client.read_resource(link.uri)).contents
        assert f"⟦{link.description}⟧" in content.text
    with pytest.raises(MCPError):
        await client.read_resource(f"{run.uri}/sources/77")


async def pages(client: Client, answer: dict[str, Any]) -> None:
    """Without a model: what a search finds can be read."""
    found = (await client.call_tool("search", {"query": TOPIC})).structured_content
    assert [*found] == ["docs", "attempts"]
    url = found["docs"][0]["url"]
    assert found["docs"][0]["provider"] == "corpus" and url.startswith("corpus:")
    read = (await client.call_tool("read", {"url": url})).structured_content
    assert read["url"] == url and len(read["text"]) == read["characters"]
    rest = (await client.call_tool("read", {"url": url, "offset": 9})).structured_content
    assert rest["text"] == read["text"][9:] and rest["sha256"] == read["sha256"]
    for wrong in ("file:///etc/passwd", "corpus:../../etc/passwd", "http://169.254.169.254/"):
        refused = await client.call_tool("read", {"url": wrong})
        assert refused.is_error and str(ROOT) not in refused.content[0].text


async def audits(client: Client, answer: dict[str, Any]) -> None:
    found = (await client.call_tool("audit", {"answer": answer})).structured_content
    assert found["ok"] and found["checked"]["citations"] == len(answer["citations"]) > 0
    forged = json.loads(json.dumps(answer).replace("Argentina", "Bolivia"))
    assert not (await client.call_tool("audit", {"answer": forged})).structured_content["ok"]
    elsewhere = {**answer, "run": {**answer["run"], "id": "../../etc/passwd"}}
    refused = await client.call_tool("audit", {"answer": elsewhere})
    assert refused.is_error and "no journal" in refused.content[0].text  # type: ignore[union-attr]


async def checks(client: Client) -> None:
    checked = await client.call_tool("check", {"report": "The tower is of 1889 [a](file:b)."})
    jsonschema.validate(checked.structured_content, check_schema())
    audited = await client.call_tool("audit", {"answer": checked.structured_content})
    assert not checked.is_error and audited.structured_content["ok"]
    assert (await client.call_tool("check", {"report": "# x"})).is_error


async def resources(client: Client, answer: dict[str, Any]) -> None:
    [listed] = (await client.list_resources()).resources
    assert listed.uri == URI_PREFIX + answer["run"]["id"] and listed.title == TOPIC
    [content] = (await client.read_resource(listed.uri)).contents
    assert json.loads(content.text) == answer  # type: ignore[union-attr]
    for uri in (URI_PREFIX + "nobody", "file:///etc/passwd", URI_PREFIX + "../x"):
        with pytest.raises(MCPError):
            await client.read_resource(uri)


def nest(depth: int) -> dict[str, Any]:
    return {"properties": nest(depth - 1)} if depth else {}


async def mistakes(client: Client) -> None:
    for arguments, message in (
        ({"question": TOPIC, "corpus": "/etc"}, "corpus"),
        ({"question": "\0\0\0\0"}, "cannot be empty"),
        ({}, "question"),
        ({"question": TOPIC, "max_calls": 10**400}, "too large or too long"),
        ({"question": TOPIC, "slots_schema": nest(150)}, "levels deep"),
    ):
        refused = await client.call_tool("research", arguments)
        assert refused.is_error and message in refused.content[0].text  # type: ignore[union-attr]
    with pytest.raises(MCPError):
        await client.call_tool("nothing", {})


MAX_TOOLS = 12_000  # characters of `tools/list`, which a client's model has in every prompt


def test_the_list_of_tools_is_short(tmp_path: Path) -> None:
    configure = configure_from({"RUNS_DIR": str(tmp_path)}, offline=True)
    server = Tools(configure, Runs(configure({}))).make_server()

    async def talk() -> str:
        async with Client(server) as client:
            listed = await client.list_tools()
            assert all("Use it" in (tool.description or "") for tool in listed.tools)
            return listed.model_dump_json(by_alias=True, exclude_none=True)

    listed = asyncio.run(talk())
    assert len(listed) <= MAX_TOOLS
    assert "outputSchema" not in listed and "$ref" not in listed


def test_a_run_that_fails_is_a_failed_call_with_why(services: Services, tmp_path: Path) -> None:
    services.think = lambda _: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    configure = configure_from(services.environment(tmp_path, CACHE_TTL="0"))
    server = Tools(configure, Runs(configure({}))).make_server()

    async def talk() -> None:
        async with Client(server) as client:
            done = await client.call_tool("research", {"question": TOPIC})
            text = done.content[0].text  # type: ignore[union-attr]
            assert done.is_error and text == "Gemini: 403 no. Check GEMINI_API_KEY."
            jsonschema.validate(done.structured_content, answer_schema())

    asyncio.run(talk())


@pytest.fixture
def over_http(services: Services, tmp_path: Path) -> Iterator[Web]:
    """The MCP server on loopback, over services that take their time; a token is needed."""
    one_hop().set_up(services).latency = lambda: 0.4
    environment = services.environment(tmp_path, CACHE_TTL="0", RESEARCH_AGENT_API_TOKEN="s3cret")
    configure = configure_from(environment)
    runs = Runs(configure({}))
    with Web.of(Tools(configure, runs).make_app("127.0.0.1"), runs) as web:
        yield web


@pytest.mark.slow
def test_a_cancelled_call_stops_the_run(over_http: Web, services: Services) -> None:
    async def talk() -> None:
        token = {"Authorization": "Bearer s3cret", "X-Request-ID": "monday-7"}
        async with httpx2.AsyncClient(headers=token, trust_env=False, timeout=20) as http:
            transport = streamable_http_client(f"{over_http.base}/mcp", http_client=http)
            async with Client(transport) as client:
                call = asyncio.create_task(client.call_tool("research", {"question": TOPIC}))
                while over_http.runs.load != (1, 0) or not services.model_requests:
                    await asyncio.sleep(0.01)
                call.cancel()
                await asyncio.to_thread(wait_until, lambda: over_http.runs.load == (0, 0))
                [run] = over_http.runs.list_newest(5)
                assert run.cancelled and run.state == "ended" and run.request_id == "monday-7"
                services.latency = lambda: 0.0
                done = await client.call_tool("research", {"question": TOPIC})
                assert done.structured_content["status"] == "complete"

    asyncio.run(talk())
    assert services.tasks().count("reflect") == 1


def test_over_http_it_is_guarded(over_http: Web) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert over_http.client.post("/mcp", json=call).status_code == 401
    over_http.client.headers["Authorization"] = "Bearer s3cret"
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        assert over_http.client.post("/mcp", json=call, headers=headers).status_code in (403, 421)
    over_http.client.headers["Accept"] = "application/json, text/event-stream"
    for megabytes, refused in ((5, False), (13, True)):  # a report, or an answer object
        longer = {**call, "params": {"x": "y" * megabytes * 1_000_000}}
        try:
            is_refused = over_http.client.post("/mcp", json=longer).status_code == 413
        except httpx2.WriteError:
            is_refused = True
        assert is_refused == refused


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_each_revision_of_the_protocol_serves_ten_clients_at_once(
    mode: str, tmp_path: Path
) -> None:
    own = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    configure = configure_from(own, offline=True)
    server = Tools(configure, Runs(configure({}))).make_server()

    async def ask() -> tuple[str, str]:
        async with Client(server, mode=mode) as client:
            done = await client.call_tool("research", {"question": TOPIC})
            return str(client.protocol_version), done.structured_content["answer"]

    async def crowd() -> list[tuple[str, str]]:
        return await asyncio.gather(*(ask() for _ in range(10)))

    [(version, answer)] = set(asyncio.run(crowd()))
    assert answer.startswith("Argentina")
    assert version == ("2025-11-25" if mode == "legacy" else mode)
