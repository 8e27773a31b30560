"""The body of a refusal: our own, and under `/v1/` the one that clients of OpenAI's API read."""

from __future__ import annotations

from typing import Any

from agent.errors import format_error

OPENAI_PREFIX = "/v1/"
TYPES = {401: "authentication_error", 429: "rate_limit_error"}
CODES = {401: "invalid_api_key", 413: "request_too_large", 429: "rate_limit_exceeded"}


def fault_status(path: str, status: int) -> int:
    """The status of a refusal: OpenAI's API has 400 for every request that cannot be used."""
    return 400 if path.startswith(OPENAI_PREFIX) and status == 422 else status


def fault_body(
    path: str, status: int, message: str, remedy: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """The body of a refusal of a request to a path. None as the remedy leaves it out."""
    if path.startswith(OPENAI_PREFIX):
        return openai_error(status, format_error(message, remedy or ""), code)
    return {"detail": message} | ({} if remedy is None else {"remedy": remedy})


def openai_error(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """An error object in OpenAI's wire form."""
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": None, "code": code or CODES.get(status)}
    return {"error": error}
