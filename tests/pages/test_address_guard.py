"""No spelling, redirect or DNS answer leads a reader to a private address."""

from __future__ import annotations

import ipaddress
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ReadFailed
from agent.pages.address_guard import AddressGuard, is_public_address
from agent.pages.fetch import PageReader
from tests.support.page_server import PageServer, html, reply

#: Hosts that are this machine, its network, or no host of the web, as a URL may spell them.
HOSTS = """
127.0.0.1 127.1 127.0.1 127.0.0.2 127.255.255.254 0 0.0.0.0 0x7f.1 0x7f000001 0x7F.0.0.1 2130706433
017700000001 0177.0.0.1 0177.1 127.000.000.001 127.0.0.1. 00000177.1 0x0 0x7f.0x0.0x0.0x1
[::1] [::] [0:0:0:0:0:0:0:1] [0000::0001] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1]
[fe80::1] [fe80::1%25lo] [fec0::1] [fc00::1] [fd00:ec2::254] [fd12:3456::1] [ff02::1] [5f00::1]
localhost LOCALHOST LocalHost. localhost. a.localhost a.b.localhost. localhost.localdomain
user@127.0.0.1 user:secret@127.0.0.1 example.org@127.0.0.1 user@example.org :@example.org
%31%32%37.0.0.1 %6cocalhost 127.0.0.1%00.example.org 127。0。0。1 127．0．0．1 １２７.０.０.１
①②⑦.⓪.⓪.① ⓛocalhost lo\u00adcalhost 127.0.0.1\u200b ٠١٢٧.0.0.1
10.0.0.1 169.254.169.254 0xa9fea9fe 2852039166
""".split()


def resolve_numeric(host: str, port: int) -> list[str]:
    """The addresses that the system reads in a number, without DNS: 127.1 is 127.0.0.1."""
    kind, flags = socket.SOCK_STREAM, socket.AI_NUMERICHOST
    return [str(a[4][0]) for a in socket.getaddrinfo(host, port, type=kind, flags=flags)]


def dns_answers(*answers: list[str]) -> Iterator[list[str]]:
    """DNS answers, one after the other, the last for ever."""
    yield from answers
    while True:
        yield answers[-1]


def guard_for(
    port: int, answers: Iterator[list[str]] | None = None, address: str = ""
) -> AddressGuard:
    """A guard for which the server's port is one of the web's, so that only addresses count."""
    allowed = frozenset({(address or "203.0.113.9", port)})
    if answers is None:
        return AddressGuard(allowed=allowed, resolver=resolve_numeric)
    return AddressGuard(allowed=allowed, resolver=lambda host, port: next(answers))


def refusal(guard: AddressGuard, url: str) -> ReadFailed:
    reader = PageReader(timeout=30, guard=guard)
    with closing(reader), pytest.raises(ReadFailed) as caught:
        reader(url)
    return caught.value


@pytest.mark.parametrize("host", HOSTS, ids=ascii)
def test_no_spelling_of_a_private_address_is_connected_to(web: PageServer, host: str) -> None:
    failure = refusal(guard_for(web.port), f"http://{host}:{web.port}/secret")
    assert failure.outcome in ("forbidden", "unavailable")  # the latter: a name, of no host
    assert web.connections == 0
    outright = refusal(AddressGuard(resolver=resolve_numeric), f"http://{host}:{web.port}/secret")
    assert outright.outcome in ("forbidden", "unavailable") and web.connections == 0


@pytest.mark.parametrize(
    "url",
    "file:///etc/passwd ftp://example.org/ gopher://example.org:70/ data:text/html,hi "
    "javascript:alert(1) unix:///run/docker.sock http+unix://%2Frun%2Fdocker.sock/ dict://a/ "
    "//example.org/ example.org http:// http:///path https://:443/ http://[::1 http://a:b:c/ "
    "http://example.org:22/ http://example.org:8080/ https://example.org:6379/ HTTP://user@host/".split(),
)
def test_only_the_web_is_read(url: str) -> None:
    guard = AddressGuard(resolver=lambda host, port: ["127.0.0.1"])
    assert refusal(guard, url).outcome == "forbidden"


PRIVATE = "127.0.0.1|93.184.215.14 127.0.0.1|2606:2800:21f::1 ::1|64:ff9b::7f00:1|169.254.169.254"


@pytest.mark.parametrize("answer", [*PRIVATE.split("|"), "no-address"])
def test_a_public_name_with_a_private_answer_is_refused(web: PageServer, answer: str) -> None:
    guard = guard_for(web.port, dns_answers(answer.split()))
    failure = refusal(guard, f"http://public.example:{web.port}/")
    assert failure.outcome == "forbidden" and "public.example" in failure.message
    assert "ALLOW_PRIVATE_NETWORK" in failure.remedy
    assert web.connections == 0


@pytest.mark.parametrize("location", ["http://{}:{}/", "//{}:{}/"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "localhost", "[::1]", "a@127.0.0.1"]
)
def test_a_redirect_to_a_private_address_is_refused(
    web: PageServer, host: str, location: str
) -> None:
    with PageServer() as first:
        target = location.format(host, web.port)
        first.answers["/"] = reply(b"", "302 Found", f"Location: {target}")
        allowed = frozenset({("127.0.0.1", first.port), ("203.0.113.9", web.port)})
        guard = AddressGuard(allowed=allowed, resolver=resolve_numeric)
        assert refusal(guard, f"{first.url}/").outcome == "forbidden"
        assert "/" in first.paths
    assert web.connections == 0


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://a.example/", "javascript:1"])
def test_a_redirect_to_another_scheme_is_refused(web: PageServer, target: str) -> None:
    web.answers["/"] = reply(b"", "301 Moved Permanently", f"Location: {target}")
    assert refusal(AddressGuard(allow_private=True), f"{web.url}/").outcome == "forbidden"


