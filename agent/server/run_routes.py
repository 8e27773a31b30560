"""The routes of runs that go on or have ended: their state, frames, answers, names and exports."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from agent.answer.file_formats import FormatName
from agent.answer.formats import to_fragment
from agent.answer.schema import Answer
from agent.run.export import write_export
from agent.run.run_library import NO_SUCH_RUN, NewTitleAndTags, write_labels
from agent.server import body
from agent.server.app_state import Backend, RunName
from agent.server.live_run import LiveRun, RunSummary
from agent.server.outcome import describe_outcome
from agent.server.responses import delete_named, file_response, require, result_body
from agent.server.run_manager import MAX_LISTED
from agent.server.stream import CONTENT, EventStream
from agent.state import Json

#: For OpenAPI: what FastAPI cannot see in the type of a response.
EVENTS: dict[int | str, Any] = {200: CONTENT, 204: {"description": "There is nothing more"}}
ARCHIVE: dict[int | str, Any] = {200: {"content": {"application/zip": {}}}}
WORDS = "words of a question, a title or tags"


def add_run_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes of one run: its state, frames and answer."""

    @app.get("/api/runs/{name}", response_model=body.RunDetail)
    async def run(name: RunName) -> Response:
        """A run, with its answer once there is one."""
        live = await backend.find(name)
        usage, slots = live.usage_and_slots()
        activity = await run_in_threadpool(live.activity)  # it may rank sentences
        summary = await run_in_threadpool(backend.runs.label, live.summary)
        detail = summary.model_dump(mode="json") | {
            "frames": len(live.frames),
            "step": live.step,
            "usage": usage.model_dump(mode="json"),
            "slots": {name: slot.model_dump(mode="json") for name, slot in slots.items()},
            "max_usd": live.max_usd,
            "is_check": live.is_check,
            "activity": activity.model_dump(mode="json"),
            "answer": live.answer and result_body(live.answer),
            **(await run_in_threadpool(_show, live) if live.answer else {}),
        }
        return JSONResponse(detail)

    @app.post("/api/runs/{name}/cancel")
    async def cancel(name: RunName) -> RunSummary:
        """Stop a run: it ends within one external call, with the best answer so far."""
        live = await backend.find(name)
        await run_in_threadpool(backend.runs.cancel, live)
        return live.summary

    @app.get("/api/runs/{name}/events", response_class=Response, responses=EVENTS)
    async def events(name: RunName, last_event_id: Annotated[str, Header()] = "") -> Response:
        """The frames of a run after the one that `Last-Event-ID` names."""
        return EventStream.after(await backend.find(name), last_event_id)

    @app.get("/api/runs/{name}/answer", response_model=Answer)
    async def answer(name: RunName, format: FormatName = "json") -> Response:
        """The answer of a run that has ended, as a file."""
        live = await backend.find(name)
        if live.answer is None:
            raise HTTPException(409, "The run has not ended.")
        return await run_in_threadpool(
            file_response, live.id, live.answer, format, backend.settings
        )


def _show(live: LiveRun) -> Json:
    """What the page shows of a run that has ended."""
    assert live.answer is not None
    outcome = describe_outcome(live.answer)
    return {"outcome": outcome.model_dump(), "html": to_fragment(live.answer, f"{live.id}-")}


def add_library_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes by which runs are found, named, exported and deleted."""

    @app.get("/api/runs")
    def runs(
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
        q: Annotated[str, Query(max_length=200, description=WORDS)] = "",
    ) -> list[RunSummary]:
        """The newest runs, of this process and of earlier ones."""
        return backend.runs.list_newest(limit, q)

    @app.get("/api/runs/{name}/export", response_class=Response, responses=ARCHIVE)
    def export(name: RunName) -> Response:
        """A run as one file, which `research-agent audit` checks on another machine."""
        journal = require(backend.runs.library.find(name), NO_SUCH_RUN)
        headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
        return Response(write_export(journal), headers=headers, media_type="application/zip")

    @app.patch("/api/runs/{name}")
    async def label(name: RunName, labels: NewTitleAndTags) -> RunSummary:
        """Give a run a title and tags."""
        live = await backend.find(name)
        journal = require(backend.runs.library.find(name), NO_SUCH_RUN)
        await run_in_threadpool(write_labels, journal, labels)
        return backend.runs.label(live.summary)

    @app.delete("/api/runs/{name}", status_code=204)
    def delete(name: RunName) -> None:
        """Delete a run that has ended, with its journal."""
        delete_named(backend.runs.delete, name, NO_SUCH_RUN)
