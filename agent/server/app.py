"""The routes. No logic: a body becomes settings, a run is begun or found, its frames are sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from agent import __version__
from agent.answer import Answer, make_failure, to_json
from agent.answer.document import document
from agent.answer.page import page
from agent.errors import AgentError, Busy, JournalError, NotConfigured, UsageError
from agent.run.models import chosen_models
from agent.server import body
from agent.server.metrics import KIND, Metrics
from agent.server.stream import EventStream, attend, ended
from agent.serving import logs
from agent.serving.asked import Configure, Question
from agent.serving.guard import Guard
from agent.serving.live import Live, Summary
from agent.serving.runs import MOST_LISTED, NAME, Runs
from agent.serving.serve import guarded

Form = Literal["json", "markdown", "html"]
PAGE = Path(__file__).parent / "ui"
PARTS = {".html", ".css", ".js", ".svg", ".png", ".ico", ".woff2"}
RETRY_AFTER = "5"  # seconds
EMPTY = "Question cannot be empty"
Name = Annotated[str, InPath(pattern=f"^{NAME.pattern}$", description="a run's id")]
REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"model": body.Fault, "description": EMPTY},
    401: {"model": body.Fault, "description": "A token is needed"},
    413: {"model": body.Fault, "description": "The body is too long"},
    422: {"model": body.Faults, "description": "The body cannot be used"},
    429: {"model": body.Fault, "description": "No room for one more run: see Retry-After"},
    500: {"model": body.Result, "description": "Not configured: no key is set"},
}
MISSING: dict[int | str, dict[str, Any]] = {
    401: REFUSED[401],
    404: {"model": body.Fault, "description": "There is no such run"},
    409: {
        "model": body.Fault,
        "description": "No answer yet, or a damaged journal",
    },
    422: REFUSED[422],
}
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "model": body.Told,
        "description": "Server-sent events, each with this as `data`; `end` is the last",
        "headers": {"X-Run-ID": {"description": "the run", "schema": {"type": "string"}}},
    }
}


class App(FastAPI):
    """Its OpenAPI tells of streams as streams; their errors are JSON."""

    def openapi(self) -> dict[str, Any]:
        """The description of the API."""
        new = self.openapi_schema is None
        told = super().openapi()
        for path in told["paths"].values() if new else ():
            for operation in path.values():
                _as_stream(operation["responses"]["200"].get("content", {}))
        return told


def _as_stream(content: dict[str, Any]) -> None:
    """Each event of a stream has an id and, in `data`, a frame as JSON."""
    told = {"$ref": "#/components/schemas/Told"}
    if content.get("application/json") == {"schema": told}:
        del content["application/json"]
        data = {"type": "string", "contentMediaType": "application/json", "contentSchema": told}
        event = {"id": {"type": "string"}, "data": data}
        schema = {"type": "object", "required": ["id", "data"], "properties": event}
        content["text/event-stream"] = {"schema": schema}


class Door:
    """What the routes share."""

    def __init__(self, configure: Configure, runs: Runs, metrics: Metrics) -> None:
        self.configure = configure
        self.own = configure({})
        self.runs = runs
        self.metrics = metrics

    async def begin(self, request: Request, asked: Question) -> Live:
        """A run for a request. Raises AgentError."""
        given = asked.given(self.own) | {"request_id": request.state.request_id}
        settings = self.configure(given)
        return await run_in_threadpool(
            self.runs.begin, asked.question, settings, detached=asked.detach
        )

    async def find(self, name: str) -> Live:
        """A run by its name, of this process or an earlier one."""
        live = await run_in_threadpool(self.runs.find, name)
        if live is None:
            raise HTTPException(404, "There is no run of this name.")
        return live


def create(door: Door) -> FastAPI:
    """The application."""
    app = App(
        title="LLM Research Agent",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # they would load scripts of other sites
        redoc_url=None,
        exception_handlers={
            RequestValidationError: _malformed,
            HTTPException: _unread,
            AgentError: _failed,
            Busy: _busy(door),
        },
    )
    _add_page(app)
    _add_state(app, door)
    _add_research(app, door)
    _add_runs(app, door)
    return app


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return FileResponse(PAGE / "index.html")

    @app.get("/ui/{name}", include_in_schema=False)
    def part(name: str) -> Response:
        files = {file.name: file for file in PAGE.iterdir() if file.suffix in PARTS}
        if name not in files:
            raise HTTPException(404, "There is no such file.")
        return FileResponse(files[name])


def _add_state(app: FastAPI, door: Door) -> None:
    @app.get("/api/health")
    async def health() -> body.Health:
        """Whether the server answers."""
        return body.Health()

    @app.get("/api/status")
    def status() -> body.Status:
        """Whether a question could be researched, and by which model."""
        try:
            first = chosen_models(door.own)[0]
        except AgentError as error:
            return body.Status(ready=False, error=error.message)
        return body.Status(ready=True, provider=first.provider, model=first.name)

    @app.get("/metrics", responses={200: {"content": {"text/plain": {}}}, 401: MISSING[401]})
    def metrics() -> Response:
        """Figures for Prometheus."""
        return Response(door.metrics.exposed(door.runs), headers={"Content-Type": KIND})


def _add_research(app: FastAPI, door: Door) -> None:
    failed: dict[int | str, dict[str, Any]] = {
        502: {"model": body.Result, "description": "The services that it needs failed"}
    }

    @app.post("/api/research", response_model=body.Result, responses={**REFUSED, **failed})
    async def research(request: Request, asked: Question) -> Response:
        """Research a question; answers when the answer is there."""
        live = await door.begin(request, asked)
        await attend(live, door.own.api_linger, request.receive, ended(live))
        if live.answer is None:  # the client has gone; nobody reads this
            return Response(status_code=499)
        return _answered(live.answer, live)

    @app.post("/api/research/stream", responses={**REFUSED, **STREAM})
    async def stream(request: Request, asked: Question) -> Response:
        """Research a question; tells what happens as it happens."""
        return EventStream(await door.begin(request, asked), door.own.api_linger)


def _add_runs(app: FastAPI, door: Door) -> None:
    @app.get("/api/runs", responses={401: MISSING[401]})
    def runs(limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 50) -> list[Summary]:
        """The newest runs, of this process and of earlier ones."""
        return door.runs.listed(limit)

    @app.get("/api/runs/{name}", response_model=body.Detail, responses=MISSING)
    async def run(name: Name) -> Response:
        """A run, with its answer once there is one."""
        live = await door.find(name)
        usage, slots = live.so_far()
        told = live.summary.model_dump(mode="json") | {"frames": len(live.frames)}
        told |= {"usage": usage.model_dump(mode="json")}
        told |= {"slots": {name: slot.model_dump(mode="json") for name, slot in slots.items()}}
        return JSONResponse(told | {"answer": live.answer and result(live.answer)})

    @app.post("/api/runs/{name}/cancel", response_model=Summary, responses=MISSING)
    async def cancel(name: Name) -> Summary:
        """Stop a run: it ends within one outside call, with the best answer so far."""
        live = await door.find(name)
        await run_in_threadpool(door.runs.cancel, live)
        return live.summary

    @app.get(
        "/api/runs/{name}/events",
        responses={**MISSING, **STREAM, 204: {"description": "There is nothing more"}},
    )
    async def events(name: Name, last_event_id: Annotated[str, Header()] = "") -> Response:
        """The frames of a run after the one that `Last-Event-ID` names."""
        live = await door.find(name)
        after = int(last_event_id[:9]) if last_event_id.isdecimal() else 0  # no run has 10^9
        if live.ended and after >= len(live.frames):
            return Response(status_code=204)  # an EventSource asks no more
        return EventStream(live, door.own.api_linger, min(after, len(live.frames)))

    @app.get("/api/runs/{name}/answer", response_model=Answer, responses=MISSING)
    async def answer(name: Name, format: Form = "json") -> Response:
        """The answer of a run that has ended, as a file."""
        live = await door.find(name)
        if live.answer is None:
            raise HTTPException(409, "The run has not ended.")
        return _file(live.id, live.answer, format)


def result(answer: Answer) -> dict[str, Any]:
    """The answer object with what HTTP adds to it."""
    report = answer.report.markdown if answer.report else document(answer)
    told = {"report": report, "question": answer.topic}
    return answer.model_dump(mode="json") | told


def _file(name: str, answer: Answer, format: Form) -> Response:
    text, kind, ending = {
        "json": (to_json, "application/json", "json"),
        "markdown": (document, "text/markdown; charset=utf-8", "md"),
        "html": (page, "text/html; charset=utf-8", "html"),
    }[format]
    headers = {
        "Content-Type": kind,
        "Content-Disposition": f'attachment; filename="{name}.{ending}"',
    }
    return Response(text(answer).encode("utf-8", "replace"), headers=headers)


def _answered(answer: Answer, live: Live | None = None) -> Response:
    """An answer with the status that says what it is worth; `detail` says why there is none."""
    status = {"usage": 422, "not_configured": 500, "internal": 500}
    code = status.get(answer.error.kind, 502) if answer.error else 200
    told = result(answer) | ({"detail": answer.error.message} if answer.error else {})
    return JSONResponse(told, code, {"X-Run-ID": live.id} if live else None)


# --- what is refused ------------------------------------------------------------------------------


async def _malformed(request: Request, error: Exception) -> Response:
    """422 that says where, without what was sent; a blank question is 400."""
    assert isinstance(error, RequestValidationError)
    places = error.errors()
    if any(one["loc"][-1] == "question" and not str(one["input"]).strip() for one in places):
        return JSONResponse({"detail": EMPTY}, 400)
    told = [{name: one[name] for name in ("loc", "msg", "type")} for one in places]
    sent = request.headers.get("content-type", "")
    untold = places[0]["loc"] == ("body",) and "json" not in sent
    remedy = {"remedy": "Send Content-Type: application/json."} if untold else {}
    return JSONResponse({"detail": told, **remedy}, 422)


async def _unread(request: Request, error: Exception) -> Response:
    """A body that is not even text is malformed too."""
    assert isinstance(error, HTTPException)
    status = 422 if error.status_code == 400 else error.status_code
    return JSONResponse({"detail": error.detail}, status, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, AgentError)
    if isinstance(error, NotConfigured):
        return _answered(make_failure("", error))
    status = {UsageError: 422, JournalError: 409}.get(type(error), 500)
    status = 400 if error.message == EMPTY else status
    return JSONResponse({"detail": error.message, "remedy": error.remedy}, status)


def _busy(door: Door) -> Any:
    async def busy(_: Request, error: Exception) -> Response:
        door.metrics.refuse()
        headers = {"Retry-After": RETRY_AFTER}
        return JSONResponse({"detail": str(error)}, 429, headers)

    return busy


def served(host: str, configure: Configure) -> tuple[Guard, Runs]:
    """What is served on an address, and its runs. Raises UsageError."""
    own, metrics = configure({}), Metrics()

    def told(live: Live) -> None:
        metrics.count(live)
        logs.end_of_run(live)

    runs = Runs(own, told)
    return guarded(create(Door(configure, runs, metrics)), host, own), runs
