"""MCP servers that are searched and read: whole runs, hostile ones, the forms of results."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import types

from agent.answer.schema import Answer
from agent.cli.read import command as read_command
from agent.errors import AgentError, ExternalCallError, ReadFailed, SearchFailed, UsageError
from agent.mcp_server.pages import PageTools, ReadCall
from agent.pages.fetch import PageReader
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.run.header import journal_path
from agent.search.mcp.result_rows import read_document, read_rows
from agent.search.mcp.source import McpPlace, McpReader, McpSource
from agent.search.mcp.tool_choice import find_tools
from agent.settings import Settings, load_settings
from agent.settings.mcp_servers import McpServer, find_mcp_servers
from agent.state import Hit, Page, SearchResults
from tests.support import mcp_wire
from tests.support.mcp_wire import DESCRIPTION, ORDERS, PAGE, Server
from tests.support.web import wait_until

TOPIC = "Who won the 2022 FIFA World Cup?"
DEMO = Path(__file__).parents[2] / "agent" / "demo"


def command(mood: str, *log: Path) -> str:
    return shlex.join([sys.executable, mcp_wire.__file__, mood, *map(str, log)])


def ask(tmp_path: Path, *, alone: bool = False, **more: Any) -> Answer:
    """The answer from a server beside the demo's corpus, or from the server alone."""
    keep: dict[str, Any] = {"runs_dir": tmp_path / "runs", "cache_dir": tmp_path / "cache"}
    keep |= {} if alone else {"corpus": DEMO}
    search = ("mcp",) if alone else ("mcp", "corpus") if more.get("mcp") else ("corpus",)
    settings = Settings(llm=("extractive",), search=search, **keep)
    return research(TOPIC, settings, **more).answer()


def tried(answer: Answer) -> set[tuple[str, str]]:
    return {(one.provider, one.outcome) for one in answer.attempts if one.what != "llm"}


@pytest.mark.slow
def test_a_server_is_searched_and_read_and_no_replay_or_audit_goes_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    answer = ask(tmp_path, alone=True, mcp=(command("ok", log),))
    source, *_ = answer.citations
    assert (source.url, source.text_from) == ("https://n.example/wc", "mcp:mcp_wire")
    assert answer.answer.startswith("Argentina won") and source.quote in PAGE
    assert any("instruct" in one for one in answer.warnings)
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["method"] for one in asked].count("initialize") == 1  # one process a run
    calls = [one["params"] for one in asked if one["method"] == "tools/call"]
    assert {"name": "fetch", "arguments": {"id": "d 1/é"}} in calls
    journal = journal_path(Settings(runs_dir=tmp_path / "runs"), answer.run.id)
    assert DESCRIPTION not in journal.read_text()
    log.unlink()
    assert audit_answer(json.loads(answer.model_dump_json()), journal)["ok"]
    assert research("", Settings(), replay=journal).answer().answer == answer.answer
    assert not log.exists()


@pytest.mark.slow
def test_a_run_that_goes_on_reads_what_its_search_found_before(tmp_path: Path) -> None:
    log = tmp_path / "log"
    answer = ask(tmp_path, alone=True, mcp=(command("ok"),), resume="monday")
    journal = journal_path(Settings(runs_dir=tmp_path / "runs"), "monday")
    first, *lines = journal.read_text().splitlines(keepends=True)
    searches = [line for line in lines if json.loads(line).get("call") == "search"]
    journal.write_text("".join([first, *searches]))
    again = ask(tmp_path, alone=True, mcp=(command("ok", log),), resume="monday")
    assert {one.text_from for one in again.citations} == {"mcp:mcp_wire"}
    assert again.answer == answer.answer
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    calls = [one["params"]["name"] for one in asked if one["method"] == "tools/call"]
    assert calls == ["fetch"]


HOSTILE = {"gigabyte": "unavailable", "silence": "timeout", "death": "unavailable"}


@pytest.mark.slow
@pytest.mark.parametrize("over_http", [False, True])
@pytest.mark.parametrize("mood", HOSTILE)
def test_a_hostile_server_changes_no_answer(mood: str, over_http: bool, tmp_path: Path) -> None:
    plain = ask(tmp_path)
    with Server.start(mood) as http:
        mcp = http.url if over_http else command(mood)
        answer = ask(tmp_path, mcp=(mcp,), search_timeout=6.0)
    assert (answer.answer, answer.status) == (plain.answer, plain.status)
    assert [c.quote for c in answer.citations] == [c.quote for c in plain.citations]
    said = {outcome for provider, outcome in tried(answer) if provider.startswith("mcp:")}
    assert said <= {HOSTILE[mood], "rejected"} and said
    assert ORDERS not in answer.model_dump_json()