def test_robots_txt_is_guarded_like_a_page(web: PageServer) -> None:
    with PageServer() as first:
        first.answers["/robots.txt"] = reply(b"", "302 Found", f"Location: {web.url}/secret")
        reader = PageReader(timeout=30, guard=guard_for(first.port, address="127.0.0.1"))
        assert reader(f"{first.url}/page").title == "A page"
        reader.close()
    assert web.connections == 0


def test_a_name_is_resolved_once_and_that_address_is_connected_to() -> None:
    """DNS rebinding: the second answer of a name is private, and never used."""
    with PageServer() as good, PageServer(host="127.0.0.2") as bad:
        closing = reply(html(), "200 OK", "Connection: close")
        good.answers["/1"] = good.answers["/2"] = closing
        asked: list[str] = []
        answers = dns_answers(["127.0.0.1"], ["127.0.0.2"])

        def rebinding(host: str, port: int) -> list[str]:
            asked.append(host)
            return next(answers)

        guard = AddressGuard(allowed=frozenset({("127.0.0.1", good.port)}), resolver=rebinding)
        reader = PageReader(timeout=30, respect_robots=False, guard=guard)
        assert reader(f"http://rebind.example:{good.port}/1").title == "A page"
        assert asked == ["rebind.example"] and good.connections == 1
        with pytest.raises(ReadFailed) as caught:
            reader(f"http://rebind.example:{good.port}/2")
        reader.close()
        assert caught.value.outcome == "forbidden" and len(asked) == 2
        assert (good.connections, bad.connections) == (1, 0)
        # the name stays in the request
        assert "host: rebind.example" in good.request_heads[0].lower()


def test_a_proxy_is_used_when_asked_for(web: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", web.url)
    monkeypatch.setenv("no_proxy", "direct.example")
    target = "http://public.example/page"
    web.answers[target] = reply(html("Through the proxy"))
    nowhere = AddressGuard(resolver=lambda host, port: ["127.0.0.1"])
    through = PageReader(timeout=30, through_proxy=True, guard=nowhere)
    assert through(target).title == "Through the proxy"
    with pytest.raises(ReadFailed, match="public internet"):
        through("http://direct.example/")
    with pytest.raises(ReadFailed, match="user name"):
        through("http://user@public.example/")
    through.close()
    seen = list(web.paths)
    direct = PageReader(timeout=30, guard=nowhere)
    with pytest.raises(ReadFailed, match="public internet"):
        direct(target)
    direct.close()
    assert web.paths == seen


def test_tls_is_of_the_name_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=pinned.example \
        -addext subjectAltName=DNS:pinned.example -keyout {key} -out {cert}"
    subprocess.run(command.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve() -> None:
        for _ in range(2):
            raw, _ = listener.accept()
            try:
                with context.wrap_socket(raw, server_side=True) as sock:
                    sock.recv(65536)
                    sock.sendall(reply(html("Secure"), "200 OK", "Connection: close"))
            except OSError:
                raw.close()

    thread = threading.Thread(target=serve)
    thread.start()
    guard = guard_for(port, dns_answers(["127.0.0.1"]), "127.0.0.1")
    url = f"https://pinned.example:{port}/"
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    with closing(PageReader(timeout=30, respect_robots=False, guard=guard)) as reader:
        assert reader(url).title == "Secure"
    monkeypatch.delenv("SSL_CERT_FILE")
    reader = PageReader(timeout=30, respect_robots=False, guard=guard)
    with closing(reader), pytest.raises(ReadFailed, match="certificate") as caught:
        reader(url)
    assert caught.value.outcome == "unavailable"
    thread.join(5)
    listener.close()


PRIVATE_V4 = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 \
192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 \
203.0.113.0/24 224.0.0.0/4 240.0.0.0/4".split()


@given(st.sampled_from(PRIVATE_V4), st.integers(0, 2**32 - 1))
def test_no_private_address_is_public_in_any_dress(block: str, bits: int) -> None:
    network = ipaddress.IPv4Network(block)
    plain = ipaddress.IPv4Address(int(network[0]) + bits % network.num_addresses)
    assert not is_public_address(plain)
    for prefix in ("::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::"):
        assert not is_public_address(ipaddress.IPv6Address(prefix) + int(plain))
    assert not is_public_address(ipaddress.IPv6Address(0x2002 << 112 | int(plain) << 80))
    assert not is_public_address(ipaddress.IPv6Address(0x20010000 << 96 | int(plain) << 64))


@given(st.ip_addresses(v=6))
def test_ipv6_outside_the_unicast_block_is_private(address: ipaddress.IPv6Address) -> None:
    nat64 = address in ipaddress.IPv6Network("64:ff9b::/96")
    assert not is_public_address(address) or nat64 or int(address) >> 125 == 1


def test_only_public_addresses_are_disclosed() -> None:
    known = {"public.example": ["93.184.216.34"], "both.example": ["93.184.216.34", "10.0.0.1"]}

    def resolver(host: str, port: int) -> list[str]:
        if host not in known:
            raise OSError("no such host")
        return known[host]

    guard = AddressGuard(allow_private=True, resolver=resolver)
    guard.check_public("https://public.example/x")
    refused = ["http://both.example/", "http://10.0.0.1/", "https://public.example:8443/"]
    refused += ["http://wiki.internal/", "http://wiki/", "ftp://public.example/", "http://["]
    for url in [*refused, "http://gone.example/"]:
        with pytest.raises(ReadFailed) as caught:
            guard.check_public(url)
        assert caught.value.outcome == "forbidden"
    guard = AddressGuard(resolver=resolver)
    guard.check_public("http://gone.example/")  # of which an archive may have a copy
