"""The routes of OpenAI's API that chat programs know: models, chat completions, responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from agent.answer import Answer
from agent.server.openai_reply import ChatReply, ResponsesReply, error_body
from agent.server.openai_request import MODELS, ChatRequest, settings_of
from agent.server.openapi import OPENAI_REFUSALS
from agent.server.responses import status_of
from agent.server.stream import EventStream
from agent.serving.live import LiveRun
from agent.state.json_data import Json

if TYPE_CHECKING:
    from agent.server.app import Backend


def add_openai_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes under `/v1/`."""
    wire: Any = {"response_model": dict[str, Any], "responses": OPENAI_REFUSALS}

    @app.get("/v1/models", **wire)
    async def models() -> Json:
        """The models: the ways to research a question."""
        return {"object": "list", "data": [_describe_model(name) for name in MODELS]}

    @app.get("/v1/models/{name}", **wire)
    async def model(name: Annotated[str, PathParameter(max_length=100)]) -> Json:
        """One of the models."""
        settings_of(name)
        return _describe_model(name)

    @app.post("/v1/chat/completions", **wire)
    async def chat_completions(request: Request, asked: ChatRequest) -> Response:
        """Research the last question of a conversation."""
        live = await _begin(backend, request, asked)
        has_usage = bool(asked.stream_options and asked.stream_options.include_usage)
        reply = ChatReply(asked.model, live, has_usage=has_usage)
        return await _send(backend, request, live, reply, is_stream=bool(asked.stream))

    @app.post("/v1/responses", **wire)
    async def create_response(request: Request, asked: ChatRequest) -> Response:
        """Research the last question of a conversation, or one after an earlier response."""
        live = await _begin(backend, request, asked)
        reply = ResponsesReply(asked.model, live)
        return await _send(backend, request, live, reply, is_stream=bool(asked.stream))


def _describe_model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "llm-research-agent"}


async def _begin(backend: Backend, request: Request, asked: ChatRequest) -> LiveRun:
    question = await run_in_threadpool(asked.make_question, backend.runs.knows)
    return await backend.begin(request, question)


async def _send(
    backend: Backend,
    request: Request,
    live: LiveRun,
    reply: ChatReply | ResponsesReply,
    *,
    is_stream: bool,
) -> Response:
    """The stream of a run, or its answer once it is there."""

    def respond(answer: Answer, _: LiveRun) -> Response:
        status = status_of(answer)
        content = error_body(answer, status) if answer.error else reply.whole(answer)
        return JSONResponse(content, status, {"X-Run-ID": live.id})

    if is_stream:
        return EventStream(live, backend.linger, encode=reply.encode)
    return await backend.answer(request, live, respond)
