"""What a network can do to a search: every call ends at its deadline, in a translated failure."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable

import pytest

from agent.calls.http import MAX_BYTES
from agent.errors import SearchFailed
from tests.support.page_server import Connection, PageServer
from tests.support.search_wire import failure, service

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Answer = Callable[[Connection], None]


def failure_of(answer: Answer, timeout: float = 20.0) -> SearchFailed:
    with PageServer({"/search": answer}) as server:
        return failure(service("serpapi", server.url, timeout=timeout))


@pytest.mark.parametrize("start", [HEAD + b"\r\n", b"HTTP/1.1 200 OK\r\nX-Slow: ", b""])
def test_drips_end_at_the_deadline(start: bytes) -> None:
    """Each byte comes in time, the whole never does; or nothing comes at all."""

    def answer(connection: Connection) -> None:
        connection.send(start)
        connection.drip(b" " * 1000, 0.02 if start else 1)

    error = failure_of(answer, timeout=0.1)
    assert (error.outcome, error.message) == ("timeout", "no answer within 0.1 s")


@pytest.mark.parametrize(
    "answer",
    [
        lambda c: c.reset(),
        lambda c: c.send(HEAD + b'Content-Length: 99\r\n\r\n{"results":'),
        lambda c: c.send(HEAD + b"Content-Encoding: gzip\r\n\r\nno gzip"),
        lambda c: c.send(b"garbage\r\n\r\n"),
    ],
    ids=["reset", "cut", "broken gzip", "no HTTP"],
)
def test_broken_connections(answer: Answer) -> None:
    error = failure_of(answer)
    assert error.outcome == "unavailable"
    assert error.message.startswith("the connection to 127.0.0.1 failed (")


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    error = failure(service("exa", base))
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
    reply = HEAD + make_reply()
    error = failure_of(lambda connection: connection.send(reply))
    assert error.outcome == "invalid"
    assert error.message == f"the reply is larger than {MAX_BYTES} bytes"
