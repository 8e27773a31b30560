"""The OpenAPI description: its tables of responses."""

from __future__ import annotations

from typing import Any

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
#: Refusals of a document.
DOCUMENT_REFUSALS: Responses = {
    **{status: REFUSALS[status] for status in (401, 413, 422, 429)},
    403: {"model": body.Fault, "description": "The server takes no files"},
}
_FILE = {"type": "string", "format": "binary"}
_FORM = {"type": "object", "required": ["file"], "properties": {"file": _FILE}}
_CONTENT = {"multipart/form-data": {"schema": _FORM}}
#: For the route of documents, which reads its body by itself.
DOCUMENT_FORM = {"requestBody": {"required": True, "content": _CONTENT}}
ARCHIVE: Responses = {200: {"content": {"application/zip": {"schema": _FILE}}}}
#: Refusals under `/v1/`.
OPENAI_REFUSALS: Responses = {
    status: {"model": body.OpenAIError, "description": "The request was refused, or the run failed"}
    for status in (400, 401, 404, 409, 413, 429, 500, 502)
}
NOTHING_MORE: Responses = {204: {"description": "There is nothing more"}}
_FRAME = body.StreamFrame.model_json_schema(ref_template="#/components/schemas/{model}")
del _FRAME["$defs"]  # the components have them
#: A server-sent event: an id and, in `data`, a frame as JSON.
_EVENT = {
    "type": "object",
    "required": ["id", "data"],
    "properties": {
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": _FRAME},
    },
}
#: For a route whose client says by `Accept` which of the two it wants.
ANSWER_OR_STREAM: Responses = {200: {"content": {"text/event-stream": {"schema": _EVENT}}}}
#: For one with `response_class=Response`: else FastAPI tells that it answers with JSON.
STREAM: Responses = {
    200: {
        **ANSWER_OR_STREAM[200],
        "description": "Server-sent events; `end` is the last",
        "headers": {"X-Run-ID": {"description": "the run", "schema": {"type": "string"}}},
    }
}
