"""The routes that begin a run: a question, a follow-up, a plan, a report to check."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from agent.answer.check_result import CheckResult
from agent.run.plan import PlanOffer, offer_plan
from agent.run.run_library import NO_SUCH_RUN
from agent.server import body
from agent.server.app_state import Backend, RunName
from agent.server.research_request import CheckRequest, Question
from agent.server.responses import answer_response, check_response
from agent.server.stream import CONTENT, EventStream


def add_research_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes that take a question."""

    @app.post("/api/research", response_model=body.Result)
    async def research(request: Request, question: Question) -> Response:
        """Research a question; answers when the answer is there."""
        live = await backend.begin(request, question)
        return await backend.answer(request, live, answer_response)

    @app.post("/api/plan")
    def plan(request: Request, question: Question) -> PlanOffer:
        """Plan a report: its sections, questions and searches, and what it would take.

        Nothing is searched. Send it, changed or not, as `plan` with the question.
        """
        request.state.question = question.question  # of an error answer
        settings = backend.configure(question.setting_overrides(backend.configure({})))
        return offer_plan(question.question, settings, question.run_request())

    @app.post("/api/research/stream", response_class=Response, responses={200: CONTENT})
    async def stream(request: Request, question: Question) -> Response:
        """Research a question; tells what happens as it happens."""
        return EventStream(await backend.begin(request, question))

    @app.post("/api/runs/{name}/follow", response_model=body.Result, responses={200: CONTENT})
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


def add_check_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes that take a report."""

    @app.post("/api/check", response_model=CheckResult)
    async def check(request: Request, report: CheckRequest) -> Response:
        """Check a report against the pages that it cites; answers when all is judged."""
        live = await backend.begin(request, report)
        return await backend.answer(request, live, check_response)

    @app.post("/api/check/stream", response_class=Response, responses={200: CONTENT})
    async def check_stream(request: Request, report: CheckRequest) -> Response:
        """Check a report; tells what happens as it happens. `answer` has the check in `check`."""
        return EventStream(await backend.begin(request, report))
