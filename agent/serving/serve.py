"""The process that listens: uvicorn, with limits, logs and an end that keeps journals whole."""

from __future__ import annotations

import signal
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from agent.outside import spawn
from agent.serving.guard import MAX_BODY, Guard, policy
from agent.serving.protocol import PATIENCE, patient
from agent.serving.runs import Runs
from agent.settings import Settings

CONNECTIONS = 1000  # at once; one more is told 503
GRACE = 10  # seconds for streams to end after the runs were stopped


class Server(uvicorn.Server):
    """Stops the runs before it waits for their streams."""

    def __init__(self, config: uvicorn.Config, runs: Runs) -> None:
        super().__init__(config)
        self._runs = runs

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        spawn(self._runs.close)  # not here: what a signal interrupts may hold a lock of theirs


def guarded(app: ASGIApp, host: str, settings: Settings, max_body: int = MAX_BODY) -> Guard:
    """An application behind its guard. Raises UsageError for a token that is absent or unusable."""
    allowed = policy(settings.api_token.get_secret_value(), host, settings.api_hosts)
    return Guard(app, allowed, max_body)


def configuration(
    app: Guard, host: str, port: int, *, lifespan: bool = False, patience: float = PATIENCE
) -> uvicorn.Config:
    """How uvicorn serves it: bounded in connections, headers and time."""
    return uvicorn.Config(
        app,
        host,
        port,
        http=patient(patience),
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=16_384,
        ws="none",
        lifespan="on" if lifespan else "off",
    )


def serve(app: Guard, runs: Runs, host: str, port: int, *, lifespan: bool = False) -> int:
    """Serve until SIGTERM or SIGINT; the exit status. Set up the logs first."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn raises it again once it has ended
    try:
        Server(configuration(app, host, port, lifespan=lifespan), runs).run()
    except SystemExit as end:  # it could not listen, and has said why
        return 1 if end.code else 0
    except KeyboardInterrupt:  # likewise
        pass
    runs.wait(GRACE)
    return 0
