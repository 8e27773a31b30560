"""A web server on loopback that can misbehave in any way, since it writes to raw sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

PAGE = b"<html><head><title>%s</title></head><body><article><h1>%s</h1><p>%s</p></article></body>"
WORDS = b"A page has words, and these are enough of them for anyone to call it a page. " * 4


def html(title: str = "A page") -> bytes:
    """Return an ordinary page."""
    name = title.encode()
    return PAGE % (name, name, WORDS)


def reply(body: bytes = b"", status: str = "200 OK", *headers: str) -> bytes:
    """Return a complete HTTP response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


Answer = bytes | Callable[["Connection"], None]


class Connection:
    """One request, and the socket to answer it on."""

    def __init__(self, server: PageServer, sock: socket.socket, head: str) -> None:
        self.server = server
        self.sock = sock
        self.head = head

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def drip(self, data: bytes, pause: float) -> None:
        """Send byte by byte until the client disconnects or the server stops."""
        for byte in data:
            if self.server.stopping.wait(pause):
                return
            self.sock.sendall(bytes([byte]))

    def hang(self) -> None:
        """Send nothing until the server stops."""
        self.server.stopping.wait(20)

    def reset(self) -> None:
        """Reset the connection."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()


class PageServer:
    """Answers by path; `request_heads` keeps the head of each request, `connections` counts."""

    def __init__(self, answers: dict[str, Answer] | None = None, host: str = "127.0.0.1") -> None:
        self.answers: dict[str, Answer] = answers or {}
        self.request_heads: list[str] = []
        self.connections = 0
        self.busiest = 0
        self.stopping = threading.Event()
        self._busy = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._socket = socket.create_server((host, 0))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{host}:{self.port}"

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(5)

    @property
    def paths(self) -> list[str]:
        """The requested paths, in order."""
        with self._lock:
            return [head.split(" ")[1] for head in self.request_heads]

    def _run(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
            self._run(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            sock.settimeout(0.2)
            while not self.stopping.is_set() and (head := self._head(sock)):
                with self._lock:
                    self.request_heads.append(head)
                    self._busy += 1
                    self.busiest = max(self.busiest, self._busy)
                try:
                    self._answer(sock, head)
                except OSError:
                    return
                finally:
                    with self._lock:
                        self._busy -= 1

    def _head(self, sock: socket.socket) -> str:
        data = b""
        while b"\r\n\r\n" not in data and not self.stopping.is_set():
            try:
                if not (piece := sock.recv(65536)):
                    return ""
            except TimeoutError:
                continue
            except OSError:
                return ""
            data += piece
        return data.decode("latin-1")

    def _answer(self, sock: socket.socket, head: str) -> None:
        path = head.split(" ")[1].partition("?")[0]
        missing = reply(b"no", "404 Not Found") if path == "/robots.txt" else reply(html())
        answer = self.answers.get(path, missing)
        if isinstance(answer, bytes):
            sock.sendall(answer)
        else:
            answer(Connection(self, sock, head))
            sock.close()


def wait_for(condition: Callable[[], bool], seconds: float = 3.0) -> bool:
    """Whether a condition becomes true within so many seconds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()
