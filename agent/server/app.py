"""The application: its routes, and how exceptions become responses.

OpenAPI publishes the names of the functions that serve a route, as ids and titles of operations.
"""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from agent.errors import AgentError, Busy
from agent.server import body, logs, responses
from agent.server.access_guard import AccessGuard
from agent.server.app_state import Backend
from agent.server.json_route import JsonRoute
from agent.server.live_run import LiveRun
from agent.server.metrics import Metrics
from agent.server.research_request import Configure
from agent.server.routes import add_routes
from agent.server.run_manager import Runs
from agent.server.uvicorn_server import guard_app
from agent.version import __version__


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
        openapi_url="/openapi.json",
        docs_url=None,  # they would load scripts of other sites
        redoc_url=None,
        responses={
            "4XX": {"model": body.Fault | body.OpenAIError, "description": "Refused"},
            "5XX": {"model": body.Failure | body.OpenAIError, "description": "No answer"},
        },
        exception_handlers={
            RequestValidationError: responses.handle_validation_error,
            HTTPException: responses.handle_http_error,
            AgentError: responses.handle_agent_error,
            ClientDisconnect: responses.handle_disconnect,
            Busy: responses.make_busy_handler(backend.metrics.count_refusal),
        },
    )
    app.router.route_class = JsonRoute
    add_routes(app, backend)
    return app
