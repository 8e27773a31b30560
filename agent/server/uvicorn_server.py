"""The server process: uvicorn with limits, and a shutdown that completes the journals of runs."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import signal
import sys
from functools import cache
from types import FrameType
from typing import Any, ClassVar

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from agent.calls import spawn
from agent.server.access_guard import MAX_BODY, AccessGuard, make_policy
from agent.server.run_manager import Runs
from agent.settings import Settings

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


MAX_CONNECTIONS = 1000  # at once; one more is answered 503
MAX_THREADS = 8  # of requests that read files or begin runs; each more would delay the loop
GRACE = 10  # seconds for streams to end after the runs were stopped


class Server(uvicorn.Server):
    """Stops the runs before it waits for their streams, and bounds the threads of requests."""

    def __init__(self, config: uvicorn.Config, runs: Runs) -> None:
        super().__init__(config)
        self._runs = runs

    async def startup(self, sockets: list[Any] | None = None) -> None:
        current_default_thread_limiter().total_tokens = MAX_THREADS
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        spawn(self._runs.close)  # in a thread: the interrupted code may hold a lock that it needs


def guard_app(app: ASGIApp, host: str, settings: Settings, max_body: int = MAX_BODY) -> AccessGuard:
    """An application behind its access guard. Raises UsageError as `make_policy` does."""
    policy = make_policy(settings.api_token.get_secret_value(), host, settings.api_hosts)
    return AccessGuard(app, policy, max_body)


def uvicorn_config(
    app: AccessGuard,
    host: str,
    port: int,
    *,
    lifespan: bool = False,
    client_seconds: float = CLIENT_SECONDS,
) -> uvicorn.Config:
    """The configuration of uvicorn, with limits on connections, headers and time."""
    return uvicorn.Config(
        app,
        host,
        port,
        http=protocol_with_timeout(client_seconds),
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
        loop="auto",  # uvloop where it is installed: it waits for the interpreter's lock less often
        h11_max_incomplete_event_size=16_384,
        ws="none",
        lifespan="on" if lifespan else "off",
    )


def serve(app: AccessGuard, runs: Runs, host: str, port: int, *, lifespan: bool = False) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit status. Logging is to be configured first."""
    prepare_process()
    runs.on_idle = release_memory
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn raises it again once it has ended
    try:
        Server(uvicorn_config(app, host, port, lifespan=lifespan), runs).run()
    except SystemExit as end:  # it cannot listen, and has logged why
        return 1 if end.code else 0
    except KeyboardInterrupt:  # raised by uvicorn after a shutdown by SIGINT
        pass
    runs.wait(GRACE)
    return 0


# --- what the process sets for itself, so that it answers and stays small under load -------------


#: How long a thread may hold the interpreter's lock while others wait, in seconds; Python's own
#: value is 0.005. The event loop takes the lock anew after each wait, behind every run that
#: computes. Found with `python -m evals.benchmarks.server`: re-run it after a change. Below
#: 0.0005 the switches themselves cost more than they gain.
SWITCH_SECONDS = 0.0005
#: Heaps of glibc; its own value is 8 for each core. Each keeps the most that its threads ever
#: needed, and threads come and go with runs. They take turns at the lock, so two are enough.
HEAPS = 2
_M_ARENA_MAX = -8  # of <malloc.h>


def prepare_process() -> None:
    """Share the interpreter's lock evenly and bound the heaps; before the first thread starts."""
    sys.setswitchinterval(SWITCH_SECONDS)
    if libc := _glibc():
        libc.mallopt(_M_ARENA_MAX, HEAPS)


def release_memory() -> None:
    """Free what runs have left, and give it back to the system where the C library can (glibc).

    To be called while no run is running: it holds the interpreter's lock for up to 0.05 s.
    """
    _freeze_imports()
    gc.collect()
    if libc := _glibc():
        libc.malloc_trim(0)


@cache
def _freeze_imports() -> None:
    """Once: leave all that lives now, nearly all of it imported, out of garbage collections.

    Each of them would hold the interpreter's lock for 0.1 s, also one made here beforehand.
    """
    gc.freeze()


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library of this process where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
