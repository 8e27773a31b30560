"""Requests of a hostile client, as bytes: each is refused, and the server goes on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tests.support.web import Web, configure_from

FORM = "Content-Type: multipart/form-data; boundary=x"
FIELD = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "runs").mkdir()
    (folder / "secret.jsonl").write_text("mine")
    environment = {"RUNS_DIR": f"{folder}/runs", "CACHE_DIR": f"{folder}/cache"}
    with Web(configure_from(environment, offline=True, api_documents=True)) as running:
        yield running


def send(web: Web, line: str, *heads: str, body: bytes = b"", host: str = "127.0.0.1") -> bytes:
    """The first bytes of the answer to a request as it is written here."""
    named = [f"Host: {host}:{web.port}"] if host else []
    with socket.create_connection(("127.0.0.1", web.port), timeout=30) as client:
        client.sendall("\r\n".join((f"{line} HTTP/1.1", *named, *heads, "", "")).encode() + body)
        return client.recv(4000)


def post(web: Web, path: str, body: bytes, *heads: str) -> bytes:
    kind = heads or ("Content-Type: application/json",)
    return send(web, f"POST {path}", *kind, f"Content-Length: {len(body)}", body=body)


@pytest.mark.parametrize(
    ("line", "host", "status"),
    [
        ("GET /api/runs", "", 400),
        ("GET http://evil.test/api/runs", "evil.test", 421),
        ("GET /api/runs/..%2fsecret", "127.0.0.1", 404),
        ("GET /api/runs/..%2f..%2fetc%2fpasswd/export?format=json", "127.0.0.1", 404),
        ("DELETE /api/runs/..%2fsecret", "127.0.0.1", 404),
        ("DELETE /api/documents/..%2f..%2fruns", "127.0.0.1", 404),
        ("GET /ui/..%2f..%2fapp.py", "127.0.0.1", 404),
        ("GET /ui/../../app.py", "127.0.0.1", 404),
        ("GET /api/runs/%ed%a0%80", "127.0.0.1", 422),
        ("TRACE /", "127.0.0.1", 405),
        ("CONNECT evil.test:443", "127.0.0.1", 404),
    ],
)
def test_an_address_of_another_kind_is_refused(line: str, host: str, status: int, web: Web) -> None:
    assert int(send(web, line, host=host).split()[1]) == status
    assert web.client.get("/api/health").status_code == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"runs_dir": "/etc"},
        {"mcp": ["sh -c id"]},
        {"page_browser_path": "/bin/sh"},
        {"openai_base_url": "http://evil.test"},
        {"allow_private_network": True},
        {"follow": "../secret"},
        {"documents": ["..", "/", "a+b", "\0"]},
        {"resume": "secret"},
    ],
)
def test_a_request_names_no_file_no_address_and_no_program(
    fields: dict[str, object], web: Web
) -> None:
    body = json.dumps({"question": "When was it opened?", **fields}).encode()
    assert int(post(web, "/api/research", body).split()[1]) == 422


@pytest.mark.parametrize(
    ("path", "body", "kind", "status"),
    [
        ("/api/check", b"[" + b"[]," * 3_000_000, "Content-Type: application/json", 422),
        ("/api/documents", FIELD * 1000, FORM, 422),
        ("/api/documents", b"xx", "Content-Type: multipart/form-data", 422),
        ("/api/documents", b"--x\r\n\xff\xfe: \0\r\n\r\na\r\n--x--\r\n", FORM, 422),
        ("/api/documents", b"a&" * 30_000, "Content-Type: application/x-www-form-urlencoded", 422),
    ],
)
def test_a_body_of_another_kind_is_refused(
    path: str, body: bytes, kind: str, status: int, web: Web
) -> None:
    assert int(post(web, path, body, kind).split()[1]) == status
    assert web.client.get("/api/health").status_code == 200


def test_a_second_user_finds_no_document_of_the_first(web: Web) -> None:
    file = {"file": ("a.txt", b"The Velmora bridge was opened in 1931.")}
    own = web.client.post("/api/documents", files=file).json()["id"]
    folder = next(one.name for one in web.runs.documents._root.iterdir())
    guesses = [folder, own[:-1], own + "A", own.swapcase(), f"{own}+{own}", "*", "%2e", own[::-1]]
    for guess in guesses:
        asked = {"question": "When was it opened?", "documents": [guess]}
        assert web.client.post("/api/research", json=asked).status_code == 422
        assert web.client.delete(f"/api/documents/{guess}").status_code in (404, 422)
    assert web.client.get("/api/documents").status_code in (404, 405), "there is no list"
    assert own not in web.client.get("/metrics").text + web.client.get("/api/runs").text
    assert web.client.delete(f"/api/documents/{own}").status_code == 204
