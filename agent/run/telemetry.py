"""OpenTelemetry spans of a run, sent when it has ended: one for the run, one for each outside call.

Names follow the OpenTelemetry GenAI semantic conventions as of November 2026 (the repository
semantic-conventions-genai, which has no tagged release yet; before that, semantic-conventions
1.41): `invoke_agent`, `chat MODEL`, `execute_tool search`, `execute_tool read`. Attributes that the
conventions do not define are named `research.*`. No topic, query, prompt, page text, path or key is
in a span. Of a page, only the host is.

Spans are made from the finished calls of the journal, so a run does nothing for them while it goes,
and a process that is killed sends none. A call that the journal answered was made by an earlier
process: it is counted in the span of the run (`research.calls.recalled`) and has no span of its
own. All processes that work on a run send spans of one trace.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import wait
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from agent import __version__
from agent.outside import spawn
from agent.outside.journal import Journal
from agent.state.json_data import Json, get_path
from agent.state.urls import find_host

if TYPE_CHECKING:  # an optional extra, and a tenth of a second to import
    from opentelemetry.sdk.trace import ReadableSpan

#: Seconds by which the end of a run may be delayed. A collector near by takes hundredths.
SEND_TIMEOUT = 1.0
SERVICE_NAME = "llm-research-agent"
#: Provider names of the conventions where they are not ours.
PROVIDER_NAMES = {"gemini": "gcp.gemini"}
Attributes = dict[str, str | int | float]


class SpanRecord(NamedTuple):
    """The content of a span. Times are nanoseconds since 1970."""

    name: str
    is_client: bool  # it is the conventions' span of a call to another process
    attributes: Attributes
    start: int
    end: int


class SpanSender:
    """Sends the spans of a run. `endpoint` is OTLP over HTTP, without `/v1/traces`."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def warm(self) -> None:
        """Import what sending needs, while the run waits for something else."""
        with suppress(ImportError):  # `send` reports it
            import opentelemetry.exporter.otlp.proto.http.trace_exporter
            import opentelemetry.sdk.trace  # noqa: F401

    def send(self, journal: Journal, seconds: float, error: str) -> list[str]:
        """Send the spans of the calls that this process made. Returns warnings for the user.

        `seconds` is how long the process worked on the run. `error` is the kind of error that the
        run ended with, or "". Never raises and never takes longer than SEND_TIMEOUT.
        """
        now = time.time_ns()
        run_start = now - _to_nanoseconds(seconds)
        journal_start = now - _to_nanoseconds(journal.elapsed_seconds())
        calls = [line for line in journal.calls if line["key"] in journal.start_times]

        def export() -> bool:
            run = _run_span(journal, len(calls), error, run_start, now)
            spans = [run, *(_call_span(line, journal_start) for line in calls)]
            return _export(self._endpoint, journal.header, spans)

        sending = spawn(export)
        if not wait([sending], timeout=SEND_TIMEOUT).done:
            return [f"The run's spans could not be sent within {SEND_TIMEOUT:g} s."]
        failure = sending.exception()
        if isinstance(failure, ImportError):
            return [
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: "
                f"pip install '{SERVICE_NAME}[otel]'"
            ]
        if failure is not None or not sending.result():
            return ["The run's spans could not be sent."]
        return []


# --- spans from the journal ----------------------------------------------------------------------


def _run_span(journal: Journal, calls: int, error: str, start: int, end: int) -> SpanRecord:
    """The span of a run of which this process made so many calls."""
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": SERVICE_NAME,
        "gen_ai.agent.version": __version__,
        "gen_ai.conversation.id": str(journal.header.get("run")),
        "research.strategy": str(journal.header.get("strategy")),
        "research.calls.recalled": len(journal.calls) - calls,
        **({"error.type": error} if error else {}),
    }
    return SpanRecord(f"invoke_agent {SERVICE_NAME}", False, attributes, start, end)


