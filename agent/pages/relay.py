"""The only way out of the browser: a proxy on loopback that connects to what the guard allows.

The browser resolves no name itself and reaches nothing but this proxy, so redirects, frames, web
sockets, beacons and names that change their address all come by here.
"""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

from agent.errors import ReadFailed
from agent.pages.guard import DEFAULT_PORTS, AddressGuard

MAX_HEAD = 65_536  # bytes of a request's head
MAX_BYTES = 40_000_000  # that a page with all its parts may load
MAX_CONNECTIONS = 300  # that a page may make
WAIT = 15.0  # seconds for a connection, and for the next byte
CHUNK = 65_536


class GuardedRelay(ThreadingTCPServer):
    """Serves one page of a browser until it is closed. Refuses what the guard does."""

    daemon_threads = True
    block_on_close = False  # a thread that waits ends with its connection

    def __init__(self, guard: AddressGuard) -> None:
        super().__init__(("127.0.0.1", 0), _Relayed)
        self._guard = guard
        self._lock = threading.Lock()
        self._bytes_left, self._connections_left = MAX_BYTES, MAX_CONNECTIONS
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def connect(self, url: str) -> socket.socket:
        """A connection to the host of a URL. Raises ReadFailed and OSError."""
        with self._lock:
            self._connections_left -= 1
            if self._connections_left < 0:
                raise ReadFailed("the page makes too many connections.", outcome="forbidden")
        self._guard.check_url(url)
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]
        address = self._guard.resolve_and_check(host, port)[0]
        return socket.create_connection((address, port), WAIT)

    def count(self, size: int) -> bool:
        """Count bytes that were loaded; whether more may be."""
        with self._lock:
            self._bytes_left -= size
            return self._bytes_left > 0

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that broke is the page's loss."""

    def close(self) -> None:
        """Take no connection any more."""
        self.shutdown()
        self.server_close()


class _Relayed(StreamRequestHandler):
    """A connection of the browser: `CONNECT host:port`, or a request for an http address."""

    server: GuardedRelay
    rbufsize = 0  # nothing behind the head is taken

    def handle(self) -> None:
        head = self._read_head()
        line, _, fields = head.partition(b"\r\n")
        words = line.decode("latin-1").split(" ")
        if len(words) != 3:
            return
        method, target, version = words
        is_tunnel = method == "CONNECT"
        try:
            outside = self.server.connect(f"https://{target}/" if is_tunnel else target)
        except (ReadFailed, OSError, UnicodeError):
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        with outside:
            if is_tunnel:
                self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:
                parts = urlsplit(target)
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                outside.sendall(f"{method} {path} {version}\r\n".encode("latin-1"))
                outside.sendall(_close_after(fields))
            self._relay(outside, is_tunnel=is_tunnel)

    def _read_head(self) -> bytes:
        """A request up to the empty line after its fields."""
        head = b""
        while not head.endswith(b"\r\n\r\n") and len(head) < MAX_HEAD:
            line = self.rfile.readline(MAX_HEAD)
            if not line:
                break
            head += line
        return head

    def _relay(self, outside: socket.socket, *, is_tunnel: bool) -> None:
        """Pass bytes both ways until one side ends, or the page has loaded enough.

        Outside a tunnel what the browser sends after an answer is another request, perhaps for
        another host: it is sent again on a connection of its own.
        """
        browser = self.connection
        has_answered = False
        other = {browser: outside, outside: browser}
        with suppress(OSError, ValueError):
            while ready := select.select(list(other), [], [], WAIT)[0]:
                for one in ready:
                    data = one.recv(CHUNK)
                    is_next = has_answered and one is browser and not is_tunnel
                    if not data or is_next or not self.server.count(len(data)):
                        return
                    has_answered |= one is outside
                    other[one].sendall(data)


def _close_after(fields: bytes) -> bytes:
    """The fields of a request, with which the server closes the connection after its answer."""
    kept = [
        line
        for line in fields.rstrip(b"\r\n").split(b"\r\n")
        if not line.lower().startswith((b"proxy-", b"connection:", b"keep-alive:"))
    ]
    return b"\r\n".join((*kept, b"Connection: close")) + b"\r\n\r\n"
