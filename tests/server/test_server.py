"""The HTTP API, status by status and frame by frame, asked by a real client."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest

from agent.answer.build import build_error_answer
from agent.answer.schema import answer_schema
from agent.calls.journal_reader import read_journal
from agent.errors import UsageError
from agent.server.access_guard import make_policy
from agent.server.local_paths import hide_paths
from agent.server.run_manager import Runs
from agent.settings import parse_settings
from agent.state import RunRequest
from tests.support.services import Services
from tests.support.web import TOPIC, Web, configure_from, online, parse_frames, wait_until

ROOT = Path(__file__).parents[2]
ONCE = ["start", "report", "answer", "end"]


def test_health_and_status(web: Web) -> None:
    assert web.client.get("/api/health").json() == {"status": "ok"}
    for path in ("/", "/api/health"):  # as a probe asks
        head = web.client.head(path)
        assert head.status_code == 200 and not head.content
    status = web.client.get("/api/status").json()
    assert status["ready"] and status["model"] == "extractive" and status["search"] == ["demo"]


@pytest.mark.slow
def test_an_answer_is_the_answer_object_with_report_and_question(web: Web) -> None:
    """With one request ID from the interface to the journal; and as a file."""
    headers = {"X-Request-ID": "monday-7"}
    response = web.client.post("/api/research", json={"question": TOPIC}, headers=headers)
    assert response.status_code == 200 and response.headers["content-type"] == "application/json"
    body = response.json()
    assert body.pop("question") == TOPIC
    report = body.pop("report")
    assert report.startswith(f"# {TOPIC}\n\n") and "\nArgentina won" in report
    jsonschema.validate(body, answer_schema())
    assert body["status"] == "complete" and body["citations"]
    journal = web.runs.library.find(response.headers["x-run-id"])
    assert journal and read_journal(journal).header["request"] == "monday-7"
    strange = web.client.get("/api/health", headers={"X-Request-ID": "a b;c"})
    assert re.fullmatch(r"[0-9a-f]{32}", strange.headers["x-request-id"])
    path = f"/api/runs/{response.headers['x-run-id']}/answer"
    as_json = web.client.get(path)
    assert as_json.headers["content-disposition"].endswith('.json"')
    jsonschema.validate(as_json.json(), answer_schema())
    text = web.client.get(path, params={"format": "markdown"})
    assert text.headers["content-type"] == "text/markdown; charset=utf-8" and text.text == report
    assert web.client.get(path, params={"format": "exe"}).status_code == 422


def test_topic_is_taken_for_question(web: Web) -> None:
    answer = web.client.post("/api/research", json={"topic": TOPIC}).json()
    assert answer["question"] == TOPIC and answer["citations"]
    blank = web.client.post("/api/research", json={"topic": " "})
    assert blank.status_code == 400 and blank.json()["detail"] == "Question cannot be empty"
    both = {"topic": TOPIC, "question": TOPIC}
    assert web.client.post("/api/research", json=both).status_code == 422


def test_frames_come_in_order_and_end_is_the_last(web: Web) -> None:
    with begun(web) as response:  # as it passes through proxies
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-accel-buffering"] == "no"
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        frames = list(parse_frames(response.iter_lines()))
    assert [frame["id"] for frame in frames] == list(range(1, len(frames) + 1))
    types = [frame["type"] for frame in frames]
    assert [kind for kind in types if kind in ONCE] == ONCE
    assert types.index("plan") < types.index("search") < types.index("fetch") < types.index("slot")
    assert frames[0]["detail"] == TOPIC and frames[-1]["detail"] == "complete"
    assert frames[-2]["detail"]["citations"] and frames[-3]["detail"].startswith(f"# {TOPIC}")


@pytest.mark.parametrize("path", ["/api/research", "/api/research/stream"])
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"question": "\u200b\ufeff\0 "}, 400, "Question cannot be empty"),
        ({"question": "ab"}, 422, "at least 3"),
        ({"question": "a" * 2001}, 422, "at most 2000"),
        ([], 422, "dictionary"),
        ({"question": TOPIC, "corpus": "/etc"}, 422, "not permitted"),
        ({"question": TOPIC, "slots": ["s"] * 51}, 422, "at most 50"),
        ({"question": TOPIC, "slots_schema": {"type": "array"}}, 422, "--slots-schema"),
    ],
)
def test_invalid_questions_are_refused(
    web: Web, path: str, body: Any, status: int, message: str
) -> None:
    response = web.client.post(path, json=body)
    assert response.status_code == status and message in response.text
    assert response.headers["content-type"] == "application/json"


def test_malformed_json_is_refused_and_a_question_has_its_length(web: Web) -> None:
    kind = {"Content-Type": "application/json"}
    for body in (b"{", b"\xff", b'{"question": "\\ud800 abc"}', b"[" * 60_000):
        assert web.client.post("/api/research", content=body, headers=kind).status_code == 422
    form = {"Content-Type": "text/plain"}  # what a page of another site may send unasked
    body = json.dumps({"question": TOPIC}).encode()
    refused = web.client.post("/api/research", content=body, headers=form)
    assert refused.status_code == 422 and "Content-Type: application/json" in refused.text
    for length in (3, 2000):
        assert web.ask("x" * length).json()["status"] == "insufficient"


def test_without_a_key_nothing_is_opened(tmp_path: Path) -> None:
    message = "GEMINI_API_KEY is not set. Add it to .env, or run with --offline"
    with Web(configure_from({"RUNS_DIR": str(tmp_path)})) as web:
        for path in ("/api/research", "/api/research/stream", "/api/plan"):
            response = web.client.post(path, json={"question": TOPIC})
            assert response.status_code == 500 and "x-run-id" not in response.headers
            body = response.json()
            assert body["detail"] == body["error"]["message"] == message
            assert body["topic"] == body["question"] == TOPIC and TOPIC in body["report"]
        status = web.client.get("/api/status").json()
        assert not status["ready"] and status["model"] is None
        assert status["error"].startswith(message) and "OPENAI_API_KEY" in status["error"]
    assert not list(tmp_path.iterdir())


def test_settings_pass_through_and_caps_are_the_servers(world: Services, tmp_path: Path) -> None:
    with online(world, tmp_path, RESEARCH_AGENT_MAX_CALLS="3") as web:
        answer = web.ask(slots=["winner"], max_calls=100, max_words=20, since="2020-01-01").json()
        assert answer["status"] == "insufficient" and list(answer["slots"]) == ["winner"]
        assert "--max-calls 3" in " ".join(answer["warnings"])
        header = read_journal(tmp_path / "runs" / answer["run"]["journal"]).header
    assert header["settings"]["max_words"] == 20


def test_a_run_is_found_again_and_its_frames_from_where_they_were_left(web: Web) -> None:
    response = web.ask()
    path = f"/api/runs/{response.headers['x-run-id']}"
    run = web.client.get(path).json()
    assert run["answer"] == response.json() and run["state"] == "ended"
    again = web.client.get(f"{path}/events", headers={"Last-Event-ID": str(run["frames"] - 2)})
    assert [one["type"] for one in parse_frames(again.iter_lines())] == ["answer", "end"]
    for last in (str(run["frames"]), "9" * 5000):
        over = web.client.get(f"{path}/events", headers={"Last-Event-ID": last})
        assert over.status_code == 204
    listed = web.client.get("/api/runs", params={"limit": 1}).json()
    assert [one["id"] for one in listed] == [run["id"]]


def test_the_runs_of_an_earlier_server_are_read_from_their_journals(tmp_path: Path) -> None:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    with Web(configure_from(environment, offline=True)) as before:
        response = before.ask()
        first = before.client.get(f"/api/runs/{response.headers['x-run-id']}/events").text
    (tmp_path / "runs" / "noise.jsonl").write_text("not a journal\n")
    with Web(configure_from(environment)) as after:  # no key is set: nothing is needed
        [run] = after.client.get("/api/runs").json()
        assert run["state"] == "past" and run["question"] == TOPIC
        again = after.client.get(f"/api/runs/{run['id']}").json()
        assert again["answer"]["citations"] == response.json()["citations"]
        types = [line for line in first.splitlines() if line.startswith("data")]
        types = [types[0], *types[-3:]]  # the question, the report, the answer, the end
        events = after.client.get(f"/api/runs/{run['id']}/events").text.splitlines()
        assert [line[:60] for line in events if line.startswith("data")] == [t[:60] for t in types]
        assert after.client.get("/api/runs/noise").status_code == 409


def test_a_run_reports_what_it_searched_and_read(web: Web) -> None:
    response = web.ask("Who founded LEGO, and when?")
    activity = web.client.get(f"/api/runs/{response.headers['x-run-id']}").json()["activity"]
    [query, *_] = activity["queries"]
    assert query["query"] == "Who founded LEGO, and when?" and query["provider"] == "corpus"
    states = {page["url"]: page["became"] for page in activity["pages"]}
    assert states["corpus:lego.md"] == "read" and set(states.values()) <= {"read", "found"}


def test_a_run_is_deleted_with_its_journal_once_it_has_ended(
    world: Services, tmp_path: Path, gate: threading.Event
) -> None:
    with online(world, tmp_path) as web:
        body = {"question": TOPIC, "detach": True}
        with web.client.stream("POST", "/api/research/stream", json=body) as response:
            path = f"/api/runs/{response.headers['x-run-id']}"
        refused = web.client.delete(path)
        assert refused.status_code == 409 and "not ended" in refused.json()["detail"]
        gate.set()
        wait_until(lambda: web.runs.load == (0, 0))
        assert web.client.delete(path).status_code == 204
        assert list((tmp_path / "runs").glob("*.jsonl")) == []
        assert web.client.get(path).status_code == 404
        notes = tmp_path / "runs" / "notes.jsonl"
        notes.write_text("mine")
        assert web.client.delete("/api/runs/notes").status_code == 409 and notes.exists()


@pytest.mark.parametrize("name", ["nobody", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "a" * 101, "%00"])
def test_no_name_reaches_another_file(web: Web, name: str) -> None:
    assert web.client.get(f"/api/runs/{name}").status_code in (404, 422)
    assert web.client.delete(f"/api/runs/{name}").status_code in (404, 405, 422)
    assert web.client.post(f"/api/runs/{name}/cancel").status_code in (404, 405, 422)


def begun(web: Web, **more: Any) -> Any:
    """A stream that a client is reading."""
    return web.client.stream("POST", "/api/research/stream", json={"question": TOPIC, **more})


def assert_little(world: Services) -> None:
    """Nothing was asked but what was under way: the first task, the topic's own search."""
    assert world.tasks() in ([], ["generate_queries"]) and not world.page_requests
    assert world.search_queries in ([], [TOPIC])


