"""uvicorn's HTTP/1.1 protocol with timeouts for slow clients.

uvicorn itself waits without a limit for the first request, for the rest of its headers, and for a
client that does not read its response.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

CLIENT_SECONDS = 15.0  # for the head of a request to arrive, and for a client to go on reading


class TimedProtocol(H11Protocol):
    """Aborts a connection whose client sends no complete head, or reads nothing, for this long."""

    client_seconds: ClassVar[float] = CLIENT_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _cancel_timer(self._request_timer)
        _cancel_timer(self._write_timer)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            _cancel_timer(self._request_timer)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # else the next request has arrived already
            self._wait_for_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.client_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel_timer(self._write_timer)

    def _wait_for_request(self) -> None:
        _cancel_timer(self._request_timer)
        self._request_timer = self.loop.call_later(self.client_seconds, self.transport.abort)


def protocol_with_timeout(seconds: float) -> type[TimedProtocol]:
    """The protocol with another timeout, as the class that uvicorn expects."""
    return type("TimedProtocol", (TimedProtocol,), {"client_seconds": seconds})


def _cancel_timer(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
