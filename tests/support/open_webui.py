"""Open WebUI's own middleware over a recorded stream: a process of its own, run as a script.

`python open_webui.py WHEEL < stream` prints what the middleware tells the browser, as JSON. The
middleware and what it reads a stream with are Open WebUI's; its database, its settings and the
libraries that are not installed are stand-ins.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import sys
from collections import defaultdict
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

REAL = {f"open_webui.utils.{name}" for name in "middleware misc response chat_id".split()}
ABSENT = {"aiocache", "aiohttp", "mimeparse"}  # libraries that are not installed here


class StandIn(ModuleType):
    """A module whose settings are off and whose functions do nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = [f"{sys.argv[1]}/{name.replace('.', '/')}"]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith(("Model", "Form", "Context")):
            return type(name, (), {})
        return False if name.isupper() else AsyncMock()


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds stand-ins for all of Open WebUI but what is real, and for what is not installed."""

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        top = name.partition(".")[0]
        if name in REAL or top not in ABSENT | {"open_webui"}:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.name.endswith("json_codec"):
            codec = ModuleType(spec.name)
            codec.JSONCodec, codec.dumps_bytes = json, json.dumps  # type: ignore[attr-defined]
            return codec
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


async def tell(stream: bytes) -> list[dict[str, Any]]:
    """Return the events that the middleware emits for a stream."""
    from starlette.responses import StreamingResponse

    middleware = importlib.import_module("open_webui.utils.middleware")
    logging.disable()
    told: list[dict[str, Any]] = []

    async def emit(event: dict[str, Any]) -> None:
        told.append(json.loads(json.dumps(event)))

    async def lines() -> Any:
        for line in stream.splitlines(keepends=True):
            yield line

    state = SimpleNamespace(redis=None, direct=False)
    context = defaultdict[str, Any](
        type(None),
        request=SimpleNamespace(app=SimpleNamespace(state=state), state=state),
        form_data={"model": "research", "messages": [{"role": "user", "content": "?"}]},
        user=SimpleNamespace(id="1", role="user", model_dump=dict),
        model={"id": "research"},
        metadata={"chat_id": "local:1", "message_id": "2"},
        events=[],
        event_emitter=emit,
    )
    response = StreamingResponse(lines(), media_type="text/event-stream")
    await middleware.process_chat_response(response, context)
    return told


if __name__ == "__main__":
    sys.meta_path.insert(0, StandIns())
    print(json.dumps(asyncio.run(tell(sys.stdin.buffer.read()))))
