"""A mail server on loopback, which keeps what it is sent."""

from __future__ import annotations

import socketserver
import threading
from typing import Self


class MailServer:
    """Speaks SMTP (RFC 5321) without TLS, as a relay on the user's own machine does."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.refuses = False
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"smtp://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(server: MailServer) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

        def handle(self) -> None:
            self.say("220 mail.example ESMTP")
            while line := self.rfile.readline().decode():
                word = line[:4].upper().strip()
                if word == "DATA":
                    self.say("354 go on")
                    lines = iter(self.rfile.readline, b".\r\n")
                    server.messages.append(b"".join(lines).decode())
                if word == "QUIT":
                    self.say("221 bye")
                    return
                is_refused = word == "RCPT" and server.refuses
                self.say("550 no such user" if is_refused else "250 ok")

    return Handler
