"""The server process: uvicorn with limits, and a shutdown that completes the journals of runs."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from starlette.types import ASGIApp

from agent.outside import spawn
from agent.serving.guard import MAX_BODY, AccessGuard, make_policy
from agent.serving.process import prepare_process, release_memory
from agent.serving.protocol import CLIENT_SECONDS, protocol_with_timeout
from agent.serving.runs import Runs
from agent.settings import Settings

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
