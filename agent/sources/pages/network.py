"""Connections of a page reader: guarded, bounded in time, and closed when the reader is.

Imports httpx2 and httpcore2 (100 ms), so it is itself imported where a page is read. It replaces
the network backend of a transport, for which httpx2 has no public door: `httpx2` is pinned to a
minor version and `test_guard.py` fails if the door moves.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable
from concurrent.futures import TimeoutError as Late
from functools import cache
from typing import Any

import httpcore2
import httpx2

from agent.errors import ReadFailed
from agent.outside import within
from agent.sources.pages.guard import Guard

ADDRESSES = 4  # addresses of one name that are tried, each with its share of the time


class Deadline(threading.local):
    """When the read that this thread is making must be over. Each thread has its own."""

    def __init__(self) -> None:
        self._at = float("inf")

    def set(self, seconds: float) -> None:
        """Start the clock of this thread's read."""
        self._at = time.monotonic() + seconds

    def left(self, asked: float | None = None) -> float:
        """Seconds left, at most `asked`. Raises TimeoutError when there are none."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the time for this page is over")
        return left if asked is None else min(left, asked)


class Stream(httpcore2.NetworkStream):
    """A connection on which no wait outlasts the deadline of the read that uses it.

    A time-out for each wait alone would let a server that drips a byte a second go on for ever.
    """

    def __init__(self, inner: httpcore2.NetworkStream, network: Network) -> None:
        self._inner = inner
        self._network = network
        network.opened(self)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes, within the deadline."""
        return self._inner.read(max_bytes, self._network.deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes, within the deadline."""
        self._inner.write(buffer, self._network.deadline.left(timeout))

    def close(self) -> None:
        """Close the socket."""
        self._network.closed(self)
        self._inner.close()

    def abort(self) -> None:
        """Wake whoever waits on this connection, from any thread: it reads an end of file."""
        raw = self._inner.get_extra_info("socket")
        try:
            socket.socket.shutdown(raw, socket.SHUT_RDWR)
        except OSError:
            return  # it was closed meanwhile

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        """The same connection under TLS, for the name that was asked for."""
        left = self._network.deadline.left(timeout)
        self._network.closed(self)
        return Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._network)

    def get_extra_info(self, info: str) -> Any:
        """Whatever the connection itself tells."""
        return self._inner.get_extra_info(info)


class Network(httpcore2.NetworkBackend):
    """Opens connections to the addresses that the guard let pass, and knows the open ones."""

    def __init__(self, guard: Guard, deadline: Deadline) -> None:
        self.deadline = deadline
        self._guard = guard
        self._backend = httpcore2.SyncBackend()
        self._open: set[Stream] = set()
        self._lock = threading.Lock()
        self._over = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Resolve once, check every address, connect to one of those. Raises ReadFailed."""
        addresses = self._addresses(host, port)[:ADDRESSES]
        for n, address in enumerate(addresses, 1):
            share = self.deadline.left(timeout) / (len(addresses) - n + 1)
            try:
                return Stream(self._backend.connect_tcp(address, port, share), self)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if n == len(addresses):
                    raise
        raise ReadFailed(f"{host}: the name has no address.", outcome="unavailable")

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Never: a page is not read from this machine's own services."""
        raise ReadFailed("A unix socket is not a page.", outcome="forbidden")

    def _addresses(self, host: str, port: int) -> list[str]:
        try:  # a resolver cannot be interrupted, so it is given up
            return within(self.deadline.left(), lambda: self._guard.addresses(host, port))
        except Late:
            raise httpcore2.ConnectTimeout("no answer from DNS") from None
        except (OSError, UnicodeError):
            raise ReadFailed(
                f"{host}: no such host, or no network.",
                "Check the address and the network.",
                outcome="unavailable",
            ) from None

    def opened(self, stream: Stream) -> None:
        """Remember an open connection; cut it at once if the reader is closed already."""
        with self._lock:
            self._open.add(stream)
            over = self._over
        if over:
            stream.abort()

    def closed(self, stream: Stream) -> None:
        """Forget a connection."""
        with self._lock:
            self._open.discard(stream)

    def close(self) -> None:
        """Cut every connection, so that threads that wait on one end now."""
        with self._lock:
            self._over = True
            streams = list(self._open)
        for stream in streams:
            stream.abort()


class Transport(httpx2.BaseTransport):
    """Sends a request straight to its host, or through the proxy of the environment."""

    def __init__(self, guard: Guard, *, through_proxy: bool) -> None:
        self.deadline = Deadline()
        self._guarded = Network(guard, self.deadline)
        self._to_proxy = Network(Guard(allow_private=True), self.deadline)
        self._context = _trusted(ssl.get_default_verify_paths())
        self._direct = self._transport(None, self._guarded)
        self._proxies = {
            scheme: self._transport(proxy, self._to_proxy)
            for scheme, proxy in (_proxies() if through_proxy else {}).items()
        }

    def _transport(self, proxy: str | None, network: Network) -> httpx2.HTTPTransport:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        transport = httpx2.HTTPTransport(
            verify=self._context, trust_env=False, limits=limits, proxy=proxy
        )
        transport._pool._network_backend = network
        return transport

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, its body still unread. Raises httpx2's errors and ReadFailed."""
        via = self._proxies.get(request.url.scheme)
        if via is None or _bypassed(request.url.host):
            return self._direct.handle_request(request)
        return via.handle_request(request)

    def close(self) -> None:
        """Cut and close every connection."""
        for network in (self._guarded, self._to_proxy):
            network.close()
        for transport in (self._direct, *self._proxies.values()):
            transport.close()


@cache
def _trusted(_: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """Whose certificates count, by where they lie; kept, since making it takes 20 ms."""
    return httpx2.create_ssl_context(trust_env=True)


def _proxies() -> dict[str, str]:
    """The proxies of the environment or the system by scheme, as curl and requests know them."""
    from urllib.request import getproxies

    known = getproxies()
    every = known.get("all")
    found = {scheme: known.get(scheme) or every for scheme in ("http", "https")}
    return {s: p if "://" in p else f"http://{p}" for s, p in found.items() if p}


def _bypassed(host: str) -> bool:
    from urllib.request import proxy_bypass

    return bool(proxy_bypass(host))
