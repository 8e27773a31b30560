"""HTTP/1.1 as uvicorn speaks it, with patience: what a client may hold open, and for how long.

uvicorn itself waits for ever for the first request, for the rest of its headers, and for a client
that takes nothing of what was sent.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 15.0  # seconds for a request's head to be whole, and for a client to take what was sent


class Patient(H11Protocol):
    """Cuts a connection that sends no whole request, or takes no answer, for `patience` seconds."""

    patience: ClassVar[float] = PATIENCE

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._asking: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _forget(self._asking)
        _forget(self._taking)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            _forget(self._asking)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # else the next request was there already
            self._wait_for_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._taking = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _forget(self._taking)

    def _wait_for_request(self) -> None:
        _forget(self._asking)
        self._asking = self.loop.call_later(self.patience, self.transport.abort)


def patient(seconds: float) -> type[Patient]:
    """The protocol with another patience."""
    return type("Patient", (Patient,), {"patience": seconds})


def _forget(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
