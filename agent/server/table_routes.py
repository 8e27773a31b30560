"""The routes of tables: one is begun, followed while it fills, and taken as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import FastAPI, Header, Response
from fastapi import Path as PathParameter
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from agent.answer.table_formats import FORMATS
from agent.run.library import NewTitleAndTags, write_labels
from agent.server.openapi import NOTHING_MORE, STREAM, TABLE_REFUSALS
from agent.server.responses import delete_named, require
from agent.server.stream import EventStream
from agent.serving.request import TableRequest
from agent.serving.tables import TABLE_NAME_PATTERN, TableDetail, Tables, TableSummary

if TYPE_CHECKING:
    from agent.server.app import Backend

NO_SUCH_TABLE = "There is no such table."
CONTENT_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
TableName = Annotated[
    str, PathParameter(pattern=f"^{TABLE_NAME_PATTERN}$", description="a table's id")
]


def add_table_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes under `/api/tables`."""
    _add_filling_routes(app, backend)
    _add_kept_routes(app, backend.runs.tables)


def _require(tables: Tables, name: str) -> TableDetail:
    """A table. Raises HTTPException 404."""
    return require(tables.find(name), NO_SUCH_TABLE)


def _add_filling_routes(app: FastAPI, backend: Backend) -> None:
    tables = backend.runs.tables

    @app.post("/api/tables", status_code=202, responses=TABLE_REFUSALS)
    def begin_table(asked: TableRequest) -> TableDetail:
        """Begin a table, or go on with what is left of the same; it goes on without a client."""
        settings = backend.configure(asked.setting_overrides(backend.configure({})))
        return tables.begin(asked, settings).snapshot()

    @app.get(
        "/api/tables/{name}/events",
        response_class=Response,
        responses={**TABLE_REFUSALS, **STREAM, **NOTHING_MORE},
    )
    async def table_events(
        name: TableName, last_event_id: Annotated[str, Header()] = ""
    ) -> Response:
        """Its frames, a `row` each, after the one that `Last-Event-ID` names."""
        if live := tables.live(name):
            return EventStream.after(live, backend.linger, last_event_id)
        await run_in_threadpool(_require, tables, name)
        return Response(status_code=204)  # it was filled by an earlier process

    @app.post("/api/tables/{name}/cancel", responses=TABLE_REFUSALS)
    def cancel_table(name: TableName) -> TableDetail:
        """Stop a table: what is done stays, and the same request goes on with what is left."""
        if live := tables.live(name):
            live.stop()
        return _require(tables, name)


def _add_kept_routes(app: FastAPI, tables: Tables) -> None:
    @app.get("/api/tables", responses={401: TABLE_REFUSALS[401]})
    def list_tables() -> list[TableSummary]:
        """The newest tables."""
        return tables.list_newest()

    @app.get("/api/tables/{name}", responses=TABLE_REFUSALS)
    def table(name: TableName) -> TableDetail:
        """A table, with its cells so far."""
        return _require(tables, name)

    @app.get("/api/tables/{name}/file", responses=TABLE_REFUSALS)
    def table_file(
        name: TableName, format: Literal["json", "csv", "xlsx", "html"] = "json"
    ) -> Response:
        """A table as a file: JSON, CSV, XLSX with its sources as comments, HTML with its quotes."""
        found = _require(tables, name).table
        if found is None:
            raise HTTPException(409, "The table has no cells yet.")
        content = FORMATS[f".{format}"](found)
        data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
        headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"'}
        return Response(data, headers={**headers, "Content-Type": CONTENT_TYPES[format]})

    @app.patch("/api/tables/{name}", responses=TABLE_REFUSALS)
    def label_table(name: TableName, labels: NewTitleAndTags) -> TableDetail:
        """Give a table a title and tags."""
        _require(tables, name)
        write_labels(tables.path(name), labels)
        return _require(tables, name)

    @app.delete("/api/tables/{name}", status_code=204, responses=TABLE_REFUSALS)
    def delete_table(name: TableName) -> None:
        """Delete a table that is not being filled. Its runs stay."""
        delete_named(tables.delete, name, NO_SUCH_TABLE)