@pytest.mark.slow
@pytest.mark.parametrize("streams", [True, False])
def test_a_client_that_goes_away_stops_spending(
    world: Services, tmp_path: Path, gate: threading.Event, streams: bool
) -> None:
    with online(world, tmp_path) as web:
        if streams:
            with begun(web) as response:
                next(parse_frames(response.iter_lines()))
        else:
            with pytest.raises(httpx2.ReadTimeout):
                web.client.post("/api/research", json={"question": TOPIC}, timeout=1)
        wait_until(lambda: web.client.get("/api/runs").json()[0]["cancelled"])
        gate.set()
        wait_until(lambda: web.runs.load == (0, 0))
        [run] = web.client.get("/api/runs").json()
    assert run["cancelled"] and run["status"] in ("partial", "insufficient", "error")
    assert_little(world)


def test_cancel_ends_a_run_with_the_best_answer_so_far(
    world: Services, tmp_path: Path, gate: threading.Event
) -> None:
    with online(world, tmp_path) as web, begun(web) as response:
        frames = parse_frames(response.iter_lines())
        next(frames)
        path = f"/api/runs/{response.headers['x-run-id']}"
        summary = httpx2.post(f"{web.base}{path}/cancel", trust_env=False, timeout=20).json()
        assert summary["cancelled"]
        gate.set()
        assert [frame["type"] for frame in frames][-1] == "end"
        assert_little(world)
        metrics = httpx2.get(f"{web.base}/metrics", trust_env=False, timeout=20).text
        assert metrics.count('outcome="cancelled"} 1.0') == 1


