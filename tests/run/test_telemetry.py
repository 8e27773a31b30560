"""Spans as a collector gets them: what they say, what they never say, and what they cost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from pydantic import SecretStr

from agent.answer import Answer
from agent.run import research
from agent.settings import Settings
from tests.support.catcher import Catcher
from tests.support.loopback import Loopback
from tests.support.services import GEMINI_KEY, SERPAPI_KEY, Raw, Services
from tests.support.thinker import Fact, Thinker

ROOT = Path(__file__).parents[2]
TOPIC = "Who won the 2022 FIFA World Cup?"
OFFLINE = ["-m", "agent.cli", "--offline", TOPIC]


class Collector(Loopback):
    """Takes OTLP over HTTP as protobuf; `status`, `hangs` and `drips` are set by the test."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, bytes]] = []
        self.status = 200
        self.hangs = False
        self.drips = False  # a byte now and then, which no timeout of a read ends
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Quiet."""

            def drip(self) -> None:
                with suppress(OSError):  # whoever asked has given up
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                    while not collector.is_over.wait(0.2):
                        self.wfile.write(b"x")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append((self.path, body))
                if collector.hangs:
                    collector.is_over.wait()
                if collector.drips:
                    self.drip()
                self.send_response(collector.status)
                self.end_headers()

        super().__init__(Handler)

    @property
    def spans(self) -> list[Span]:
        """All spans of the last request."""
        request = ExportTraceServiceRequest.FromString(self.requests[-1][1])
        return [
            span
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


def test_keys_of_the_exporter_follow_no_redirect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret-of-the-shell")
    with Catcher() as elsewhere, Catcher(307, f"http://{elsewhere.host}/v1/traces") as gateway:
        endpoint = SecretStr(f"http://{gateway.host}")
        ended(Settings(offline=True, otel_endpoint=endpoint, runs_dir=tmp_path))
        assert "secret-of-the-shell" in gateway.text and elsewhere.requests == []


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as running:
        yield running


@pytest.fixture
def world(services: Services) -> Services:
    services.pages = {"final": "Argentina won the cup. A page-only-word.", "gone": Raw(404, "")}
    services.hits = lambda query: Raw(500, "") if query == "broken-query" else ["final", "gone"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["broken-query"])
    return services


@pytest.fixture
def traced(world: Services, settings: Settings, collector: Collector) -> Settings:
    return settings.model_copy(update={"otel_endpoint": SecretStr(f"{collector.base}/")})


def ended(settings: Settings, topic: str = TOPIC) -> Answer:
    run = research(topic, settings)
    list(run)
    return run.answer()


def told(span: Span) -> dict[str, Any]:
    return {
        row.key: getattr(row.value, row.value.WhichOneof("value") or "") for row in span.attributes
    }


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.name == name]


def test_a_run_is_one_trace(traced: Settings, collector: Collector) -> None:
    answer = ended(traced)
    assert answer.status == "complete" and not [w for w in answer.warnings if "spans" in w]
    ((path, _),) = collector.requests
    assert path == "/v1/traces"
    run, *made = collector.spans
    assert run.name == "invoke_agent llm-research-agent" and not run.parent_span_id
    assert run.kind == Span.SPAN_KIND_INTERNAL
    assert answer.run and told(run)["gen_ai.conversation.id"] == answer.run.id
    assert told(run)["research.calls.recalled"] == 0
    assert {span.trace_id for span in made} == {run.trace_id} and len(run.trace_id) == 16
    assert {span.parent_span_id for span in made} == {run.span_id}
    assert len({span.span_id for span in (run, *made)}) == len(made) + 1
    assert sorted(span.name for span in made) == [
        *["chat gemini-3.8-flash"] * 3,
        *["execute_tool read"] * 2,
        *["execute_tool search"] * 2,
    ]


def test_a_model_call_tells_what_it_took(traced: Settings, collector: Collector) -> None:
    answer = ended(traced)
    chats = named(collector.spans, "chat gemini-3.8-flash")
    for span in chats:
        said = told(span)
        assert span.kind == Span.SPAN_KIND_CLIENT and span.status.code == Status.STATUS_CODE_UNSET
        assert said["gen_ai.operation.name"] == "chat"
        assert said["gen_ai.provider.name"] == "gcp.gemini"
        assert said["gen_ai.request.model"] == said["gen_ai.response.model"] == "gemini-3.8-flash"
        assert said["research.attempts"] == 1
    tasks = [told(span)["research.task"] for span in chats]
    assert tasks == ["generate_queries", "reflect", "verify"]
    used = [told(span)["gen_ai.usage.input_tokens"] for span in chats]
    assert sum(used) == answer.usage.input_tokens
    made = [told(span)["gen_ai.usage.output_tokens"] for span in chats]
    assert sum(made) == answer.usage.output_tokens
    assert sum(told(span)["research.usd"] for span in chats) == pytest.approx(
        answer.usage.usd, abs=1e-6
    )


def test_what_failed_is_told_as_an_error(traced: Settings, collector: Collector) -> None:
    ended(traced)
    failed = {
        (span.name, told(span)["error.type"])
        for span in collector.spans
        if span.status.code == Status.STATUS_CODE_ERROR
    }
    assert failed == {("execute_tool search", "unavailable"), ("execute_tool read", "not_found")}
    (read,) = (
        s for s in named(collector.spans, "execute_tool read") if "error.type" not in told(s)
    )
    assert told(read)["server.address"] == "127.0.0.1" and told(read)["gen_ai.tool.name"] == "read"
    (found,) = (
        s for s in named(collector.spans, "execute_tool search") if told(s)["research.hits"]
    )
    assert told(found)["research.provider"] == "serpapi" and told(found)["research.hits"] == 2


def test_a_run_without_an_answer_is_an_error(
    traced: Settings, world: Services, collector: Collector
) -> None:
    world.hits = lambda query: Raw(500, "")
    answer = ended(traced)
    assert answer.error
    run = collector.spans[0]
    assert run.status.code == Status.STATUS_CODE_ERROR
    assert told(run)["error.type"] == answer.error.kind


def test_spans_lie_where_the_calls_were(traced: Settings, collector: Collector) -> None:
    before = time.time_ns()
    answer = ended(traced)
    after = time.time_ns()
    run, *made = collector.spans
    slack = 5_000_000  # the journal counts milliseconds
    assert before - slack <= run.start_time_unix_nano <= run.end_time_unix_nano <= after
    assert answer.run and answer.run.journal
    lines = Path(answer.run.journal).read_text("utf-8").splitlines()[1:]
    for span, line in zip(made, map(json.loads, lines), strict=True):
        took = span.end_time_unix_nano - span.start_time_unix_nano
        assert took == round(line["seconds"] * 1e9)
        assert run.start_time_unix_nano - slack <= span.start_time_unix_nano
        assert span.end_time_unix_nano <= run.end_time_unix_nano + slack


def test_no_content_and_no_key_is_in_a_span(traced: Settings, collector: Collector) -> None:
    ended(traced)
    sent = collector.requests[0][1].decode("latin-1")
    for secret in (TOPIC, "FIFA", "broken-query", "page-only-word", "Argentina", "/web/", "About"):
        assert secret not in sent, secret
    assert GEMINI_KEY not in sent and SERPAPI_KEY not in sent


def test_a_resumed_run_counts_no_call_twice(traced: Settings, collector: Collector) -> None:
    named_run = traced.model_copy(update={"resume": "monday"})
    ended(named_run)
    first = collector.spans
    assert traced.runs_dir
    journal = traced.runs_dir / "monday.jsonl"
    lines = journal.read_text("utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]), "utf-8")
    ended(named_run, "")
    run, *made = collector.spans
    assert [span.name for span in made] == ["chat gemini-3.8-flash"]
    assert told(made[0])["research.task"] == "verify"
    assert told(run)["research.calls.recalled"] == len(lines) - 2
    assert run.trace_id == first[0].trace_id and run.span_id != first[0].span_id
    assert run.start_time_unix_nano <= made[0].start_time_unix_nano + 5_000_000


def test_a_replay_sends_nothing(traced: Settings, collector: Collector) -> None:
    answer = ended(traced)
    assert answer.run and answer.run.journal
    replay = traced.model_copy(update={"replay": Path(answer.run.journal)})
    assert ended(replay, "").answer == answer.answer
    assert len(collector.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["refuses", "hangs", "drips", "nobody", "nonsense"])
def test_a_collector_that_fails_costs_a_warning_and_no_more(
    traced: Settings, collector: Collector, fault: str
) -> None:
    collector.status = 503 if fault == "refuses" else 200
    collector.drips = fault == "drips"
    collector.hangs = fault == "hangs"
    place = {"nobody": "http://user:hidden@127.0.0.1:1", "nonsense": "::hidden::"}.get(fault)
    if place:
        traced = traced.model_copy(update={"otel_endpoint": SecretStr(place)})
    run = research(TOPIC, traced)
    answer = run.answer()
    assert answer.status == "complete"
    assert [w for w in answer.warnings if "spans could not be sent" in w], answer.warnings
    assert "hidden" not in answer.model_dump_json()


def python(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "RUNS_DIR": str(cwd), "CACHE_DIR": str(cwd), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_it_is_not_imported_when_it_is_off(tmp_path: Path) -> None:
    code = (
        "import sys; from agent.cli import run_cli; run_cli(sys.argv[1:]); "
        "print([m for m in sys.modules if 'telemetry' in m], file=sys.stderr)"
    )
    done = python("-c", code, "--offline", TOPIC, cwd=tmp_path)
    assert done.stderr.strip().endswith("[]") and json.loads(done.stdout)["status"] == "complete"


@pytest.mark.slow
def test_the_environment_turns_it_on(collector: Collector, tmp_path: Path) -> None:
    """From the command line, which ends its process at once."""
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.base, "OTEL_SERVICE_NAME": "mine"}
    done = python(*OFFLINE, cwd=tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    assert collector.spans[0].name == "invoke_agent llm-research-agent"
    request = ExportTraceServiceRequest.FromString(collector.requests[0][1])
    service = {row.key: row.value for row in request.resource_spans[0].resource.attributes}
    assert service["service.name"].string_value == "mine"


@pytest.mark.slow
def test_a_failure_is_told_once_in_the_answer_and_not_by_a_log(tmp_path: Path) -> None:
    done = python(*OFFLINE, cwd=tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert done.returncode == 0 and done.stderr == ""
    warnings = json.loads(done.stdout)["warnings"]
    assert len([w for w in warnings if w.startswith("The run's spans could not be sent")]) == 1


@pytest.mark.slow
def test_without_the_extra_there_is_one_warning(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None; from agent.cli import run_cli; "
        "run_cli(sys.argv[1:])"
    )
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    done = python("-c", code, "--offline", TOPIC, cwd=tmp_path, **environment)
    answer = json.loads(done.stdout)
    assert answer["status"] == "complete"
    (warning,) = [w for w in answer["warnings"] if "OpenTelemetry" in w]
    assert "pip install 'llm-research-agent[otel]'" in warning
