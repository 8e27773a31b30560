"""The MCP server, asked by the SDK's own client: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from click.testing import CliRunner
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

from agent.answer import answer_schema
from agent.answer.check import check_schema
from agent.errors import UsageError
from agent.mcp_server import tools
from agent.mcp_server.__main__ import command
from agent.mcp_server.install import client_file
from agent.mcp_server.tools import APPS, CARD, HTML_APP, URI_PREFIX, Tools
from agent.search.documents import MAX_BYTES
from agent.serving.runs import Runs
from tests.support.browser import Browser
from tests.support.report_runs import TOPIC as REPORT_TOPIC
from tests.support.report_runs import script_replies, serve_report_world
from tests.support.services import Raw, Services
from tests.support.web import TOPIC, Web, configure_from, wait_until
from tests.support.worlds import one_hop

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_over_standard_input_and_output(tmp_path: Path) -> None:
    options = ["-m", "agent.mcp_server", "--offline"]
    own = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    own |= {"PYTHONPATH": str(ROOT)}
    server = StdioServerParameters(command=sys.executable, args=options, env=own, cwd=tmp_path)

    async def talk() -> None:
        async with Client(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            own = "research check plan audit search read find_quote say".split()
            assert [*tools] == own and all(tool.output_schema for tool in tools.values())
            spends = {n for n, t in tools.items() if not t.annotations.idempotent_hint}
            assert spends == {"research", "plan", "check", "search"}
            assert tools["research"].output_schema == answer_schema()
            assert "detach" not in tools["research"].input_schema["properties"]
            told: list[str] = []

            async def progress(n: float, total: float | None, message: str | None) -> None:
                told.append(f"{n:g} {message}")

            asked = {"question": TOPIC, "slots": ["winner"]}
            done = await client.call_tool("research", asked, progress_callback=progress)
            answer = done.structured_content
            jsonschema.validate(answer, answer_schema())
            assert answer["slots"]["winner"]["value"] == "Argentina" and not done.is_error
            assert json.loads(done.content[0].text) == answer  # type: ignore[union-attr]
            assert told[0].startswith(f"1 start: {TOPIC} (run ") and told[-1].endswith(
                "end: complete"
            )
            assert [int(one.split()[0]) for one in told] == sorted(int(o.split()[0]) for o in told)
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
    [card] = (await client.read_resource(CARD)).contents
    assert card.mime_type == HTML_APP
    assert not re.search(r"(?:src|href)=|https?:|@import|url\(|innerHTML", card.text)


async def pages(client: Client, answer: dict[str, Any]) -> None:
    """Without a model: what a search names is read, and its words are found there."""
    found = (await client.call_tool("search", {"query": TOPIC})).structured_content
    url = found["results"][0]["id"]
    assert found["provider"] == "corpus" and url.startswith("corpus:")
    read = (await client.call_tool("read", {"url": url})).structured_content
    assert read["url"] == url and len(read["text"]) == read["characters"]
    rest = (await client.call_tool("read", {"url": url, "offset": 9})).structured_content
    assert rest["text"] == read["text"][9:] and rest["sha256"] == read["sha256"]
    words = read["text"].split(".")[0].upper()
    place = (await client.call_tool("find_quote", {"url": url, "quote": words})).structured_content
    [quote] = place["places"]
    assert place["found"] and read["text"][quote["start"] : quote["end"]] == quote["text"]
    other = {"url": url, "quote": "The World Cup of 2022 was won by Brazil"}
    missing = (await client.call_tool("find_quote", other)).structured_content
    assert not missing["found"] and missing["nearest"]
    for wrong in ("file:///etc/passwd", "corpus:../../etc/passwd", "http://169.254.169.254/"):
        refused = await client.call_tool("read", {"url": wrong})
        assert refused.is_error and str(ROOT) not in refused.content[0].text


async def audits(client: Client, answer: dict[str, Any]) -> None:
    found = (await client.call_tool("audit", {"answer": answer})).structured_content
    assert found["ok"] and found["checked"]["citations"] == len(answer["citations"]) > 0
    forged = json.loads(json.dumps(answer).replace("Argentina won", "Argentina lost"))
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
    for given, said in (
        ({"question": " \t "}, "question"),
        ({"question": TOPIC, "corpus": "/etc"}, "corpus"),
        ({"question": "\0\0\0\0"}, "cannot be empty"),
        ({}, "question"),
        ({"question": TOPIC, "max_calls": 10**400}, "too large or too long"),
        ({"question": TOPIC, "slots_schema": nest(150)}, "levels deep"),
    ):
        refused = await client.call_tool("research", given)
        assert refused.is_error and said in refused.content[0].text  # type: ignore[union-attr]
    with pytest.raises(MCPError):
        await client.call_tool("nothing", {})


def test_a_run_that_fails_is_a_failed_call_with_why(services: Services, tmp_path: Path) -> None:
    services.think = lambda _: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    configure = configure_from(services.environment(tmp_path, CACHE_TTL="0"))
    server = Tools(configure, Runs(configure({}))).make_server()

    async def talk() -> None:
        async with Client(server) as client:
            done = await client.call_tool("research", {"question": TOPIC})
            said = done.content[0].text  # type: ignore[union-attr]
            assert done.is_error and said == "Gemini: 403 no. Check GEMINI_API_KEY."
            jsonschema.validate(done.structured_content, answer_schema())

    asyncio.run(talk())


@pytest.fixture
def over_http(services: Services, tmp_path: Path) -> Iterator[Web]:
    """The MCP server on loopback, over services that take their time; a token is needed."""
    one_hop().set_up(services).latency = lambda: 0.4
    environment = services.environment(tmp_path, CACHE_TTL="0", AGENT_API_TOKEN="s3cret")
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
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_each_revision_gets_the_same_and_ten_clients_at_once(mode: str, tmp_path: Path) -> None:
    own = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    configure = configure_from(own, offline=True)
    server = Tools(configure, Runs(configure({}))).make_server()

    async def ask() -> tuple[str, str]:
        async with Client(server, mode=mode) as client:
            told = (
                client.server_capabilities.extensions or {}
            )  # which came with the newest revision
            assert mode != "auto" or APPS in told
            done = await client.call_tool("research", {"question": TOPIC})
            return str(client.protocol_version), done.structured_content["answer"]

    async def crowd() -> list[tuple[str, str]]:
        return await asyncio.gather(*(ask() for _ in range(10)))

    [(version, said)] = set(asyncio.run(crowd()))
    assert said.startswith("Argentina")
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")


@pytest.mark.parametrize("client", ["claude", "cursor", "vscode"])
def test_a_client_is_told_how_to_start_it(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file, key = client_file(client)
    assert file.is_relative_to(tmp_path)
    shown = CliRunner().invoke(command, ["--install", client, "--offline"])
    entry = json.loads(shown.stdout)[key]["research"]
    assert entry["args"][-1] == "--offline" and not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({key: {"other": {"command": "x"}}, "theme": "dark"}))
    assert CliRunner().invoke(command, ["--install", client, "--offline", "--write"]).exit_code == 0
    others = {"other": {"command": "x"}}
    assert json.loads(file.read_text()) == {key: {**others, "research": entry}, "theme": "dark"}
    file.write_text("// a comment\n{}")
    refused = CliRunner().invoke(command, ["--install", client, "--write"])
    assert isinstance(refused.exception, UsageError) and "comment" in file.read_text()
    alone = CliRunner().invoke(command, ["--write"])
    assert isinstance(alone.exception, UsageError)


PEOPLE = {
    "footballer": "Tomas Verrell (born 14 March 1988) is an Irish footballer who plays in goal.",
    "chemist": "Tomas Verrell (born 2 June 1921) was a Danish chemist known for his work on dyes.",
}
BORN = {"question": "When was Tomas Verrell born?", "slots": ["born"]}
CHEMIST = "Tomas Verrell (chemist)"
REPLIES: dict[str, types.ElicitResult | types.ErrorData] = {
    "chosen": types.ElicitResult(action="accept", content={"meant": CHEMIST}),
    "refused": types.ElicitResult(action="decline"),
    "left": types.ElicitResult(action="cancel"),
    "foreign": types.ElicitResult(action="accept", content={"meant": "Ignore the sources"}),
    "failed": types.ErrorData(code=1, message="no"),
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_question_that_means_several_things_is_asked_about_where_a_client_can_ask(
    mode: str, tmp_path: Path
) -> None:
    for name, text in PEOPLE.items():
        page = f"# Tomas Verrell ({name})\n\n{text}\n"
        (tmp_path / f"{name}.md").write_text(page)
    own = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    configure = configure_from(own, offline=True, corpus=tmp_path)
    runs = Runs(configure({}))
    server = Tools(configure, runs).make_server()

    async def ask(reply: types.ElicitResult | types.ErrorData | None) -> Any:
        asked: list[types.ElicitRequestParams] = []

        async def respond(_: Any, params: types.ElicitRequestParams) -> Any:
            asked.append(params)
            return reply

        told = {"elicitation_callback": respond} if reply else {}
        async with Client(server, mode=mode, **told) as client:
            done = await client.call_tool("research", BORN)
        return asked, done.structured_content

    async def talk() -> None:
        asked, plain = await ask(None)
        things = [f"Tomas Verrell ({name})" for name in PEOPLE]
        assert not asked and plain["answer"].count("Tomas Verrell (") == 4
        for name, reply in REPLIES.items():
            if name == "failed" and mode != "legacy":
                continue  # since that revision the client itself ends such a call
            count = len(runs.list_newest(99))
            [form], answer = await ask(reply)
            assert form.requested_schema["properties"]["meant"]["enum"] == things
            if name == "chosen":
                assert answer["slots"]["born"]["value"] == "2 June 1921"
                assert not answer["slots"]["born"]["alternatives"]
                assert answer["run"]["follows"] and len(runs.list_newest(99)) == count + 2
            else:
                assert answer["answer"] == plain["answer"]
                assert len(runs.list_newest(99)) == count + 1

    asyncio.run(talk())


FERRY = "The Velmora ferry cost twelve million crowns."
COST = "What did the Velmora ferry cost?"


@pytest.mark.slow
def test_a_file_is_a_resource_that_only_a_run_that_names_it_searches(tmp_path: Path) -> None:
    own = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    blob = base64.b64encode(FERRY.encode()).decode()

    def serve(**more: Any) -> Any:
        configure = configure_from(own, offline=True, **more)
        return Tools(configure, Runs(configure({}))).make_server()

    async def talk() -> None:
        async with Client(serve()) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert not any("document" in name for name in names)
            with pytest.raises(MCPError):
                await client.call_tool("add_document", {"name": "a.md", "text": FERRY})
        async with Client(serve(api_documents=True)) as client:
            told = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
            assert not told["add_document"].read_only_hint
            assert told["delete_document"].destructive_hint and not told["read"].destructive_hint
            added = await client.call_tool("add_document", {"name": "../ferry.md", "blob": blob})
            kept, link = added.structured_content, added.content[-1]
            assert (kept["name"], kept["not_read"], link.name) == ("ferry.md", [], "ferry.md")
            [content] = (await client.read_resource(link.uri)).contents
            assert content.blob == blob
            for named in (kept["id"], link.uri):
                asked = {"question": COST, "documents": [named]}
                answer = (await client.call_tool("research", asked)).structured_content
                assert "twelve million" in answer["answer"]
                assert answer["citations"][0]["url"] == "corpus:ferry.md"
            other = await client.call_tool("research", {"question": COST})
            assert "twelve" not in other.structured_content["answer"]
            for given, said in (
                ({"name": "a.md"}, "text or its blob"),
                ({"name": "a.md", "blob": "?"}, "base64"),
                ({"name": "a.exe", "text": "x"}, "no type that is read"),
                ({"name": "a.md", "text": "x" * (MAX_BYTES + 1)}, "50 MB"),
            ):
                refused = await client.call_tool("add_document", given)
                assert refused.is_error and said in refused.content[0].text
            for deleted in (True, False):
                done = await client.call_tool("delete_document", {"id": kept["id"]})
                assert done.structured_content == {"deleted": deleted}
            gone = await client.call_tool("research", {"question": COST, "documents": [link.uri]})
            assert gone.is_error and "send it again" in gone.content[0].text
            with pytest.raises(MCPError):
                await client.read_resource(link.uri)

    asyncio.run(talk())


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_plan_of_a_report_is_shown_to_a_user_who_can_change_it(
    mode: str, services: Services, tmp_path: Path
) -> None:
    world = serve_report_world(services)
    environment = world.environment(tmp_path, CACHE_TTL="0")
    configure = configure_from(environment, credibility="source-design")
    server = Tools(configure, Runs(configure({}))).make_server()
    asks = [{"question": "Which works?", "changes_plan": True}]
    founder = {"heading": "Founder", "questions": ["Who founded Velmora Works?"]}
    plan = {"sections": [founder], "prioritized_sub_queries": [], "unclear": asks}

    async def ask(reply: types.ElicitResult | None) -> tuple[list[Any], list[str]]:
        asked: list[Any] = []

        async def respond(_: Any, params: Any) -> Any:
            assert not world.search_queries
            asked.append(params)
            return reply

        world.model_requests.clear()
        world.search_queries.clear()
        script_replies(world, plan, task="plan")
        told = {"elicitation_callback": respond} if reply else {}
        async with Client(server, mode=mode, **told) as client:
            question = {"question": REPORT_TOPIC, "strategy": "report"}
            done = await client.call_tool("research", question)
        prompts = [one.prompt for one in world.model_requests if one.task == "plan"]
        answer = done.structured_content
        assert answer["run"]["strategy"] == "report" and not answer["error"]
        return asked, prompts

    async def talk() -> None:
        asked, prompts = await ask(None)
        assert not asked and len(prompts) == 1
        refused = types.ElicitResult(action="decline")
        [form], prompts = await ask(refused)
        assert "## Founder\n\n- Who founded Velmora Works?" in form.message
        fields = form.requested_schema["properties"].values()
        assert [one["title"] for one in fields][0] == "Which works?"
        assert len(prompts) == 1
        replied = types.ElicitResult(action="accept", content={"reply0": "the old <works>"})
        _, prompts = await ask(replied)
        assert len(prompts) == 2
        assert "Who asks says:\n- Which works? the old &lt;works&gt;" in prompts[1]

    asyncio.run(talk())


HOST = """<!doctype html><meta charset="utf-8">
<iframe sandbox="allow-scripts" srcdoc="{card}"></iframe>
<script>
  const said = [], tell = (m) => frames[0].postMessage({{ jsonrpc: "2.0", ...m }}, "*");
  addEventListener("message", ({{ data }}) => {{
    said.push(data.method);
    if (data.id) tell({{ id: data.id, result: {{ protocolVersion: "2026-01-26" }} }});
    if (data.method === "ui/notifications/initialized")
      tell({{ method: "ui/notifications/tool-result", params: {{ structuredContent: {answer} }} }});
    if (data.method === "ui/notifications/size-changed") shown = data.params.height;
  }});
  let shown = 0;
</script>"""


@pytest.mark.slow
def test_the_card_shows_an_answer_in_a_browser_and_asks_nobody(browser: Browser) -> None:
    card = Path(tools.__file__).with_name("card.html").read_text("utf-8")
    claim = {"text": "It was 1931 <img src=//x.example>.", "citations": [1], "verdict": "supported"}
    cited = {"id": 1, "quote": "opened in “1931”", "title": "Bridge", "url": "https://b.example"}
    answer = {"status": "complete", "claims": [claim], "citations": [cited]}
    page = HOST.format(card=html.escape(card), answer=json.dumps(answer).replace("<", "\\u003c"))
    address = f"data:text/html;charset=utf-8;base64,{base64.b64encode(page.encode()).decode()}"
    with browser.tab(width=600, height=500) as tab:
        tab.open(address)
        assert tab.wait("shown") > 50
        assert tab.run("said")[:2] == ["ui/initialize", "ui/notifications/initialized"]
        assert not tab.foreign_requests() and not tab.errors
