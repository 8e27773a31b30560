"""A server on loopback that answers every request with the bytes that it was last given."""

from __future__ import annotations

import socket
import threading


class LoopbackServer:
    """One thread that answers one request a connection. `url` is its address."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.response = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def answer_json(self, body: bytes, status: str = "200 OK") -> None:
        """Answer with a body, its length and the type of JSON."""
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        self.response = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _serve(self) -> None:
        while True:
            client, _ = self._socket.accept()
            try:
                self._answer(client)
            except OSError:
                continue  # the program under test has closed it
            finally:
                client.close()

    def _answer(self, client: socket.socket) -> None:
        """Answer when the whole request has come: a close before that would reset it."""
        client.settimeout(5)
        request = b""
        while b"\r\n\r\n" not in request:
            if not (piece := client.recv(65_536)):
                return
            request += piece
        head, _, body = request.partition(b"\r\n\r\n")
        missing = _content_length(head) - len(body)
        while missing > 0 and (piece := client.recv(65_536)):
            missing -= len(piece)
        client.sendall(self.response)
        client.shutdown(socket.SHUT_WR)


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0
