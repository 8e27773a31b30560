"""Documents that users send: over HTTP, for runs that name them."""

from __future__ import annotations

import io
import itertools
import socket
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent.errors import Busy
from agent.search.open_indexes import index_file
from agent.server.uploads import DocumentStore
from agent.settings import parse_settings
from tests.support.web import Web, configure_from, wait_until

BRIDGE = b"# Velmora\n\nThe Velmora bridge was opened in 1931 by Ada Lindqvist.\n"
COST = b"The Velmora ferry cost twelve million crowns.\n"
ASKED, ASKED_TOO = "When was the Velmora bridge opened?", "What did the Velmora ferry cost?"


def serve(folder: Path, **more: Any) -> Web:
    environment = {"RUNS_DIR": f"{folder}/runs", "CACHE_DIR": f"{folder}/cache"}
    return Web(configure_from(environment, offline=True, api_documents=True, **more))


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with serve(tmp_path) as running:
        yield running


def send(web: Web, name: str, content: bytes) -> httpx2.Response:
    return web.client.post("/api/documents", files={"file": (name, content)})


def stored(folder: Path) -> list[str]:
    """Every file of documents, and every index."""
    cache = folder / "cache"
    files = (path for path in (cache / "documents").rglob("*") if path.is_file())
    return sorted([path.name for path in files] + [path.name for path in cache.glob("corpus-*")])


@pytest.mark.slow
def test_a_run_that_names_a_document_searches_it_and_no_other_finds_it(
    web: Web, tmp_path: Path
) -> None:
    bridge = send(web, "bridge.md", BRIDGE).json()
    assert bridge["name"] == "bridge.md" and bridge["not_read"] == []
    ferry = send(web, "bridge.md", COST).json()["id"]  # of the same name
    answer = web.ask(ASKED, documents=[bridge["id"]]).json()
    assert answer["status"] in ("complete", "partial") and "1931" in answer["answer"]
    assert {one["url"] for one in answer["citations"]} == {"corpus:bridge.md"}
    assert bridge["id"] not in str(answer) and str(tmp_path / "cache") not in str(answer)
    assert "1931" not in web.ask(ASKED).json()["answer"]
    assert "1931" not in web.ask(ASKED, documents=[ferry]).json()["answer"]
    both = [bridge["id"], ferry]
    answer = web.ask(ASKED_TOO, documents=both).json()
    assert answer["citations"][0]["url"] == "corpus:2/bridge.md"
    body = {"model": "research", "messages": [{"role": "user", "content": ASKED}]}
    chat = web.client.post("/v1/chat/completions", json={**body, "documents": both[:1]}).json()
    assert "1931" in chat["choices"][0]["message"]["content"]
    assert web.client.delete(f"/api/documents/{bridge['id']}").status_code == 204
    assert web.client.delete(f"/api/documents/{bridge['id']}").status_code == 404
    for named in (both, ["A" * 32], both[:1]):
        refused = web.ask(ASKED, documents=named)
        assert refused.status_code == 422 and "send it again" in refused.json()["remedy"]
    for odd in (["../../etc"], [], ["A" * 32] * 9):
        assert web.ask(ASKED, documents=odd).status_code == 422
    assert web.client.delete(f"/api/documents/{ferry}").status_code == 204
    assert all(name.startswith("corpus-") for name in stored(tmp_path))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\files\\a.txt", "a.txt"),
        (".env", None),
        ("a\u202eb\u2028c.txt", "ab c.txt"),
        ("é" * 300 + ".txt", None),
    ],
)
def test_a_name_is_never_a_path(tmp_path: Path, web: Web, sent: str, kept: str | None) -> None:
    response = send(web, sent, COST)
    if kept is None:
        assert response.status_code in (200, 422)
    else:
        assert response.json()["name"] == kept
        answer = web.ask(ASKED_TOO, documents=[response.json()["id"]]).json()
        assert "twelve" in answer["answer"]
    folders = list((tmp_path / "cache" / "documents").glob("*"))
    assert all(len(list(one.iterdir())) == 1 for one in folders)
    assert not list(tmp_path.glob("**/passwd")) and len(folders) == (response.status_code == 200)


