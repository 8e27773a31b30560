"""A run as server-sent events, and work on a run that ends when its client disconnects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent.server.live_run import Frame, LiveRun

KEEP_ALIVE = 15.0  # seconds between comments on a quiet stream, which proxies would close
KEEP_ALIVE_COMMENT = b": keep-alive\n\n"
#: For OpenAPI, of a route that streams.
CONTENT = {
    "content": {"text/event-stream": {}},
    "description": "Server-sent events, `end` the last; the header X-Run-ID names the run",
}
HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx would buffer frames
    "Content-Type": "text/event-stream; charset=utf-8",
}


def encode_frame(frame: Frame | None) -> bytes:
    """A frame as a server-sent event; None as a comment that keeps the connection alive."""
    if frame is None:
        return KEEP_ALIVE_COMMENT
    detail = frame.detail if frame.type == "answer" else json.dumps(frame.detail)
    data = f'{{"type": "{frame.type}", "detail": {detail}}}'
    return f"id: {frame.n}\ndata: {data}\n\n".encode("utf-8", "replace")


#: Writes a frame as what a stream has of it; None keeps the connection alive.
Encode = Callable[[Frame | None], bytes]


class EventStream(Response):
    """The frames of a run after the one of number `after`, until its end or a disconnect."""

    def __init__(self, live: LiveRun, after: int = 0, encode: Encode = encode_frame) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({**HEADERS, "X-Run-ID": live.id})
        self._live = live
        self._after = after
        self._encode = encode

    @classmethod
    def after(cls, live: LiveRun, last_event_id: str) -> Response:
        """The frames after the one that `Last-Event-ID` names; 204 where there are no more."""
        last = int(last_event_id[:9]) if last_event_id.isdecimal() else 0  # no run has 10^9
        if live.has_ended and last >= len(live.frames):
            return Response(status_code=204)  # an EventSource asks no more
        return cls(live, min(last, len(live.frames)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await work_while_connected(self._live, receive, self._send_all(send))

    async def _send_all(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async with aclosing(self._live.follow(self._after, KEEP_ALIVE)) as frames:
            async for frame in frames:
                event = self._encode(frame)
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def wait_for_end(live: LiveRun) -> None:
    """Wait for the end of a run."""
    async with aclosing(live.follow()) as frames:
        async for _ in frames:
            pass


async def work_while_connected(
    live: LiveRun, receive: Receive, work: Coroutine[Any, Any, None]
) -> None:
    """Do some work as a client of a run, until it is done or the client has disconnected."""
    with live.listener():
        working = asyncio.create_task(work)
        leaving = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.cancel()
            leaving.cancel()
            await asyncio.gather(working, leaving, return_exceptions=True)
    if not working.cancelled():
        working.result()


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
