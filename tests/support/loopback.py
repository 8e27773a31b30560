"""A server on loopback for the time of a `with` block."""

from __future__ import annotations

import socketserver
import threading
from http.server import ThreadingHTTPServer
from typing import Any, Self


class Queueing(ThreadingHTTPServer):
    """A server at which many may knock at once: past the default of 5 a knock is lost for 1 s."""

    request_queue_size = 64


class Loopback:
    """Serves each connection in a thread; `is_over` is set at the end."""

    def __init__(self, handler: Any, server: type[socketserver.ThreadingMixIn] = Queueing) -> None:
        self.is_over = threading.Event()
        self._server: Any = server(("127.0.0.1", 0), handler)  # type: ignore[call-arg]
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.base = f"http://{self.host}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self._server.shutdown()
        self._server.server_close()
