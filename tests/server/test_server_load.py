"""The server under load and under attack: it goes on answering others. Asked over raw sockets."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.web import TOPIC, Web

ROOT = Path(__file__).parents[2]
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server process over the demo corpus: it shares no lock with the tests."""
    folder = tmp_path_factory.mktemp("process")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "agent.cli", "serve", "--offline", "--port", str(port)]
    environment = {"RUNS_DIR": f"{folder}/runs", "CACHE_DIR": f"{folder}/cache"}
    environment |= {"PYTHONPATH": str(ROOT), "HOME": str(folder)}
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE)
    assert process.stderr
    while b"running on" not in process.stderr.readline():
        assert process.poll() is None
    with process.stderr, ThreadPoolExecutor(1) as pool:
        pool.submit(process.stderr.read)  # else its log fills the pipe
        yield f"http://127.0.0.1:{port}"
        process.terminate()
    assert process.wait(30) == 0


def send_raw(web: Web, request: bytes) -> bytes:
    """All that the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", web.port), 10) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("coding", ["Chunked", "identity", "gzip, chunked"])
def test_a_body_with_two_lengths_is_refused_and_nothing_after_it_is_read(
    web: Web, coding: str, order: int
) -> None:
    """A proxy that takes the one length would hand us a second request inside the first."""
    lengths = ["Content-Length: 4", f"Transfer-Encoding: {coding}"][::order]
    head = "\r\n".join(["POST /api/research HTTP/1.1", "Host: localhost", *lengths, "", ""])
    hidden = b"0\r\n\r\nGET /api/runs HTTP/1.1\r\nHost: localhost\r\n\r\n"
    reply = send_raw(web, head.encode() + hidden)
    assert reply[9:12] in (b"400", b"501") and reply.count(b"HTTP/1.1 ") == 1


def test_a_length_that_is_none_is_refused(web: Web) -> None:
    values = ("4\r\nContent-Length: 5", -1, "9" * 5000, "1e3")
    odd = [f"Content-Length: {value}" for value in values]
    for length in (*odd, "Transfer-Encoding: gzip"):
        head = "\r\n".join(["POST /api/research HTTP/1.1", "Host: localhost", length, "", ""])
        reply = send_raw(web, head.encode() + b"0\r\n\r\n")
        assert reply[9:10] in (b"4", b"5") and reply[9:12] != b"500", length
    assert web.client.get("/api/health").status_code == 200


NAMES = ["localhost", "LOCALHOST:9", "127.0.0.1:65535", "[::1]:80"]
REBOUND = ["evil.example:80", "127.0.0.1.evil.example", "", "[::2]", "a@localhost"]
ABSURD = ["127.0.0.1:" + "9" * 20, "127.0.0.1:65536", "localhost:", "localhost:x", "[::1]:1e3"]


@pytest.mark.parametrize("host", [*NAMES, *REBOUND, *ABSURD])
def test_only_our_own_names_are_answered(web: Web, host: str) -> None:
    """Another one was rebound to us, or has a port that another server may read otherwise."""
    status = 200 if host in NAMES else 421
    assert web.client.get("/api/runs", headers={"Host": host}).status_code == status


def nest(depth: int, opened: str = '{"a":', closed: str = "}") -> str:
    return opened * depth + "1" + closed * depth


@pytest.mark.parametrize(
    "schema",
    [
        nest(30_000, "[", "]"),
        nest(101, '{"type":"object","properties":{"a":', "}}"),
        '{"maxLength": ' + "9" * 5000 + "}",
        '{"maximum": 1e999}',
        '{"maximum": NaN}',
    ],
)
def test_a_body_that_is_too_deep_or_too_large_a_number_is_refused(web: Web, schema: str) -> None:
    body = f'{{"question": "{TOPIC}", "slots_schema": {schema}}}'
    for path in ("/api/research", "/api/research/stream"):
        response = web.client.post(path, content=body.encode(), headers=JSON)
        assert response.status_code in (413, 422), response.text
        assert response.json()["detail"] and len(response.content) < 1000
    assert web.client.get("/api/health").status_code == 200


HOSTILE = [".*" * 12 + "X", "(a+)+$", "(?:x?){60}x{60}"]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", HOSTILE)
def test_health_is_answered_while_a_hostile_pattern_is_matched(base: str, pattern: str) -> None:
    """Each probe has a deadline far beyond its time; a lock that is held lets it pass."""
    schema = {"type": "object", "properties": {"winner": {"type": "string", "pattern": pattern}}}
    body = {"question": TOPIC, "slots_schema": schema}
    with ThreadPoolExecutor(1) as pool, httpx2.Client(base_url=base, trust_env=False) as client:
        asked = pool.submit(httpx2.post, f"{base}/api/research", json=body, timeout=60)
        while not asked.done():
            assert client.get("/api/health", timeout=15).json() == {"status": "ok"}
        assert asked.result().status_code in (200, 422)


@pytest.mark.slow
def test_a_crowd_is_answered_or_refused_while_a_probe_is_answered(base: str) -> None:
    """`benchmarks/server.py` measures it with a hundred clients."""
    questions = [f"{TOPIC} {n}" for n in range(12)]
    with ThreadPoolExecutor(13) as pool, httpx2.Client(base_url=base, trust_env=False) as client:
        streams = [pool.submit(stream, base, question) for question in questions]
        while not all(one.done() for one in streams):
            assert client.get("/api/health", timeout=15).status_code == 200
    assert [one.result()["topic"] for one in streams] == questions


def stream(base: str, question: str) -> dict[str, Any]:
    """The answer at the end of a stream."""
    url, body = f"{base}/api/research/stream", {"question": question}
    with httpx2.stream("POST", url, json=body, trust_env=False, timeout=60) as response:
        lines = [line[6:] for line in response.iter_lines() if line.startswith("data: ")]
    answer, end = map(json.loads, lines[-2:])
    assert (answer["type"], end["type"]) == ("answer", "end")
    return dict(answer["detail"])
