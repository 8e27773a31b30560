"""What the routes share: the settings, the runs and the metrics of a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Path, Request, Response
from starlette.concurrency import run_in_threadpool

from agent.answer.schema import Answer
from agent.run.run_library import NO_SUCH_RUN, RUN_NAME_PATTERN
from agent.server.live_run import LiveRun
from agent.server.metrics import Metrics
from agent.server.research_request import CheckRequest, Configure, Question
from agent.server.responses import require
from agent.server.run_manager import Runs, begin_requested
from agent.server.stream import wait_for_end, work_while_connected

RunName = Annotated[str, Path(pattern=f"^{RUN_NAME_PATTERN}$", description="a run's id")]


class Backend:
    """Begins, awaits and finds runs for the routes."""

    def __init__(self, configure: Configure, runs: Runs, metrics: Metrics) -> None:
        self.configure = configure
        self.settings = configure({})
        self.runs = runs
        self.metrics = metrics

    async def begin(self, request: Request, asked: Question | CheckRequest) -> LiveRun:
        """Begin the run that a request asks for. Raises AgentError."""
        request_id = request.state.request_id
        request.state.question = getattr(asked, "question", "")  # of an error answer
        return await run_in_threadpool(
            begin_requested, self.runs, self.configure, asked, request_id
        )

    async def answer(
        self, request: Request, live: LiveRun, respond: Callable[[Answer, LiveRun], Response]
    ) -> Response:
        """Wait for a run and send its answer."""
        await work_while_connected(live, request.receive, wait_for_end(live))
        if live.answer is None:  # the client has gone; nobody reads this
            return Response(status_code=499)
        return respond(live.answer, live)

    async def find(self, name: str) -> LiveRun:
        """The run of a name, of this process or an earlier one. Raises HTTPException 404."""
        return require(await run_in_threadpool(self.runs.find, name), NO_SUCH_RUN)
