"""A run as OpenTelemetry spans, sent once it has ended: one for the run, one for each outside call.

Names follow the OpenTelemetry GenAI semantic conventions as of November 2026 (the repository
semantic-conventions-genai, which has no tagged release yet; before that, semantic-conventions
1.41): `invoke_agent`, `chat MODEL`, `execute_tool search`, `execute_tool read`. Attributes that
these do not know are named `research.*`. No question, query, prompt, page text, path or key is in a
span; of a page, its host.

Spans are made from the journal's finished calls, so a run does nothing for them while it goes; a
process that is killed sends none. Calls that the journal answered were made by an earlier process:
they are counted in the run's span (`research.calls.recalled`) and are no spans. All parts of a run
share one trace.
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
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from agent import __version__
from agent.outside import spawn
from agent.outside.journal import Journal
from agent.state.plain import dig

if TYPE_CHECKING:  # an optional extra, and a tenth of a second to import
    from opentelemetry.sdk.trace import ReadableSpan

LIMIT = 1.0  # seconds by which the end of a run may be held; a collector near by takes hundredths
NAME = "llm-research-agent"
PROVIDERS = {"gemini": "gcp.gemini"}  # ours -> theirs, where they differ
Attributes = dict[str, str | int | float]


class Piece(NamedTuple):
    """A span to be: times are nanoseconds since 1970."""

    name: str
    client: bool  # asks another process with the conventions' own span
    attributes: Attributes
    began: int
    ended: int


def report(endpoint: str, journal: Journal, seconds: float, error: str) -> str:
    """Send the spans of what this process did for a run; returns what kept them from it, in words.

    `endpoint` is OTLP over HTTP without `/v1/traces`; `seconds` is how long the process took for
    the run, `error` the kind of error that it ended with, or "". Never raises, never takes longer
    than LIMIT.
    """
    made = [line for line in journal.calls if line["key"] in journal.began]
    sent = spawn(lambda: _send(endpoint, journal.header, _pieces(journal, made, seconds, error)))
    if not wait([sent], timeout=LIMIT).done:
        return f"The run's spans could not be sent within {LIMIT:g} s."
    failure = sent.exception()
    if isinstance(failure, ImportError):
        return (
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: "
            f"pip install '{NAME}[otel]'"
        )
    return "" if failure is None and sent.result() else "The run's spans could not be sent."


def warm() -> None:
    """Import what sending needs, while the run waits for something else."""
    with suppress(ImportError):  # told when the run has ended
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401


# --- what is told --------------------------------------------------------------------------------


def _pieces(
    journal: Journal, made: Sequence[dict[str, Any]], seconds: float, error: str
) -> list[Piece]:
    """The run first, then its calls in the order in which they ended."""
    now, elapsed = time.time_ns(), journal.elapsed()
    told: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": NAME,
        "gen_ai.agent.version": __version__,
        "gen_ai.conversation.id": str(journal.header.get("run")),
        "research.strategy": str(journal.header.get("strategy")),
        "research.calls.recalled": len(journal.calls) - len(made),
        **({"error.type": error} if error else {}),
    }
    run = Piece(f"invoke_agent {NAME}", False, told, now - _nanoseconds(seconds), now)
    return [run, *(_call(line, now - _nanoseconds(elapsed - line["began"])) for line in made)]


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _call(line: dict[str, Any], began: int) -> Piece:
    name, attributes = (_chat if line["call"] == "ask" else _tool)(line)
    if outcome := dig(line, "error", "outcome"):
        attributes["error.type"] = str(outcome)
    ended = began + _nanoseconds(line["seconds"])
    return Piece(name, line["call"] == "ask", attributes, began, ended)


def _chat(line: dict[str, Any]) -> tuple[str, Attributes]:
    """All tries of one task are one operation, told of the model that was asked last."""
    told = line.get("response") or line["error"]
    tries = told["attempts"]
    provider, _, asked = str(dig(tries, -1, "provider") or "none").partition(":")
    model = asked or provider
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
        "gen_ai.output.type": "json",
        "research.task": line["request"]["task"],
        "research.attempts": len(tries),
    }
    if "response" in line:
        attributes["gen_ai.response.model"] = told["model"]
        attributes["gen_ai.usage.input_tokens"] = told["input_tokens"]
        attributes["gen_ai.usage.output_tokens"] = told["output_tokens"]
        attributes |= {} if told["usd"] is None else {"research.usd": told["usd"]}
    return f"chat {model}", attributes


def _tool(line: dict[str, Any]) -> tuple[str, Attributes]:
    attributes: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": line["call"],
        "gen_ai.tool.type": "extension",
    }
    told = line.get("response") or {}
    if line["call"] == "read":
        attributes["server.address"] = _host(line["request"]["url"])
        attributes["research.characters"] = len(told.get("text", ""))
    else:
        tried = dig(line, "error", "attempts", -1, "provider")
        attributes["research.provider"] = str(told.get("provider") or tried or "none")
        attributes["research.hits"] = len(told.get("hits", ()))
    return f"execute_tool {line['call']}", attributes


def _host(url: str) -> str:
    """The host of a page; nothing of a file."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


# --- how it is sent ------------------------------------------------------------------------------


def _send(endpoint: str, header: dict[str, Any], pieces: Sequence[Piece]) -> bool:
    """One request; whether it was taken. Raises ImportError without the extra, and anything else.

    Made with the SDK's spans and exporter alone: no global provider, no thread, no hook at exit.
    OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS are read by them.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    # a failure is told in the answer's warnings; the exporter's log would repeat it on stderr
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=LIMIT)
    try:
        return exporter.export(_spans(header, pieces)) is SpanExportResult.SUCCESS
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]


def _spans(header: dict[str, Any], pieces: Sequence[Piece]) -> list[ReadableSpan]:
    """The first piece is the parent of the others. A run's trace is named by its header."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    own = Resource({"service.name": NAME, "service.version": __version__})
    resource = own.merge(OTELResourceDetector().detect())  # what the environment says wins
    trace = int(hashlib.sha256(json.dumps(header).encode()).hexdigest()[:32], 16)
    contexts = [
        SpanContext(trace, int.from_bytes(os.urandom(8)), False, TraceFlags(TraceFlags.SAMPLED))
        for _ in pieces
    ]
    return [
        ReadableSpan(
            name=piece.name,
            context=context,
            parent=contexts[0] if i else None,
            resource=resource,
            attributes=piece.attributes,
            kind=SpanKind.CLIENT if piece.client else SpanKind.INTERNAL,
            status=Status(
                StatusCode.ERROR if "error.type" in piece.attributes else StatusCode.UNSET
            ),
            start_time=piece.began,
            end_time=piece.ended,
            instrumentation_scope=InstrumentationScope(NAME, __version__),
        )
        for i, (context, piece) in enumerate(zip(contexts, pieces, strict=True))
    ]