def _call_span(line: Json, journal_start: int) -> SpanRecord:
    """The span of a call from its line in the journal, whose clock began at `journal_start`."""
    is_chat = line["call"] == "ask"
    name, attributes = _describe_chat(line) if is_chat else _describe_tool(line)
    if outcome := get_path(line, "error", "outcome"):
        attributes["error.type"] = str(outcome)
    start = journal_start + _to_nanoseconds(line["began"])
    return SpanRecord(name, is_chat, attributes, start, start + _to_nanoseconds(line["seconds"]))


def _describe_chat(line: Json) -> tuple[str, Attributes]:
    """Name and attributes of a model call. All its attempts are one span, of the last model."""
    result = line.get("response") or line["error"]
    attempts = result["attempts"]
    provider, _, name = str(get_path(attempts, -1, "provider") or "none").partition(":")
    model = name or provider
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDER_NAMES.get(provider, provider),
        "gen_ai.request.model": model,
        "gen_ai.output.type": "json",
        "research.task": line["request"]["task"],
        "research.attempts": len(attempts),
    }
    if "response" in line:
        attributes["gen_ai.response.model"] = result["model"]
        attributes["gen_ai.usage.input_tokens"] = result["input_tokens"]
        attributes["gen_ai.usage.output_tokens"] = result["output_tokens"]
        attributes |= {} if result["usd"] is None else {"research.usd": result["usd"]}
    return f"chat {model}", attributes


def _describe_tool(line: Json) -> tuple[str, Attributes]:
    """Name and attributes of a search or the reading of a page."""
    attributes: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": line["call"],
        "gen_ai.tool.type": "extension",
    }
    response = line.get("response") or {}
    if line["call"] == "read":
        attributes["server.address"] = find_host(line["request"]["url"])
        attributes["research.characters"] = len(response.get("text", ""))
    else:
        failed = get_path(line, "error", "attempts", -1, "provider")
        attributes["research.provider"] = str(response.get("provider") or failed or "none")
        attributes["research.hits"] = len(response.get("hits", ()))
        attributes |= {"research.usd": response["usd"]} if response.get("usd") else {}
    return f"execute_tool {line['call']}", attributes


def _to_nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


# --- the export ----------------------------------------------------------------------------------


def _export(endpoint: str, header: Json, records: Sequence[SpanRecord]) -> bool:
    """Send the spans in one request. Returns whether the collector accepted it.

    Only the SDK's spans and exporter are used: no global provider, no thread, no exit hook. They
    read OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS. Raises
    ImportError where the extra is not installed, and whatever they raise.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    # a failure is among the answer's warnings; the exporter's log would repeat it on stderr
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=SEND_TIMEOUT)
    try:
        return exporter.export(_to_sdk_spans(header, records)) is SpanExportResult.SUCCESS
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]


def _to_sdk_spans(header: Json, records: Sequence[SpanRecord]) -> list[ReadableSpan]:
    """The first span is the parent of the others. The trace ID is a hash of the header."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    defaults = Resource({"service.name": SERVICE_NAME, "service.version": __version__})
    resource = defaults.merge(OTELResourceDetector().detect())  # the environment takes precedence
    trace_id = int(hashlib.sha256(json.dumps(header).encode()).hexdigest()[:32], 16)
    contexts = [
        SpanContext(trace_id, int.from_bytes(os.urandom(8)), False, TraceFlags(TraceFlags.SAMPLED))
        for _ in records
    ]
    return [
        ReadableSpan(
            name=record.name,
            context=context,
            parent=contexts[0] if i else None,
            resource=resource,
            attributes=record.attributes,
            kind=SpanKind.CLIENT if record.is_client else SpanKind.INTERNAL,
            status=Status(
                StatusCode.ERROR if "error.type" in record.attributes else StatusCode.UNSET
            ),
            start_time=record.start,
            end_time=record.end,
            instrumentation_scope=InstrumentationScope(SERVICE_NAME, __version__),
        )
        for i, (context, record) in enumerate(zip(contexts, records, strict=True))
    ]
