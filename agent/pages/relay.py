"""The only connection of the browser: a proxy on loopback that applies the address guard.

The browser resolves no name itself, so redirects, frames, web sockets, beacons and DNS rebinding
all pass here. It uses the proxy of the environment where pages are fetched through one.
"""

from __future__ import annotations

import base64
import select
import socket
import threading
from contextlib import suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer
from urllib.parse import SplitResult, unquote, urlsplit

from agent.calls.transport import bypasses_proxy, load_proxies
from agent.errors import ReadFailed
from agent.pages.address_guard import DEFAULT_PORTS, AddressGuard

MAX_HEAD = 65_536  # bytes of a request's head
MAX_BYTES = 40_000_000  # that a page with all its parts may load
MAX_CONNECTIONS = 300  # that a page may make
WAIT = 15.0  # seconds for a connection, and for the next byte
CHUNK = 65_536


class GuardedRelay(ThreadingTCPServer):
    """Serves one page of a browser until it is closed. Refuses what the guard does."""

    daemon_threads = True
    block_on_close = False  # a thread that waits ends with its connection

    def __init__(self, guard: AddressGuard, *, through_proxy: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Relayed)
        self._guard = guard
        self._proxies = load_proxies() if through_proxy else {}
        self._lock = threading.Lock()
        self._bytes_left, self._connections_left = MAX_BYTES, MAX_CONNECTIONS
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def find_proxy(self, url: str) -> SplitResult | None:
        """The proxy for a URL; None where its host is connected to. Raises ReadFailed.

        Raises ValueError for what is no URL.
        """
        parts = urlsplit(url)
        address = self._proxies.get(parts.scheme)
        if not address or bypasses_proxy(parts.hostname or ""):
            return None
        proxy = urlsplit(address)
        if proxy.scheme != "http" or not proxy.hostname:
            fault = f"{parts.hostname}: the browser goes through proxies of http alone."
            raise ReadFailed(fault, "Turn it off with --browser never.", outcome="unsupported")
        return proxy

    def connect(self, url: str) -> socket.socket:
        """A connection to the host of a URL, or to its proxy. Raises ReadFailed and OSError."""
        with self._lock:
            self._connections_left -= 1
            if self._connections_left < 0:
                raise ReadFailed("the page makes too many connections.", outcome="forbidden")
        self._guard.check_url(url)
        if proxy := self.find_proxy(url):
            return socket.create_connection((proxy.hostname or "", proxy.port or 80), WAIT)
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
        url = f"https://{target}/" if is_tunnel else target
        try:
            proxy = self.server.find_proxy(url)
            upstream = self.server.connect(url)
        except (ReadFailed, OSError, ValueError):
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        with upstream:
            if is_tunnel and not proxy:
                self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:
                asked = target if proxy else _cut_path(target)
                upstream.sendall(f"{method} {asked} {version}\r\n".encode("latin-1"))
                upstream.sendall(_write_fields(fields, proxy, is_tunnel=is_tunnel))
            self._relay(upstream, is_tunnel=is_tunnel)

    def _read_head(self) -> bytes:
        head = b""
        while not head.endswith(b"\r\n\r\n") and len(head) < MAX_HEAD:
            line = self.rfile.readline(MAX_HEAD)
            if not line:
                break
            head += line
        return head

    def _relay(self, upstream: socket.socket, *, is_tunnel: bool) -> None:
        """Pass bytes both ways until one side ends, or the page has loaded enough.

        Without a tunnel what the browser sends after an answer is another request, perhaps for
        another host: it is sent again on a connection of its own.
        """
        browser = self.connection
        has_answered = False
        other = {browser: upstream, upstream: browser}
        with suppress(OSError, ValueError):
            while ready := select.select(list(other), [], [], WAIT)[0]:
                for one in ready:
                    data = one.recv(CHUNK)
                    is_next = has_answered and one is browser and not is_tunnel
                    if not data or is_next or not self.server.count(len(data)):
                        return
                    has_answered |= one is upstream
                    other[one].sendall(data)


def _cut_path(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _write_fields(fields: bytes, proxy: SplitResult | None, *, is_tunnel: bool) -> bytes:
    """The fields of a request, with the proxy's password where it has one.

    Without a tunnel the server closes the connection after its answer.
    """
    dropped = (b"proxy-",) if is_tunnel else (b"proxy-", b"connection:", b"keep-alive:")
    lines = fields.rstrip(b"\r\n").split(b"\r\n")
    kept = [line for line in lines if line and not line.lower().startswith(dropped)]
    kept += [] if is_tunnel else [b"Connection: close"]
    if proxy and proxy.username:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        kept.append(b"Proxy-Authorization: Basic " + base64.b64encode(user.encode()))
    return b"\r\n".join(kept) + b"\r\n\r\n"
