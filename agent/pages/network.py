"""Connections of a page reader: address-checked, bounded in time, closed with the reader.

Imported only when a page is read: httpx2 and httpcore2 take 100 ms. The backend of an httpx2
transport has no public interface and is replaced through a private attribute. Therefore `httpx2` is
pinned to a minor version; tests/pages/test_address_guard.py fails if the attribute moves.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2

from agent.calls import run_with_timeout
from agent.calls.transport import (
    bypasses_proxy,
    load_proxies,
    load_tls_context,
    require_library,
)
from agent.errors import ReadFailed
from agent.pages.address_guard import DEFAULT_PORTS, AddressGuard
from agent.pages.wayback import COPY

MAX_ADDRESSES = 4  # IP addresses of one name that are tried, each with a share of the time


class Deadline(threading.local):
    """When the page that this thread reads must be complete. Each thread has its own deadline."""

    def __init__(self) -> None:
        self._at = float("inf")  # on the monotonic clock

    def start(self, seconds: float) -> None:
        """Set this thread's deadline to `seconds` from now."""
        self._at = time.monotonic() + seconds

    def remaining(self, limit: float | None = None) -> float:
        """Seconds to the deadline, at most `limit`. Raises httpcore2.ReadTimeout after it."""
        seconds = self._at - time.monotonic()
        if seconds <= 0:
            raise httpcore2.ReadTimeout("the time for this page is over")
        return seconds if limit is None else min(seconds, limit)


class DeadlineStream(httpcore2.NetworkStream):
    """A connection on which every wait ends at the deadline of the thread that waits.

    With a time-out for each wait alone, a server that sends one byte a second would never end.
    """

    def __init__(self, inner: httpcore2.NetworkStream, backend: GuardedBackend) -> None:
        self._inner = inner
        self._backend = backend
        backend.register(self)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Receive some bytes, within the deadline."""
        return self._inner.read(max_bytes, self._backend.deadline.remaining(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes, within the deadline."""
        self._inner.write(buffer, self._backend.deadline.remaining(timeout))

    def close(self) -> None:
        """Close the socket."""
        self._backend.unregister(self)
        self._inner.close()

    def abort(self) -> None:
        """Shut the socket down, from any thread: whatever waits on it reads an end of file."""
        raw = self._inner.get_extra_info("socket")
        try:
            socket.socket.shutdown(raw, socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        """The same connection under TLS, for the host name of the request."""
        seconds = self._backend.deadline.remaining(timeout)
        self._backend.unregister(self)
        inner = self._inner.start_tls(ssl_context, server_hostname, seconds)
        return DeadlineStream(inner, self._backend)

    def get_extra_info(self, info: str) -> Any:
        """As of the connection itself."""
        return self._inner.get_extra_info(info)


class GuardedBackend(httpcore2.NetworkBackend):
    """Opens connections to addresses that the guard allows, and keeps track of the open ones."""

    def __init__(self, guard: AddressGuard, deadline: Deadline) -> None:
        self.deadline = deadline
        self._guard = guard
        self._sync_backend = httpcore2.SyncBackend()
        self._open_streams: set[DeadlineStream] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Resolve once, check every address, connect to one of them. Raises ReadFailed."""
        addresses = self.resolve(host, port)[:MAX_ADDRESSES]
        for n, address in enumerate(addresses, 1):
            share = self.deadline.remaining(timeout) / (len(addresses) - n + 1)
            try:
                return DeadlineStream(self._sync_backend.connect_tcp(address, port, share), self)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if n == len(addresses):
                    raise
        raise ReadFailed(f"{host}: the name has no address.", outcome="unavailable")

    def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a host, all of which the guard allows. Raises ReadFailed."""
        seconds = self.deadline.remaining()
        try:  # a resolver cannot be interrupted, so its thread is abandoned
            return run_with_timeout(seconds, lambda: self._guard.resolve_and_check(host, port))
        except TimeoutError:
            raise httpcore2.ConnectTimeout("no answer from DNS") from None
        except (OSError, UnicodeError):
            raise ReadFailed(
                f"{host}: no such host, or no network.",
                f"Check the address and the network. {COPY}",
                outcome="unavailable",
            ) from None

    def register(self, stream: DeadlineStream) -> None:
        """Keep track of an open connection; abort it at once if the reader is closed already."""
        with self._lock:
            self._open_streams.add(stream)
            is_closed = self._is_closed
        if is_closed:
            stream.abort()

    def unregister(self, stream: DeadlineStream) -> None:
        """Keep track of a connection no longer."""
        with self._lock:
            self._open_streams.discard(stream)

    def close(self) -> None:
        """Abort every connection, so that threads that wait on one end now."""
        with self._lock:
            self._is_closed = True
            streams = list(self._open_streams)
        for stream in streams:
            stream.abort()


class PageTransport(httpx2.BaseTransport):
    """Sends a request straight to its host, or through the proxy of the environment."""

    def __init__(self, guard: AddressGuard, *, through_proxy: bool) -> None:
        self.deadline = Deadline()
        self._direct_backend = GuardedBackend(guard, self.deadline)
        self._proxy_backend = GuardedBackend(AddressGuard(allow_private=True), self.deadline)
        self._tls_context = load_tls_context()
        self._direct = self._build_transport(None, self._direct_backend)
        self._proxied = {
            scheme: self._build_transport(require_library(proxy), self._proxy_backend)
            for scheme, proxy in (load_proxies() if through_proxy else {}).items()
        }

    def _build_transport(self, proxy: str | None, backend: GuardedBackend) -> httpx2.HTTPTransport:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        transport = httpx2.HTTPTransport(
            verify=self._tls_context, trust_env=False, limits=limits, proxy=proxy
        )
        transport._pool._network_backend = backend
        return transport

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, its body still unread. Raises httpx2's errors and ReadFailed."""
        proxied = self._proxied.get(request.url.scheme)
        if proxied is None or bypasses_proxy(request.url.host):
            return self._direct.handle_request(request)
        return proxied.handle_request(request)

    def check_host(self, url: str) -> None:
        """Raises ReadFailed for a URL whose host may not be connected to.

        Of a host that a proxy resolves, only the proxy knows.
        """
        address = httpx2.URL(url)
        if address.scheme not in self._proxied or bypasses_proxy(address.host):
            port = address.port or DEFAULT_PORTS[address.scheme]
            self._direct_backend.resolve(address.host, port)

    def close(self) -> None:
        """Abort and close every connection."""
        for backend in (self._direct_backend, self._proxy_backend):
            backend.close()
        for transport in (self._direct, *self._proxied.values()):
            transport.close()
