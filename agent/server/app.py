"""The routes. They hold no logic: they begin or find a run and send what it has.

OpenAPI publishes the names of the functions that serve a route, as ids and titles of operations.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from agent import __version__
from agent.answer import Answer
from agent.answer.check import CheckResult
from agent.answer.phrases import STANDING_LABELS, VERDICT_LABELS
from agent.answer.shown import LONG_PARAGRAPH
from agent.answer.shown_check import STATUSES, VERDICTS
from agent.errors import AgentError, Busy
from agent.file_formats import FormatName
from agent.run.export import write_export
from agent.run.library import NO_SUCH_RUN, RUN_NAME_PATTERN, NewTitleAndTags, write_labels
from agent.run.models import make_models
from agent.run.plan import PlanOffer
from agent.search.documents import MAX_BYTES
from agent.search.providers import find_searches
from agent.server import body, responses
from agent.server.choices import Choices, describe_choices
from agent.server.document_routes import add_document_routes
from agent.server.json_route import JsonRoute
from agent.server.metrics import CONTENT_TYPE, Metrics
from agent.server.openai_routes import add_openai_routes
from agent.server.openapi import (
    ANSWER_OR_STREAM,
    ARCHIVE,
    CHECK_REFUSALS,
    DELETION_REFUSALS,
    FAILED_CHECK,
    FAILED_SERVICES,
    NOTHING_MORE,
    REFUSALS,
    RUN_REFUSALS,
    STREAM,
)
from agent.server.stream import EventStream, wait_for_end, work_while_connected
from agent.serving import logs
from agent.serving.guard import AccessGuard
from agent.serving.live import LiveRun, RunSummary
from agent.serving.request import MAX_DOCUMENTS, CheckRequest, Configure, Question
from agent.serving.runs import MAX_LISTED, Runs, begin_requested, plan_requested
from agent.serving.serve import guard_app

UI_FOLDER = Path(__file__).parent / "ui"
#: The words of the other formats and some bounds, which the page has from them.
LABELS: dict[str, Any] = {
    "VERDICT_LABELS": VERDICT_LABELS,
    "STANDING_LABELS": STANDING_LABELS,
    "CHECK_LABELS": {verdict: words.label for verdict, words in VERDICTS.items()},
    "SOURCE_LABELS": STATUSES,
    "LONG_PARAGRAPH": LONG_PARAGRAPH,
    "MAX_DOCUMENTS": MAX_DOCUMENTS,
    "LARGEST_DOCUMENT": MAX_BYTES,
}
WORDS = "words of a question, a title or tags"
UI_SUFFIXES = {".html", ".css", ".js", ".svg", ".png", ".ico", ".woff2"}
RunName = Annotated[str, PathParameter(pattern=f"^{RUN_NAME_PATTERN}$", description="a run's id")]


class Backend:
    """The parts that the routes share."""

    def __init__(self, configure: Configure, runs: Runs, metrics: Metrics) -> None:
        self.configure = configure
        self.settings = configure({})
        self.linger = self.settings.api_linger
        self.runs = runs
        self.metrics = metrics

    async def begin(self, request: Request, asked: Question | CheckRequest) -> LiveRun:
        """Begin the run that a request asks for. Raises AgentError."""
        request_id = request.state.request_id
        return await run_in_threadpool(
            begin_requested, self.runs, self.configure, asked, request_id
        )

    async def answer(
        self, request: Request, live: LiveRun, respond: Callable[[Answer, LiveRun], Response]
    ) -> Response:
        """Wait for a run and send its answer."""
        await work_while_connected(live, self.linger, request.receive, wait_for_end(live))
        if live.answer is None:  # the client has gone; nobody reads this
            return Response(status_code=499)
        return respond(live.answer, live)

    async def find(self, name: str) -> LiveRun:
        """The run of a name, of this process or an earlier one. Raises HTTPException 404."""
        return responses.require(await run_in_threadpool(self.runs.find, name), NO_SUCH_RUN)


def make_server(host: str, configure: Configure) -> tuple[AccessGuard, Runs]:
    """The guarded application of an address, and its runs. Raises UsageError."""
    settings, metrics = configure({}), Metrics()

    def handle_end(live: LiveRun) -> None:
        metrics.count_run(live)
        logs.log_end_of_run(live)

    runs = Runs(settings, handle_end)
    return guard_app(create_app(Backend(configure, runs, metrics)), host, settings), runs


def create_app(backend: Backend) -> FastAPI:
    """The application with all routes and its handlers of exceptions."""
    app = FastAPI(
        title="LLM Research Agent",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # they would load scripts of other sites
        redoc_url=None,
        exception_handlers={
            RequestValidationError: responses.handle_validation_error,
            HTTPException: responses.handle_http_error,
            AgentError: responses.handle_agent_error,
            Busy: responses.make_busy_handler(backend.metrics.count_refusal),
        },
    )
    app.router.route_class = JsonRoute
    _add_ui_routes(app)
    _add_status_routes(app, backend)
    _add_research_routes(app, backend)
    _add_check_routes(app, backend)
    _add_run_routes(app, backend)
    _add_output_routes(app, backend)
    _add_library_routes(app, backend)
    add_document_routes(app, backend)
    add_openai_routes(app, backend)
    return app


def _add_ui_routes(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return FileResponse(UI_FOLDER / "index.html")

    @app.get("/ui/shared.js", include_in_schema=False)
    def shared_labels() -> Response:
        """`LABELS` as a module of the page."""
        lines = (f"export const {n} = {json.dumps(one)};\n" for n, one in LABELS.items())
        return Response("".join(lines), media_type="text/javascript")

    @app.get("/ui/{name}", include_in_schema=False)
    def ui_file(name: str) -> Response:
        files = {file.name: file for file in UI_FOLDER.iterdir() if file.suffix in UI_SUFFIXES}
        return FileResponse(responses.require(files.get(name), "There is no such file."))


def _add_status_routes(app: FastAPI, backend: Backend) -> None:
    @app.get("/api/health")
    async def health() -> body.Health:
        """Whether the server answers."""
        return body.Health()

    @app.get("/api/status")
    def status() -> body.Status:
        """Whether a question could be researched, and by which model."""
        search, takes = find_searches(backend.settings), backend.settings.api_documents
        try:
            first = make_models(backend.settings)[0]
        except AgentError as error:
            return body.Status(ready=False, error=error.message, search=search, documents=takes)
        known = {"provider": first.provider, "model": first.name}
        return body.Status(ready=True, search=search, documents=takes, **known)

    @app.get("/api/choices", responses={401: RUN_REFUSALS[401], 500: REFUSALS[500]})
    def choices() -> Choices:
        """Questions that can be answered here, and what each way to answer takes."""
        return describe_choices(backend.configure)

    @app.get("/metrics", responses={200: {"content": {"text/plain": {}}}, 401: RUN_REFUSALS[401]})
    def metrics() -> Response:
        """Figures for Prometheus."""
        text = backend.metrics.render(backend.runs)
        return Response(text, headers={"Content-Type": CONTENT_TYPE})


def _add_research_routes(app: FastAPI, backend: Backend) -> None:
    @app.post(
        "/api/research", response_model=body.Result, responses={**REFUSALS, **FAILED_SERVICES}
    )
    async def research(request: Request, question: Question) -> Response:
        """Research a question; answers when the answer is there."""
        live = await backend.begin(request, question)
        return await backend.answer(request, live, responses.answer_response)

    @app.post("/api/plan", responses={**REFUSALS, **FAILED_SERVICES})
    def plan(question: Question) -> PlanOffer:
        """Plan a report: its sections, questions and searches, and what it would take.

        Nothing is searched. Send it, changed or not, as `plan` with the question.
        """
        return plan_requested(backend.configure, question)

    @app.post("/api/research/stream", response_class=Response, responses={**REFUSALS, **STREAM})
    async def stream(request: Request, question: Question) -> Response:
        """Research a question; tells what happens as it happens."""
        return EventStream(await backend.begin(request, question), backend.linger)

    @app.post(
        "/api/runs/{name}/follow",
        response_model=body.Result,
        responses={**REFUSALS, **RUN_REFUSALS, **FAILED_SERVICES, **ANSWER_OR_STREAM},
    )
    async def follow(request: Request, name: RunName, question: Question) -> Response:
        """Ask on about a run that has ended: what it read comes first, and is free.

        With `Accept: text/event-stream` it tells what happens as it happens.
        """
        if not await run_in_threadpool(backend.runs.knows, name):
            raise HTTPException(404, NO_SUCH_RUN)
        asked = question.model_copy(update={"follow": name})
        if "text/event-stream" in request.headers.get("accept", ""):
            return await stream(request, asked)
        return await research(request, asked)


def _add_check_routes(app: FastAPI, backend: Backend) -> None:
    @app.post(
        "/api/check", response_model=CheckResult, responses={**CHECK_REFUSALS, **FAILED_CHECK}
    )
    async def check(request: Request, report: CheckRequest) -> Response:
        """Check a report against the pages that it cites; answers when all is judged."""
        live = await backend.begin(request, report)
        return await backend.answer(request, live, responses.check_response)

    @app.post("/api/check/stream", response_class=Response, responses={**CHECK_REFUSALS, **STREAM})
    async def check_stream(request: Request, report: CheckRequest) -> Response:
        """Check a report; tells what happens as it happens. `answer` has the check in `check`."""
        return EventStream(await backend.begin(request, report), backend.linger)


def _add_run_routes(app: FastAPI, backend: Backend) -> None:
    @app.get("/api/runs", responses={401: RUN_REFUSALS[401]})
    def runs(
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
        search: Annotated[str, Query(max_length=200, description=WORDS)] = "",
        q: Annotated[str, Query(max_length=200, description="the same")] = "",
    ) -> list[RunSummary]:
        """The newest runs, of this process and of earlier ones."""
        return backend.runs.list_newest(limit, f"{search} {q}")

    @app.get("/api/runs/{name}", response_model=body.RunDetail, responses=RUN_REFUSALS)
    async def run(name: RunName) -> Response:
        """A run, with its answer once there is one."""
        live = await backend.find(name)
        usage, slots = live.usage_and_slots()
        activity = await run_in_threadpool(live.activity)  # it may rank sentences
        summary = await run_in_threadpool(backend.runs.label, live.summary)
        detail = summary.model_dump(mode="json") | {
            "frames": len(live.frames),
            "usage": usage.model_dump(mode="json"),
            "slots": {name: slot.model_dump(mode="json") for name, slot in slots.items()},
            "max_usd": live.max_usd,
            "is_check": live.is_check,
            "activity": activity.model_dump(mode="json"),
            "answer": live.answer and responses.result_body(live.answer),
        }
        return JSONResponse(detail)

    @app.post("/api/runs/{name}/cancel", response_model=RunSummary, responses=RUN_REFUSALS)
    async def cancel(name: RunName) -> RunSummary:
        """Stop a run: it ends within one outside call, with the best answer so far."""
        live = await backend.find(name)
        await run_in_threadpool(backend.runs.cancel, live)
        return live.summary


def _add_output_routes(app: FastAPI, backend: Backend) -> None:
    @app.get(
        "/api/runs/{name}/events",
        response_class=Response,
        responses={**RUN_REFUSALS, **STREAM, **NOTHING_MORE},
    )
    async def events(name: RunName, last_event_id: Annotated[str, Header()] = "") -> Response:
        """The frames of a run after the one that `Last-Event-ID` names."""
        return EventStream.after(await backend.find(name), backend.linger, last_event_id)

    @app.get("/api/runs/{name}/answer", response_model=Answer, responses=RUN_REFUSALS)
    async def answer(name: RunName, format: FormatName = "json") -> Response:
        """The answer of a run that has ended, as a file."""
        live = await backend.find(name)
        if live.answer is None:
            raise HTTPException(409, "The run has not ended.")
        return await run_in_threadpool(
            responses.file_response, live.id, live.answer, format, backend.settings
        )


def _add_library_routes(app: FastAPI, backend: Backend) -> None:
    @app.get("/api/runs/{name}/export", responses={**RUN_REFUSALS, **ARCHIVE})
    def export(name: RunName) -> Response:
        """A run as one file, which `research-agent audit` checks on another machine."""
        journal = responses.require(backend.runs.library.find(name), NO_SUCH_RUN)
        headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
        return Response(write_export(journal), headers=headers, media_type="application/zip")

    @app.patch("/api/runs/{name}", responses=RUN_REFUSALS)
    async def label(name: RunName, labels: NewTitleAndTags) -> RunSummary:
        """Give a run a title and tags."""
        live = await backend.find(name)
        journal = responses.require(backend.runs.library.find(name), NO_SUCH_RUN)
        await run_in_threadpool(write_labels, journal, labels)
        return backend.runs.label(live.summary)

    @app.delete("/api/runs/{name}", status_code=204, responses=DELETION_REFUSALS)
    def delete(name: RunName) -> None:
        """Delete a run that has ended, with its journal."""
        responses.delete_named(backend.runs.delete, name, NO_SUCH_RUN)
