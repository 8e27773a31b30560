"""All routes of the application."""

from __future__ import annotations

from fastapi import FastAPI

from agent.server.app_state import Backend
from agent.server.document_routes import add_document_routes
from agent.server.openai_routes import add_openai_routes
from agent.server.page_routes import add_page_routes
from agent.server.research_routes import add_check_routes, add_research_routes
from agent.server.run_routes import add_library_routes, add_run_routes


def add_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes of each kind, in the order in which OpenAPI lists them."""
    add_page_routes(app, backend)
    add_research_routes(app, backend)
    add_check_routes(app, backend)
    add_run_routes(app, backend)
    add_library_routes(app, backend)
    add_document_routes(app, backend)
    add_openai_routes(app, backend)
