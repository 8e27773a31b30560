"""A server on loopback that belongs to an attacker: it keeps all that it is sent."""

from __future__ import annotations

import socketserver
from contextlib import suppress

from tests.support.loopback import Loopback


class Catcher(Loopback):
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

        super().__init__(Handler, socketserver.ThreadingTCPServer)

    @property
    def text(self) -> str:
        """All that came, as Latin-1."""
        return b"".join(self.requests).decode("latin-1")
