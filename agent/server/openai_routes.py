"""The routes of OpenAI's API that chat programs know: models and chat completions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi import Path as PathParameter
from starlette.concurrency import run_in_threadpool

from agent.server.app_state import Backend
from agent.server.openai_reply import ChatReply
from agent.server.openai_request import MODELS, ChatRequest, settings_of
from agent.server.stream import EventStream
from agent.state import Json


def add_openai_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes under `/v1/`."""
    wire: Any = {"response_model": dict[str, Any]}

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
        question = await run_in_threadpool(asked.make_question, backend.runs.knows)
        live = await backend.begin(request, question)
        has_usage = bool(asked.stream_options and asked.stream_options.include_usage)
        reply = ChatReply(asked.model, live, has_usage=has_usage)
        if asked.stream:
            return EventStream(live, encode=reply.encode)
        return await backend.answer(request, live, reply.respond)


def _describe_model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "llm-research-agent"}