@pytest.mark.slow
def test_noise_on_its_output_is_passed_over(tmp_path: Path) -> None:
    answer = ask(tmp_path, alone=True, mcp=(command("noise"),))
    assert answer.citations[0].text_from == "mcp:mcp_wire"
    assert ORDERS not in answer.model_dump_json()


@pytest.mark.slow
def test_a_result_with_a_private_address_changes_no_answer_and_is_reported(tmp_path: Path) -> None:
    plain, answer = ask(tmp_path), ask(tmp_path, mcp=(command("private"),))
    assert (answer.answer, answer.status) == (plain.answer, plain.status)
    assert ("mcp:mcp_wire", "forbidden") in tried(answer)


@pytest.mark.slow
def test_its_process_knows_no_key_and_ends_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    source = McpSource(McpServer(name="x", command=tuple(shlex.split(command("environment")))))
    [hit] = source.search("q").hits  # the second one is in a session of its own
    pid, runaway, *names = hit.snippet.split()
    assert set(names) <= set("HOME LOGNAME PATH SHELL TERM USER LC_CTYPE".split())
    place = McpPlace.parse(hit.url)
    assert place and source.read(place).text == hit.snippet
    source.close()
    with pytest.raises(SearchFailed):
        source.search("q")
    wait_until(lambda: not is_running(int(pid)) and not is_running(int(runaway)))


def is_running(pid: int) -> bool:
    """Whether a process goes on; one that nobody has waited for yet does not."""
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return said.stdout.strip()[:1] not in ("", "Z")


def http_source(http: Server, **more: Any) -> McpSource:
    return McpSource(McpServer(name="x", url=http.url, **more), 10.0)


def test_a_redirect_is_not_followed_and_a_token_is_sent_to_nobody_else() -> None:
    secret = {"Authorization": "Bearer s3cret-token"}
    for mood, words in (("redirect", "not followed"), ("locked", "401"), ("bomb", "DecodingError")):
        with Server.start(mood) as http:
            source = http_source(http, headers=secret)
            with pytest.raises(SearchFailed) as failed:
                source.search("q")
            assert words in failed.value.message and "s3cret" not in failed.value.message
            assert len(http.headers) and http.headers[0]["authorization"] == "Bearer s3cret-token"
            source.close()


def test_a_schema_of_the_server_is_not_run_over_what_it_returns() -> None:
    with Server.start("ok") as http:  # its pattern needs 2 ** 40 steps for its own result
        source = http_source(http)
        [hit] = source.search("q").hits
        assert hit.places == ("mcp://x/fetch/d%201%2F%C3%A9",)
        assert source.probe() == "search: search(query), fetch: fetch(id)"
        source.close()


def test_only_what_its_own_search_named_is_read_there(tmp_path: Path) -> None:
    def web(url: str) -> Page:
        raise ReadFailed("no", outcome="forbidden")

    with Server.start("ok") as http:
        source, reader = http_source(http), PageReader()
        own = McpReader([source], reader, web)
        hit = Hit(url="mcp://x/fetch/secret")
        own.keep(SearchResults(query="q", hits=(hit,), provider="serper"))
        with pytest.raises(ReadFailed):
            own.read(hit.url)
        assert not http.headers
        own.keep(SearchResults(query="q", hits=(hit,), provider="mcp:x"))
        page = own.read(hit.url)
        assert (page.url, page.text, page.text_from) == (hit.url, PAGE, "mcp:x")
        source.close()
        reader.close()


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def embedded(**fields: str) -> types.EmbeddedResource:
    kind = types.BlobResourceContents if "blob" in fields else types.TextResourceContents
    return types.EmbeddedResource(type="resource", resource=kind(uri="notes://a", **fields))


ROW = {"id": "1", "title": "T", "url": "https://a.example/"}
LINK = types.ResourceLink(type="resource_link", uri="notes://a", name="n", title="T")


@pytest.mark.parametrize(
    ("content", "structured", "found"),
    [
        ([], {"results": [ROW]}, ("https://a.example/", "1", "T", "")),
        ([text(json.dumps({"results": [ROW]}))], None, ("https://a.example/", "1", "T", "")),
        ([text(json.dumps([{"doc_id": 7, "content": "c"}]))], None, ("", "7", "", "c")),
        ([text("Title: T\nURL: https://a.example/")], None,
         ("https://a.example/", "", "T", "Title: T\nURL: https://a.example/")),
        ([text("plain words")], None, ("", "", "plain words", "plain words")),
        ([LINK], None, ("notes://a", "", "T", "")),
        ([text(""), text("[1, 2]")], {"a": [[], {}, 3], "b": None}, None),
    ],
)  # fmt: skip
def test_every_form_of_results_is_read(
    content: list[Any], structured: Any, found: tuple[str, ...] | None
) -> None:
    result = types.CallToolResult(content=content, structured_content=structured)
    rows = [row[:4] for row in read_rows(result)]
    assert rows == ([found] if found else rows) and (found or not any(row[0] for row in rows))


