"""Routes that read a body as JSON with limits of depth and of the size of numbers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from agent.state import InvalidJson, parse_json


class JsonRequest(Request):
    """A request whose JSON is read by `parse_json`."""

    async def json(self) -> Any:
        """The value of the body. Raises HTTPException 422."""
        try:
            return parse_json(await self.body())
        except InvalidJson as error:
            raise HTTPException(422, f"The body cannot be read as JSON: {error}.") from None


class JsonRoute(APIRoute):
    """A route that reads its body as `JsonRequest` does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of FastAPI, given requests of the other class."""
        handle = super().get_route_handler()

        async def handle_bounded(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_bounded
