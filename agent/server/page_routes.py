"""The routes of the page and its files, and the health of the server."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, PlainTextResponse

from agent.errors import AgentError, format_error
from agent.run.models import make_models
from agent.search.providers import find_searches
from agent.server import body
from agent.server.app_state import Backend
from agent.server.choices import Choices, describe_choices
from agent.server.metrics import CONTENT_TYPE
from agent.server.responses import require

UI_FOLDER = Path(__file__).parent / "page"
UI_SUFFIXES = {".html", ".css", ".js", ".svg", ".png", ".ico", ".woff2"}


def add_page_routes(app: FastAPI, backend: Backend) -> None:
    """Add the page, `/metrics`, and what the page asks before a question is asked."""
    _add_files(app)

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
            message = format_error(error.message, error.remedy)
            return body.Status(ready=False, error=message, search=search, documents=takes)
        known = {"provider": first.provider, "model": first.name}
        return body.Status(ready=True, search=search, documents=takes, **known)

    @app.get("/api/choices")
    def choices() -> Choices:
        """Questions that can be answered here, and what each way to answer takes."""
        return describe_choices(backend.configure)

    @app.get("/metrics", response_class=PlainTextResponse)
    def metrics() -> Response:
        """Figures for Prometheus."""
        text = backend.metrics.render(backend.runs)
        return Response(text, headers={"Content-Type": CONTENT_TYPE})


def _add_files(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return FileResponse(UI_FOLDER / "index.html")

    @app.get("/ui/{name}", include_in_schema=False)
    def ui_file(name: str) -> Response:
        files = {file.name: file for file in UI_FOLDER.iterdir() if file.suffix in UI_SUFFIXES}
        return FileResponse(require(files.get(name), "There is no such file."))