def test_every_form_of_a_document_is_read() -> None:
    blob = base64.b64encode(b"%PDF-").decode()
    for content, expected in (
        ([text(json.dumps({"title": "T", "text": "body"}))], ("T", "body", b"")),
        ([embedded(blob=blob, mime_type="application/pdf")], ("", "", b"%PDF-")),
    ):
        row = read_document(types.CallToolResult(content=content))
        assert (row.title, row.text, row.data) == expected


def offered(name: str, *required: str, reads: bool | None = None) -> types.Tool:
    form = {"type": "object", "properties": {a: {"type": "string"} for a in required}}
    hints = types.ToolAnnotations(read_only_hint=reads)
    return types.Tool(name=name, input_schema=form | {"required": [*required]}, annotations=hints)


def test_tools_are_known_by_their_schemas_or_named() -> None:
    plain = McpServer(name="x")
    several = [
        offered("execute_sql", "query"),
        offered("search_and_replace", "query", "text"),
        offered("searchDelete", "query", reads=False),
        offered("get_user", "id"),
        offered("notes-search", "q"),
        offered("getDocument", "doc_id"),
    ]
    assert list(map(str, find_tools(several, plain))) == ["notes-search(q)", "getDocument(doc_id)"]
    pair = [*several, offered("search", "query"), offered("fetch", "url")]
    assert list(map(str, find_tools(pair, plain))) == ["search(query)", "fetch(url)"]
    named = McpServer(name="x", search="execute_sql", fetch="get_user")
    assert list(map(str, find_tools(pair, named))) == ["execute_sql(query)", "get_user(id)"]
    assert find_tools([offered("add", "a")], plain) == (None, None)
    with pytest.raises(ExternalCallError, match="no tool 'gone'"):
        find_tools(pair, McpServer(name="x", search="gone"))


def test_the_user_alone_names_what_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "mcp.json"
    entries: dict[str, Any] = {
        "Notes": {"command": "npx", "args": ["-y", "notes"], "env": {"NOTES_KEY": "k"}},
        "off": {"command": "x", "disabled": True},
    }
    file.write_text(json.dumps({"mcpServers": entries}))
    (tmp_path / ".env").write_text(f"RESEARCH_AGENT_MCP_SERVERS={file}\n")
    monkeypatch.chdir(tmp_path)
    assert load_settings(trust_env=True).mcp_servers is None
    assert "RESEARCH_AGENT_MCP_SERVERS" in caplog.text
    monkeypatch.setenv("RESEARCH_AGENT_MCP_SERVERS", str(file))
    settings = load_settings(mcp=("http://localhost:1/mcp", "python notes.py"))
    servers = find_mcp_servers(settings)
    assert [one.name for one in servers] == ["localhost", "notes", "notes-2"]
    assert servers[2].command == ("npx", "-y", "notes") and servers[2].secrets == ["k"]
    for wrong in ('{"mcpServers": {"a": {}}}', "[]", "{"):
        file.write_text(wrong)
        with pytest.raises(UsageError, match="mcp.json"):
            find_mcp_servers(settings)


def test_the_read_command_asks_the_server_that_an_address_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Server.start("ok") as http:
        place = "mcp://127.0.0.1/fetch/d%201"
        run_read = partial(CliRunner().invoke, read_command, standalone_mode=False)
        assert PAGE in run_read(["--mcp", http.url, "--format", "text", place]).stdout
        asked = len(http.headers)
        refused = run_read(["--mcp", http.url, "mcp://other/fetch/1"])
        assert refused.return_value == 4 and "at no MCP server" in refused.stderr
        assert len(http.headers) == asked

        settings = Settings(mcp=(http.url,), runs_dir=tmp_path, cache_dir=tmp_path)
        tools = PageTools(lambda more: settings.model_copy(update=dict(more)))
        assert tools.read(ReadCall(url=place))["text"] == PAGE
        alone = PageTools(lambda _: settings.model_copy(update={"offline": True}))
        with pytest.raises(AgentError):
            alone.read(ReadCall(url=place))
