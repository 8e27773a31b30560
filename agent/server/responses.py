"""Answers and errors as HTTP responses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from agent.answer.build import build_error_answer
from agent.answer.check_result import build_check_result
from agent.answer.file_formats import FORMATS, FormatName, require_format
from agent.answer.formats import to_markdown, write_answer
from agent.answer.pdf_renderer import require_browser
from agent.answer.schema import Answer
from agent.errors import AgentError, JournalError, NotConfigured, UsageError
from agent.server.error_bodies import OPENAI_PREFIX, fault_body, fault_status
from agent.server.live_run import LiveRun
from agent.settings import Settings
from agent.state import Json

RETRY_AFTER = "5"  # seconds
EMPTY_QUESTION = "Question cannot be empty"
T = TypeVar("T")


def result_body(answer: Answer) -> dict[str, Any]:
    """The answer object as JSON, with the report as Markdown and the question."""
    report = answer.report.markdown if answer.report else to_markdown(answer)
    return answer.model_dump(mode="json") | {"report": report, "question": answer.topic}


def answer_response(answer: Answer, live: LiveRun | None = None) -> Response:
    """An answer, with 200 or the status of its error."""
    return _json_response(result_body(answer), answer, live)


def check_response(answer: Answer, live: LiveRun) -> Response:
    """The result of a check, with 200 or the status of its error."""
    return _json_response(build_check_result(answer).model_dump(mode="json"), answer, live)


def _json_response(body: Json, answer: Answer, live: LiveRun | None) -> Response:
    """A body with the status of an answer; `detail` is the message of its error."""
    detail = {"detail": answer.error.message} if answer.error else {}
    headers = {"X-Run-ID": live.id} if live else None
    return JSONResponse(body | detail, status_of(answer), headers)


def status_of(answer: Answer) -> int:
    """200, or the status of the error of an answer."""
    status_of = {"usage": 422, "not_configured": 500, "internal": 500}
    return status_of.get(answer.error.kind, 502) if answer.error else 200


def file_response(name: str, answer: Answer, form: FormatName, settings: Settings) -> Response:
    """An answer as a file to download and pass on.

    Raises NotConfigured where the format cannot be made here, OutputFailed.
    """
    require_format(form, None)
    printer = require_browser(settings.page_browser_path) if form == "pdf" else ""
    content = write_answer(answer, form, browser=printer)
    kind = FORMATS[form]
    headers = {
        "Content-Type": kind.content_type,
        "Content-Disposition": f'attachment; filename="{name}{kind.suffixes[0]}"',
    }
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return Response(data, headers=headers)


def require(found: T | None, missing: str) -> T:
    """What was found. Raises HTTPException 404 with the text of what is missing."""
    if found is None:
        raise HTTPException(404, missing)
    return found


def delete_named(delete: Callable[[str], bool], name: str, missing: str) -> None:
    """Delete what has a name. Raises HTTPException: 404, and 409 for what has not ended."""
    try:
        is_deleted = delete(name)
    except UsageError as error:
        raise HTTPException(409, error.message) from None
    require(is_deleted or None, missing)


# --- handlers of exceptions -----------------------------------------------------------------------


async def handle_validation_error(request: Request, error: Exception) -> Response:
    """422 with where the fault is, but not with what was sent; 400 for a blank question."""
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    names = ("question", "topic")  # of one field
    if any(one["loc"][-1] in names and not str(one["input"]).strip() for one in faults):
        return JSONResponse({"detail": EMPTY_QUESTION}, 400)
    detail = [{name: one[name] for name in ("loc", "msg", "type")} for one in faults]
    content_type = request.headers.get("content-type", "")
    if request.url.path.startswith(OPENAI_PREFIX):
        return _refuse(request, 400, f"{'.'.join(map(str, faults[0]['loc']))}: {faults[0]['msg']}")
    is_not_json = faults[0]["loc"] == ("body",) and "json" not in content_type
    remedy = {"remedy": "Send Content-Type: application/json."} if is_not_json else {}
    return JSONResponse({"detail": detail, **remedy}, 422)


async def handle_http_error(request: Request, error: Exception) -> Response:
    """The status of the exception; 422 for the 400 of a body that is not even text."""
    assert isinstance(error, HTTPException)
    code = getattr(error, "code", None)
    status = 422 if error.status_code == 400 else error.status_code
    return _refuse(request, status, str(error.detail), code=code, headers=error.headers)


async def handle_disconnect(request: Request, error: Exception) -> Response:
    """A client that went away before its body was there: nobody reads this."""
    return _refuse(request, 400, "The body is not complete.")


async def handle_agent_error(request: Request, error: Exception) -> Response:
    """422 for wrong usage (400 for an empty question), 409 for a journal, else 500."""
    assert isinstance(error, AgentError)
    if isinstance(error, NotConfigured) and not request.url.path.startswith(OPENAI_PREFIX):
        question = getattr(request.state, "question", "")
        return answer_response(build_error_answer(question, error))
    status = {UsageError: 422, JournalError: 409}.get(type(error), 500)
    status = 400 if error.message == EMPTY_QUESTION else status
    return _refuse(request, status, error.message, error.remedy)


def _refuse(
    request: Request,
    status: int,
    message: str,
    remedy: str | None = None,
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A refusal in the form that the path has."""
    path = request.url.path
    content = fault_body(path, status, message, remedy, code)
    return JSONResponse(content, fault_status(path, status), headers)


def make_busy_handler(
    count_refusal: Callable[[], None],
) -> Callable[[Request, Exception], Coroutine[Any, Any, Response]]:
    """A handler of `Busy`, which counts the refusal: 429 with `Retry-After`."""

    async def handle_busy(request: Request, error: Exception) -> Response:
        count_refusal()
        return _refuse(request, 429, str(error), headers={"Retry-After": RETRY_AFTER})

    return handle_busy
