"""The routes of the page and its files, and what tells whether the server works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, PlainTextResponse

from agent.answer.answer_view import LONG_PARAGRAPH
from agent.answer.check_view import STATUSES, VERDICTS
from agent.answer.messages import STANDING_LABELS, VERDICT_LABELS
from agent.errors import AgentError
from agent.run.models import make_models
from agent.search.documents import MAX_BYTES
from agent.search.providers import find_searches
from agent.server import body
from agent.server.backend import Backend
from agent.server.choices import Choices, describe_choices
from agent.server.metrics import CONTENT_TYPE
from agent.server.request import MAX_DOCUMENTS
from agent.server.responses import require

UI_FOLDER = Path(__file__).parent / "ui"
UI_SUFFIXES = {".html", ".css", ".js", ".svg", ".png", ".ico", ".woff2"}
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
            return body.Status(ready=False, error=error.message, search=search, documents=takes)
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

    @app.get("/ui/shared.js", include_in_schema=False)
    def shared_labels() -> Response:
        """`LABELS` as a module of the page."""
        lines = (f"export const {n} = {json.dumps(one)};\n" for n, one in LABELS.items())
        return Response("".join(lines), media_type="text/javascript")

    @app.get("/ui/{name}", include_in_schema=False)
    def ui_file(name: str) -> Response:
        files = {file.name: file for file in UI_FOLDER.iterdir() if file.suffix in UI_SUFFIXES}
        return FileResponse(require(files.get(name), "There is no such file."))
