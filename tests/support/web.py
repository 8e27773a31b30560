"""The HTTP server of a test: uvicorn on a loopback port, in a thread, with a real client."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from agent.server.access_guard import AccessGuard
from agent.server.app import make_server
from agent.server.research_request import Configure, make_configure
from agent.server.run_manager import Runs
from agent.server.uvicorn_server import Server, uvicorn_config
from agent.settings import parse_settings
from tests.support.services import Services

TOPIC = "Who won the 2022 FIFA World Cup?"


def configure_from(environment: Mapping[str, str], **options: Any) -> Configure:
    """Return the function that reads settings from a test's environment."""
    return make_configure(partial(parse_settings, environment), options)


def online(world: Services, folder: Path, **more: str) -> Web:
    """Return a server that asks the services of a world."""
    return Web(configure_from(world.environment(folder, CACHE_TTL="0", **more)))


class Web:
    """A running server with its `client`; use it as a context manager."""

    def __init__(self, configure: Configure, patience: float = 20.0) -> None:
        app, runs = make_server("127.0.0.1", configure)
        self._listen(app, runs, lifespan=False, patience=patience)

    @classmethod
    def of(cls, app: AccessGuard, runs: Runs) -> Web:
        """Return a server of another application."""
        web = cls.__new__(cls)
        web._listen(app, runs, lifespan=True, patience=20.0)
        return web

    def _listen(self, app: AccessGuard, runs: Runs, *, lifespan: bool, patience: float) -> None:
        self.runs = runs
        config = uvicorn_config(app, "127.0.0.1", 0, lifespan=lifespan, client_seconds=patience)
        self._server = Server(config, runs)
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self.port = self._socket.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Web:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        self.client = httpx2.Client(base_url=self.base, timeout=60, trust_env=False)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.stop()

    def stop(self) -> None:
        """Stop the server as SIGTERM does."""
        self._server.should_exit = True
        self.runs.close()
        self._thread.join()
        self._socket.close()

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._server.server_state.connections)

    def ask(self, question: str = TOPIC, **more: Any) -> httpx2.Response:
        """POST /api/research."""
        return self.client.post("/api/research", json={"question": question, **more})

    def stream(self, question: str = TOPIC, **more: Any) -> list[dict[str, Any]]:
        """POST /api/research/stream; return all frames."""
        body = {"question": question, **more}
        with self.client.stream("POST", "/api/research/stream", json=body) as response:
            assert response.status_code == 200, response.read()
            return list(parse_frames(response.iter_lines()))


def parse_frames(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Parse server-sent events; yield the object in each `data:` with the event's `id`."""
    event_id = ""
    for line in lines:
        if line.startswith("id: "):
            event_id = line.removeprefix("id: ")
        elif line.startswith("data: "):
            yield {"id": int(event_id), **json.loads(line.removeprefix("data: "))}


def wait_until(condition: Any, seconds: float = 60.0) -> None:
    """Wait until a condition is true; fail after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.01)