@pytest.mark.slow
def test_a_run_that_is_detached_goes_on_and_can_be_followed_again(
    world: Services, tmp_path: Path, gate: threading.Event
) -> None:
    with online(world, tmp_path) as web:
        with begun(web, detach=True) as response:
            last = next(parse_frames(response.iter_lines()))["id"]
            path = f"/api/runs/{response.headers['x-run-id']}/events"
        headers = {"Last-Event-ID": str(last)}
        with web.client.stream("GET", path, headers=headers) as response:
            gate.set()
            rest = list(parse_frames(response.iter_lines()))
    assert [one["id"] for one in rest] == list(range(last + 1, last + 1 + len(rest)))
    assert rest[-1] == {"id": rest[-1]["id"], "type": "end", "detail": "complete"}


@pytest.mark.slow
def test_runs_wait_in_a_queue_and_are_refused_beyond_it(
    world: Services, tmp_path: Path, gate: threading.Event
) -> None:
    with online(
        world, tmp_path, RESEARCH_AGENT_API_MAX_RUNS="1", RESEARCH_AGENT_API_MAX_QUEUE="1"
    ) as web:
        with begun(web, detach=True) as first, begun(web, detach=True) as second:
            full = web.ask()
            waiting = second.headers["x-run-id"]
            states = {run["id"]: run["state"] for run in web.client.get("/api/runs").json()}
            assert full.status_code == 429 and int(full.headers["retry-after"]) > 0
            assert states == {first.headers["x-run-id"]: "running", waiting: "queued"}
            web.client.post(f"/api/runs/{waiting}/cancel")
            types = [one["type"] for one in parse_frames(second.iter_lines())]
            assert types == ["start", "error", "end"]
            gate.set()
            assert list(parse_frames(first.iter_lines()))[-1]["detail"] == "complete"
        assert web.ask().status_code == 200
        assert "agent_refused_total 1.0" in web.client.get("/metrics").text


