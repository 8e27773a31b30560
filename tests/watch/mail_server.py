"""A mail server on loopback, which keeps what it is sent."""

from __future__ import annotations

import socketserver

from tests.support.loopback import Loopback


class MailServer(Loopback):
    """Speaks SMTP (RFC 5321) without TLS, as a relay on the user's own machine does."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.refuses = False
        super().__init__(_handler(self), socketserver.ThreadingTCPServer)
        self.url = f"smtp://{self.host}"


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
