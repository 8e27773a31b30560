"""What a network can do to a search: every call ends at its deadline, in a translated failure."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests

from agent.calls.http import MAX_BYTES
from agent.search.provider_chain import Provider
from tests.support.search_wire import KEY, SERVICES, failure, service, wire

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

Serve = Callable[[socket.socket], object]


@contextmanager
def peer(serve: Serve) -> Iterator[str]:
    """A raw server on loopback: each connection, once a request has come, is handed over."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        request_of(connection)
                        serve(connection)
                    except OSError:
                        continue

        threading.Thread(target=run, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def request_of(connection: socket.socket) -> bytes:
    """The first line, once all is read: closing with a part of it unread would be a reset."""
    with connection.makefile("rb") as stream:
        lines = list(iter(stream.readline, b"\r\n"))
        for line in lines:
            if line.lower().startswith(b"content-length:"):
                stream.read(int(line[15:]))
    return lines[0]


def hang(connection: socket.socket) -> None:
    """Say nothing for as long as the client is there."""
    connection.recv(1)


def dripping(first: bytes, drop: bytes) -> Serve:
    """Send a drop now and then for as long as the client is there."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            time.sleep(0.02)
            connection.sendall(drop)

    return serve


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def ends_in_time(provider: Provider) -> None:
    error = failure(provider)
    assert error.outcome == "timeout" and error.message == "no answer within 0.1 s"


@pytest.mark.parametrize("name", list(SERVICES))
def test_hangs_end_at_the_deadline(name: str) -> None:
    with peer(hang) as base:
        ends_in_time(service(name, base, timeout=0.1))


@pytest.mark.parametrize(
    "serve",
    [
        dripping(HEAD + b"Content-Length: 5000\r\n\r\n", b" "),
        dripping(HEAD + b"\r\n", b" "),
        dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
        dripping(b"", b"H"),
    ],
    ids=["length", "no length", "chunks", "headers", "status line"],
)
def test_drips_end_at_the_deadline(serve: Serve) -> None:
    """Each byte comes in time, the whole never does."""
    for name in ("exa", "serpapi"):
        with peer(serve) as base:
            ends_in_time(service(name, base, timeout=0.1))


@pytest.mark.parametrize("name", list(SERVICES))
@pytest.mark.parametrize(
    "serve",
    [
        lambda c: None,
        reset,
        lambda c: c.sendall(HEAD + b'Content-Length: 99\r\n\r\n{"results":'),
        lambda c: c.sendall(HEAD + b'Transfer-Encoding: chunked\r\n\r\n5\r\n{"re'),
        lambda c: c.sendall(HEAD + b"Content-Encoding: gzip\r\n\r\nno gzip"),
        lambda c: c.sendall(b"garbage\r\n\r\n"),
    ],
    ids=["closed", "reset", "cut", "cut in a chunk", "broken gzip", "no HTTP"],
)
def test_broken_connections(name: str, serve: Serve) -> None:
    with peer(serve) as base:
        error = failure(service(name, base))
    assert error.outcome == "unavailable" and error.message.startswith(
        "the connection to 127.0.0.1 failed ("
    )


def test_a_connection_that_does_not_come_about() -> None:
    with wire("exa", body=requests.ConnectTimeout(KEY)):
        error = failure(service("exa"))
    assert (error.outcome, error.message) == ("timeout", "no connection within 5 s")


def test_a_deadline_leaves_no_thread_behind() -> None:
    """The reader itself stops too, soon after nobody waits for it any more."""
    before = set(threading.enumerate())
    with peer(dripping(HEAD + b"\r\n", b" ")) as base:
        ends_in_time(service("exa", base, timeout=0.1))
        until = time.monotonic() + 30
        while len(set(threading.enumerate()) - before) > 1 and time.monotonic() < until:
            time.sleep(0.01)
        assert len(set(threading.enumerate()) - before) == 1  # that of the peer


@pytest.mark.parametrize("name", list(SERVICES))
def test_nobody_there(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    error = failure(service(name, base))
    assert error.message == "the connection to 127.0.0.1 failed (ConnectionRefusedError)"
    assert "proxy" in error.remedy and "_URL" in error.remedy


@pytest.mark.slow
@pytest.mark.parametrize(
    "make_reply",
    [
        lambda: b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b" " * 200_000_000, 1),
        lambda: b"\r\n" + b" " * (MAX_BYTES + 100_000),
    ],
    ids=["compression bomb", "plain"],
)
def test_huge_replies_are_cut_off(make_reply: Callable[[], bytes]) -> None:
    reply = make_reply()
    with peer(lambda connection: connection.sendall(HEAD + reply)) as base:
        error = failure(service("exa", base))
    assert error.message == f"the reply is larger than {MAX_BYTES} bytes"
    assert error.outcome == "invalid"


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    reply: dict[str, Any] = SERVICES["exa"].good
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def run() -> None:
            connection, _ = proxy.accept()
            with connection:
                seen.append(request_of(connection))
                connection.sendall(HEAD + b"\r\n" + json.dumps(reply).encode())

        threading.Thread(target=run, daemon=True).start()
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        assert service("exa", "http://gate.example").search("q")
    assert seen[0].startswith(b"POST http://gate.example/search ")