@pytest.mark.slow
def test_the_end_of_the_server_ends_runs_and_keeps_journals_whole(
    world: Services, tmp_path: Path
) -> None:
    world.latency = lambda: 2.0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "agent.cli", "serve", "--port", str(port)]
    environment = world.environment(
        tmp_path, CACHE_TTL="0", RESEARCH_AGENT_API_LOG="json", PYTHONPATH=str(ROOT)
    )
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    assert process.stderr
    while b"running on" not in process.stderr.readline():
        assert process.poll() is None
    url, body = f"http://127.0.0.1:{port}/api/research/stream", {"question": TOPIC, "detach": True}
    with httpx2.stream("POST", url, json=body, trust_env=False, timeout=20) as response:
        frames = parse_frames(response.iter_lines())
        next(frames)
        process.send_signal(signal.SIGTERM)
        assert list(frames)[-1]["type"] == "end"
    logged = [json.loads(line) for line in process.communicate(timeout=20)[1].splitlines()]
    assert process.returncode == 0
    [ended] = [line for line in logged if line["message"] == "run ended"]
    assert ended["request_id"] == response.headers["x-request-id"] and ended["cancelled"]
    [journal] = (tmp_path / "runs").glob("*.jsonl")
    assert journal.read_bytes().endswith(b"\n")
    assert read_journal(journal).header["request"] == ended["request_id"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--host", "0.0.0.0"], 2, "RESEARCH_AGENT_API_TOKEN"),
        (["--port", "{taken}"], 1, "already in use"),
    ],
)
def test_what_cannot_be_served(
    web: Web, tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    options = [one.format(taken=web.port) for one in arguments]
    command = [sys.executable, "-m", "agent.cli", "serve", "--offline", *options]
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == status and not done.stdout and message in done.stderr


def test_a_token_is_required_wherever_it_is_set(tmp_path: Path) -> None:
    for token in ("sésame", "two words"):  # which no header carries
        with pytest.raises(UsageError, match="RESEARCH_AGENT_API_TOKEN"):
            make_policy(token, "127.0.0.1", ())
    environment = {"RUNS_DIR": str(tmp_path), "RESEARCH_AGENT_API_TOKEN": "s3cret"}
    with Web(configure_from(environment, offline=True)) as web:
        wrong = ({}, {"Authorization": "Bearer s3cre"}, {"Authorization": "Basic s3cret"})
        for path in ("/api/runs", "/metrics", "/openapi.json", "/api/choices"):
            for headers in wrong:
                refused = web.client.get(path, headers=headers)
                assert refused.status_code == 401, path
                assert refused.headers["www-authenticate"] == "Bearer"
        assert web.ask().status_code == 401
        for path in ("/", "/api/health", "/api/status"):
            assert web.client.get(path).status_code == 200
        web.client.headers["Authorization"] = "Bearer s3cret"
        assert web.client.get("/api/runs").json() == [] and web.ask().status_code == 200
        assert "s3cret" not in web.client.get("/metrics").text


def test_pages_of_other_sites_may_not_ask(web: Web) -> None:
    others = ["https://evil.example", "null", "http://localhost:1", "", "://", web.base + "/"]
    others += [f"{scheme}://127.0.0.1:{web.port}" for scheme in ("ftp", "file", "HTTP", "x-http")]
    for origin in others:
        response = web.client.post("/api/runs/x/cancel", headers={"Origin": origin})
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers
    assert web.client.get("/api/runs", headers={"Origin": web.base}).status_code == 200
    behind = {"X-Forwarded-Proto": "https", "Origin": web.base}  # a proxy with TLS
    assert web.client.get("/api/runs", headers=behind).status_code == 403
    behind["Origin"] = f"https://127.0.0.1:{web.port}"
    assert web.client.get("/api/runs", headers=behind).status_code == 200


def test_a_body_is_bounded(web: Web) -> None:
    long = b'{"question": "' + b"a" * 100_000 + b'"}'
    kind = {"Content-Type": "application/json"}
    assert web.client.post("/api/research", content=long, headers=kind).status_code == 413
    chunks = iter([long[:40_000], long[40_000:]])  # without a Content-Length
    assert web.client.post("/api/research", content=chunks, headers=kind).status_code == 413


def cut(connection: socket.socket) -> bool:
    """Whether the server ends a connection that keeps still."""
    connection.settimeout(10)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.slow
def test_idle_connections_are_closed(tmp_path: Path) -> None:
    """No request, half of a head, answers that are not read: each is cut."""
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    head = b"POST /api/research HTTP/1.1\r\nHost: localhost\r\n"
    with Web(configure_from(environment, offline=True), patience=2.0) as web:
        for sent in (b"", head):
            with socket.create_connection(("127.0.0.1", web.port)) as connection:
                connection.sendall(sent)
                assert cut(connection)
        name = web.ask().headers["x-run-id"]
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", web.port))
            connection.settimeout(1)
            wanted = f"GET /api/runs/{name}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            with suppress(OSError):
                connection.sendall(2000 * wanted)  # their answers fill every buffer on the way
            wait_until(lambda: web.connections <= 1)
        assert web.client.get("/api/health").status_code == 200


def test_markup_comes_back_as_what_it_is(web: Web) -> None:
    markup = "<script>alert(1)</script> <img src=x onerror=alert(2)>"
    for response in (
        web.ask(markup),
        web.ask("ab", **{markup: 1}),
        web.client.get(f"/api/runs/{markup.replace('/', '%2F')}"),
        web.client.get("/nowhere/<script>"),
    ):
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "<" not in web.ask(markup).json()["report"].replace("\\<", "").replace("](<", "")


def test_metrics_count_what_was_done(world: Services, tmp_path: Path) -> None:
    with online(world, tmp_path) as web:
        usage = web.ask().json()["usage"]
        wait_until(lambda: 'outcome="complete"} 1.0' in web.client.get("/metrics").text)
        text = web.client.get("/metrics").text
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    assert figures['agent_runs_total{outcome="error"}'] == "0.0"
    assert float(figures['agent_tokens_total{direction="input"}']) == usage["input_tokens"] > 0
    assert float(figures["agent_usd_total"]) == pytest.approx(usage["usd"])
    searched = 'agent_calls_total{outcome="ok",provider="serpapi",what="search"}'
    assert float(figures[searched]) == usage["searches"] == 2


def test_no_folder_of_the_machine_is_told(tmp_path: Path) -> None:
    """Neither where the journal lies nor, in a warning, where the cache does."""
    (tmp_path / "cache").write_text("no folder")
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    with Web(configure_from(environment, offline=True)) as web:
        response = web.ask()
        name = response.headers["x-run-id"]
        more = [web.client.get(f"/api/runs/{name}{end}").text for end in ("", "/events", "/answer")]
        assert response.json()["run"]["journal"] == f"{name}.jsonl"
        assert not [text for text in (response.text, *more) if str(tmp_path) in text]
    answer = build_error_answer(
        "q", UsageError(f"{tmp_path}/cache/x is broken", f"{Path.home()}/y")
    )
    hidden = hide_paths(answer, parse_settings(environment)).error
    assert hidden and (hidden.message, hidden.remedy) == (".../x is broken", ".../y")


def test_a_server_waits_until_each_end_is_reported(tmp_path: Path) -> None:
    """The log line of a run that has ended may still be in the making."""
    settings = configure_from({"RUNS_DIR": str(tmp_path)}, offline=True)({})
    has_ended, may_report = threading.Event(), threading.Event()

    def report(_: object) -> None:
        has_ended.set()
        may_report.wait(60)

    runs = Runs(settings, report)
    runs.begin("Who founded LEGO?", settings, RunRequest())
    assert has_ended.wait(60) and runs.load == (0, 0) and not runs.wait(0)
    may_report.set()
    assert runs.wait(60)