def bomb() -> bytes:
    """A document of Word of 0.3 MB that unpacks to 300."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<w:document>" + b" " * 300_000_000)
    return packed.getvalue()


@pytest.mark.slow
def test_a_file_that_is_refused_has_a_remedy(web: Web, tmp_path: Path) -> None:
    files = {"a.exe": b"MZ", "blank.md": b" \n ", "broken.docx": b"PK\3\4bad", "b.docx": bomb()}
    for name, content in files.items():
        refused = send(web, name, content)
        assert refused.status_code == 422 and refused.json()["remedy"], name
        assert refused.json()["detail"].startswith(name)
    for body in ({"data": {"file": "text"}}, {"content": b"{}"}, {"files": {"other": b"x"}}):
        refused = web.client.post("/api/documents", **body)
        assert refused.status_code == 422 and "field `file`" in refused.json()["detail"]
    two = [("file", ("a.txt", b"one")), ("file", ("b.txt", b"two"))]
    assert web.client.post("/api/documents", files=two).status_code == 422
    large = send(web, "large.txt", b"x" * 50_000_001)
    assert large.status_code == 413 and "50 MB" in large.json()["detail"]
    assert stored(tmp_path) == []


def test_files_are_accepted_only_with_the_option_and_the_token(tmp_path: Path) -> None:
    with serve(tmp_path, api_token="secret") as web:
        assert send(web, "a.txt", COST).status_code == 401
        web.client.headers["Authorization"] = "Bearer secret"
        other = {"Origin": "http://evil.example"}
        files = {"file": ("a.txt", COST)}
        assert web.client.post("/api/documents", files=files, headers=other).status_code == 403
        assert send(web, "a.txt", COST).status_code == 200
    with Web(configure_from({"CACHE_DIR": f"{tmp_path}/cache"}, offline=True)) as web:
        refused = send(web, "a.txt", COST)
        assert refused.status_code == 403 and "--documents" in refused.json()["detail"]


@pytest.mark.slow
def test_documents_have_a_quota_outlive_a_server_and_expire(tmp_path: Path) -> None:
    with serve(tmp_path) as web:
        kept = send(web, "a.txt", COST).json()["id"]
    settings = parse_settings({"CACHE_DIR": f"{tmp_path}/cache"})
    with pytest.raises(Busy):
        DocumentStore(settings, max_bytes=100).add("b.md", BytesIO(BRIDGE))
    with serve(tmp_path) as web:
        assert "twelve" in web.ask(ASKED_TOO, documents=[kept]).json()["answer"]
    DocumentStore(settings, lifetime=0.001)  # it is older than that
    assert [name for name in stored(tmp_path) if not name.startswith("corpus-")] == []
    with serve(tmp_path) as web:
        assert web.ask(ASKED_TOO, documents=[kept]).status_code == 422
    DocumentStore(settings, lifetime=1.0).add("a.txt", BytesIO(COST))
    assert "a.txt" in stored(tmp_path)
    wait_until(lambda: "a.txt" not in stored(tmp_path))  # nobody asks


def start_upload(web: Web, length: int, head: bytes = b"") -> socket.socket:
    """A connection that has sent the head of an upload, and so much of its body."""
    client = socket.create_connection(("127.0.0.1", web.port))
    lines = (
        "POST /api/documents HTTP/1.1",
        f"Host: 127.0.0.1:{web.port}",
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {length}",
    )
    client.sendall("\r\n".join((*lines, "", "")).encode() + head)
    return client


def test_heads_without_bodies_take_nobodys_place(web: Web) -> None:
    clients = [start_upload(web, 1000, b"--x\r\n") for _ in range(20)]
    assert send(web, "a.txt", COST).status_code == 200
    for client in clients:
        client.close()


def test_a_client_that_goes_away_leaves_no_traceback(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    start_upload(web, 1000, b"--x\r\n").close()
    wait_until(lambda: "POST /api/documents" in caplog.text)
    assert "Traceback" not in caplog.text and not [one for one in caplog.records if one.exc_info]


def test_a_body_that_is_too_large_hears_413(web: Web) -> None:
    """Also a client that reads nothing until it has sent all."""
    size = 60_000_000
    with start_upload(web, size) as client:
        for _ in range(60):
            client.sendall(bytes(1_000_000))
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_set_of_documents_is_one_index_and_all_indexes_count(tmp_path: Path) -> None:
    settings = parse_settings({"CACHE_DIR": f"{tmp_path}/cache"})
    store = DocumentStore(settings)
    ids = [store.add(f"{n}.txt", BytesIO(COST)).id for n in range(3)]
    folders = {store.open(order) for order in itertools.permutations(ids)}
    assert len(folders) == 1 and store.open([*ids, ids[0]]) in folders
    index_file(folders.pop(), settings.cache_dir or Path()).write_bytes(bytes(5000))
    full = DocumentStore(settings, max_bytes=5100)
    with pytest.raises(Busy):
        full.add("b.md", BytesIO(BRIDGE))
    with pytest.raises(Busy):
        full.open(ids[:2])
    assert full.open(ids[::-1])
    full.delete(ids[0])
    assert full.open(ids[1:]), "its index went with it"
