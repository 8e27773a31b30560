"""Certificates and proxies: the same for models, searches and pages."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.calls.gemini_api import GeminiAccount, GeminiConnection
from agent.calls.transport import CERTIFICATES, find_proxy, load_tls_context
from agent.errors import ExternalCallError, ModelFailed
from agent.llm.gemini import Gemini
from agent.llm.openai_compatible import OpenAICompatible
from agent.pages.address_guard import AddressGuard
from agent.pages.fetch import PageReader
from agent.search.exa import Exa
from agent.settings import parse_settings
from agent.steps.generate_queries import MakeQueries

ANSWER = '{"queries": ["a"]}'
REPLY = {
    "choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}],
    "candidates": [{"content": {"parts": [{"text": ANSWER}]}, "finishReason": "STOP"}],
    "results": [{"url": "https://a.example/", "title": "A"}],
}
PAGE = f"<html><title>A page</title><body><p>{'Words of a page. ' * 20}</p></body></html>"


class _Handler(BaseHTTPRequestHandler):
    def _send(self, kind: str, text: str) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        self._send("text/html", PAGE)

    def do_POST(self) -> None:
        self._send("application/json", json.dumps(REPLY))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout {key} -out {cert}"
    subprocess.run(command.split(), check=True, capture_output=True)
    return cert, key


@pytest.fixture
def base(certificate: tuple[Path, Path]) -> Iterator[str]:
    """A server on loopback whose certificate no system trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"https://localhost:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CERTIFICATES:
        monkeypatch.delenv(name, raising=False)


def ask_openai(base: str) -> str:
    model = OpenAICompatible("m", base, "", 20, None)
    return model.generate(MakeQueries(topic="x"), "").text


def ask_gemini(base: str) -> str:
    connection = GeminiConnection(GeminiAccount("some-key", base), 20)
    try:
        return Gemini("m", connection, None).generate(MakeQueries(topic="x"), "").text
    finally:
        connection.close()


def search(base: str) -> str:
    settings = parse_settings({"EXA_API_KEY": "some-key", "EXA_BASE_URL": base})
    return Exa(settings).search("q")[0].title


def read(base: str) -> str:
    reader = PageReader(timeout=20, guard=AddressGuard(allow_private=True), respect_robots=False)
    try:
        return reader(f"{base}/").title
    finally:
        reader.close()


CLIENTS = [ask_openai, ask_gemini, search, read]


@pytest.mark.parametrize(
    ("client", "name"), [*zip(CLIENTS, [*CERTIFICATES[:3], CERTIFICATES[0]], strict=True)]
)
def test_each_variable_of_certificates_counts_for_each_client(
    client: Callable[[str], str],
    name: str,
    base: str,
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ExternalCallError) as refused:
        client(base)
    assert refused.value.message.startswith("the certificate of localhost is not trusted")
    assert "SSL_CERT_FILE" in refused.value.remedy
    monkeypatch.setenv(name, str(certificate[0].with_name("none.pem")))
    with pytest.raises(ExternalCallError, match=rf"{name} names .*none\.pem"):
        client(base)
    monkeypatch.setenv(name, str(certificate[0]))
    assert client(base) in (ANSWER, "A", "A page")


@pytest.mark.parametrize("client", [ask_openai, ask_gemini, search])
def test_an_unreachable_proxy_is_named_with_its_variable(
    client: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://me:secret@127.0.0.1:9")
    with pytest.raises(ExternalCallError) as failed:
        client("https://far.example")
    assert "far.example through 127.0.0.1:9, the proxy of HTTPS_PROXY" in failed.value.message
    assert "NO_PROXY" in failed.value.remedy and "secret" not in failed.value.message


@pytest.mark.parametrize("client", [ask_openai, ask_gemini, search])
@pytest.mark.skipif(bool(find_spec("socks") and find_spec("socksio")), reason="installed")
def test_the_libraries_that_a_socks_proxy_needs_are_named(
    client: Callable[[str], str], base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A desktop's default is `socks://`. NO_PROXY comes first: then no library is needed."""
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:9/")
    with pytest.raises(ExternalCallError) as failed:
        client(base)
    assert failed.value.message.startswith("ALL_PROXY names a SOCKS proxy")
    assert "[socks]" in failed.value.remedy
    monkeypatch.setenv("NO_PROXY", "localhost")
    with pytest.raises(ExternalCallError, match="not trusted"):
        client(base)


@pytest.mark.parametrize(
    ("url", "excluded", "proxied"),
    [
        ("http://10.1.2.3:8080/x", "10.0.0.0/8", False),
        ("http://own.example:11434", "own.example:11434", False),
        ("http://own.example:11434", "own.example:80", True),
        ("http://a.own.example", ".own.example", False),
        ("http://[", "", False),
    ],
)
def test_no_proxy_comes_first(
    url: str, excluded: str, proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", excluded)
    assert find_proxy(url, ModelFailed) == ("http://proxy.example:3128" if proxied else None)


def test_certificates_and_host_names_are_verified_by_default() -> None:
    context = load_tls_context()
    assert context.verify_mode == ssl.CERT_REQUIRED and context.check_hostname
