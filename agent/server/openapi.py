"""The OpenAPI description: its tables of responses, and streams described as streams."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from agent.answer.check import CheckResult
from agent.server import body

EMPTY_QUESTION = "Question cannot be empty"
Responses = dict[int | str, dict[str, Any]]

#: Refusals of a request for research.
REFUSALS: Responses = {
    400: {"model": body.Fault, "description": EMPTY_QUESTION},
    401: {"model": body.Fault, "description": "A token is needed"},
    413: {"model": body.Fault, "description": "The body is too long"},
    422: {"model": body.Faults, "description": "The body cannot be used"},
    429: {"model": body.Fault, "description": "No room for one more run: see Retry-After"},
    500: {"model": body.Result, "description": "Not configured: no key is set"},
}
FAILED_SERVICES: Responses = {
    502: {"model": body.Result, "description": "The services that it needs failed"}
}
#: Refusals of a request about a run.
RUN_REFUSALS: Responses = {
    401: REFUSALS[401],
    404: {"model": body.Fault, "description": "There is no such run"},
    409: {"model": body.Fault, "description": "No answer yet, or a damaged journal"},
    422: REFUSALS[422],
}
#: The same of a request to check a report.
CHECK_REFUSALS: Responses = {
    **{status: REFUSALS[status] for status in (401, 413, 422, 429)},
    500: {"model": CheckResult, "description": "Not configured"},
}
FAILED_CHECK: Responses = {
    502: {"model": CheckResult, "description": "The services that it needs failed"}
}
DELETION_REFUSALS: Responses = {
    **RUN_REFUSALS,
    409: {"model": body.Fault, "description": "The run has not ended"},
}
NOTHING_MORE: Responses = {204: {"description": "There is nothing more"}}
STREAM: Responses = {
    200: {
        "model": body.StreamFrame,
        "description": "Server-sent events, each with this as `data`; `end` is the last",
        "headers": {"X-Run-ID": {"description": "the run", "schema": {"type": "string"}}},
    }
}

#: For a route whose client says by `Accept` which of the two it wants.
ANSWER_OR_STREAM: Responses = {200: {"content": {"text/event-stream": {}}}}


class StreamingApi(FastAPI):
    """A FastAPI that describes a response with `StreamFrame` as server-sent events.

    FastAPI can name such a content type only for all responses of a route, its JSON errors too.
    """

    def openapi(self) -> dict[str, Any]:
        """The description of the API."""
        is_new = self.openapi_schema is None
        description = super().openapi()
        for path in description["paths"].values() if is_new else ():
            for operation in path.values():
                _describe_stream(operation["responses"].get("200", {}).get("content", {}))
        return description


def _describe_stream(content: dict[str, Any]) -> None:
    """Replace a frame as JSON by an event with an id and, in `data`, the frame as JSON."""
    frame = {"$ref": f"#/components/schemas/{body.StreamFrame.__name__}"}
    if content.get("application/json") == {"schema": frame}:
        del content["application/json"]
        content["text/event-stream"] = {}
    if "text/event-stream" in content:
        data = {"type": "string", "contentMediaType": "application/json", "contentSchema": frame}
        event = {"id": {"type": "string"}, "data": data}
        schema = {"type": "object", "required": ["id", "data"], "properties": event}
        content["text/event-stream"] = {"schema": schema}
