"""A server on loopback that belongs to an attacker: it keeps all that it is sent."""

from __future__ import annotations

import socketserver
import threading
from contextlib import suppress


class Catcher:
    """Keeps the first bytes of each connection, of any protocol; use it as a context manager.

    `location`: where each request is redirected to; "" closes the connection.
    """

    def __init__(self, status: int = 307, location: str = "") -> None:
        self.requests: list[bytes] = []
        reply = f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        catcher = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):
                    catcher.requests.append(self.request.recv(65536))
                    if location:
                        self.request.sendall(reply.encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Catcher:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def text(self) -> str:
        """All that came, as Latin-1."""
        return b"".join(self.requests).decode("latin-1")
