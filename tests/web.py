"""The HTTP server of a test: uvicorn on a loopback port, in a thread, asked by a real client."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from agent.server.app import served
from agent.serving.asked import Configure
from agent.serving.guard import Guard
from agent.serving.runs import Runs
from agent.serving.serve import Server, configuration
from agent.settings import load

TOPIC = "Who won the 2022 FIFA World Cup?"


def configured(environment: Mapping[str, str], **options: Any) -> Configure:
    """Settings from an environment of the test's own."""
    return lambda given: load(environment, **{**options, **given})


class Web:
    """A server; use it as a context. `client` asks it."""

    def __init__(self, configure: Configure, patience: float = 20.0) -> None:
        app, runs = served("127.0.0.1", configure)
        self._listen(app, runs, lifespan=False, patience=patience)

    @classmethod
    def of(cls, app: Guard, runs: Runs) -> Web:
        """A server of another application."""
        web = cls.__new__(cls)
        web._listen(app, runs, lifespan=True, patience=20.0)
        return web

    def _listen(self, app: Guard, runs: Runs, *, lifespan: bool, patience: float) -> None:
        self.runs = runs
        config = configuration(app, "127.0.0.1", 0, lifespan=lifespan, patience=patience)
        self._server = Server(config, runs)
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self.port = self._socket.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Web:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        self.client = httpx2.Client(base_url=self.base, timeout=20, trust_env=False)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.stop()

    def stop(self) -> None:
        """End it as SIGTERM does."""
        self._server.should_exit = True
        self.runs.close()
        self._thread.join()
        self._socket.close()

    @property
    def connections(self) -> int:
        """How many connections the server holds."""
        return len(self._server.server_state.connections)

    def ask(self, question: str = TOPIC, **more: Any) -> httpx2.Response:
        """POST /api/research."""
        return self.client.post("/api/research", json={"question": question, **more})

    def stream(self, question: str = TOPIC, **more: Any) -> list[dict[str, Any]]:
        """All frames of POST /api/research/stream."""
        body = {"question": question, **more}
        with self.client.stream("POST", "/api/research/stream", json=body) as response:
            assert response.status_code == 200, response.read()
            return list(frames(response.iter_lines()))


def frames(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Server-sent events as what is in `data:`, with the event's `id`."""
    name = ""
    for line in lines:
        if line.startswith("id: "):
            name = line.removeprefix("id: ")
        elif line.startswith("data: "):
            yield {"id": int(name), **json.loads(line.removeprefix("data: "))}


def until(condition: Any, seconds: float = 10.0) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)
