"""Reading pages over a real wire: what arrives, what is refused, what is said, what is left."""

from __future__ import annotations

import gc
import gzip
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from backports import zstd

from agent.errors import ReadFailed
from agent.pages.address_guard import AddressGuard
from agent.pages.fetch import PageReader
from tests.support.page_server import Connection, PageServer, html, reply, wait_for

NOON = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def reader() -> Iterator[PageReader]:
    with closing(make_reader(30)) as made:
        yield made


def make_reader(timeout: float) -> PageReader:
    limits = {"timeout": timeout, "max_bytes": 300_000}
    return PageReader(**limits, allow_private_network=True, now=lambda: NOON)


def failure(reader: PageReader, url: str) -> ReadFailed:
    with pytest.raises(ReadFailed) as caught:
        reader(url)
    assert "127.0.0.1" in caught.value.message and caught.value.message.endswith(".")
    return caught.value


def test_a_page_is_read(web: PageServer, reader: PageReader) -> None:
    page = reader(f"{web.url}/page?q=1#part")
    assert page.url == f"{web.url}/page?q=1" and page.title == "A page" and page.via == "page"
    assert page.text.startswith("A page\nA page has words")
    assert page.sha256 == sha256(page.text.encode()).hexdigest()
    assert page.retrieved_at == "2026-11-21T12:00:00Z"
    head = next(head for head in web.request_heads if head.startswith("GET /page?q=1 ")).lower()
    assert "user-agent: llm-research-agent/" in head
    assert "accept-encoding" not in head or "gzip" in head
    assert "authorization" not in head and "cookie" not in head


def test_redirects_are_followed_with_their_cookies(web: PageServer, reader: PageReader) -> None:
    web.answers["/a"] = reply(b"", "301 Moved", "Location: /b", "Set-Cookie: seen=yes")
    web.answers["/b"] = reply(b"", "307 Temporary Redirect", f"Location: {web.url}/c?x=y")
    assert reader(f"{web.url}/a").url == f"{web.url}/c?x=y"
    assert "cookie: seen=yes" in web.request_heads[-1].lower()
    reader(f"{web.url}/d")
    assert "cookie" not in web.request_heads[-1].lower()


def refresh(target: str, seconds: int = 0) -> bytes:
    page = f"<html><head><meta http-equiv='refresh' content='{seconds}; url={target}'></head>"
    return reply(f"{page}<body><p>You are being redirected.</p></body></html>".encode())


def test_a_page_that_sends_its_reader_elsewhere_is_followed(
    web: PageServer, reader: PageReader
) -> None:
    web.answers["/page"] = refresh("/next")
    web.answers["/next"] = refresh("/last")
    web.answers["/last"] = reply(html("The last"))
    page = reader(f"{web.url}/page")
    assert page.url == f"{web.url}/last" and page.title == "The last"
    web.answers["/page"] = refresh("/last", 300)  # as news do
    assert "being redirected" in reader(f"{web.url}/page").text
    web.answers["/page"] = refresh("/page")
    assert "being redirected" in reader(f"{web.url}/page").text


@pytest.mark.parametrize("target", ["http://10.0.0.7/", "file:///etc/passwd", "http://[::1]:1/"])
def test_the_guard_checks_where_a_page_sends_its_reader(web: PageServer, target: str) -> None:
    web.answers["/page"] = refresh(target)
    guard = AddressGuard(allowed=frozenset({("127.0.0.1", web.port)}))
    reader = PageReader(guard=guard, respect_robots=False)
    with closing(reader), pytest.raises(ReadFailed) as caught:
        reader(f"{web.url}/page")
    assert caught.value.outcome == "forbidden" and len(web.request_heads) == 1


def test_a_redirect_to_what_is_no_address_is_refused(web: PageServer, reader: PageReader) -> None:
    for n, address in enumerate(("https:////a]", "http://[::1")):
        web.answers[f"/{n}"] = reply(b"", "302 Found", f"Location: {address}")
        assert failure(reader, f"{web.url}/{n}").outcome == "forbidden"


def test_a_cookie_that_no_header_can_carry_is_not_sent(web: PageServer, reader: PageReader) -> None:
    redirect = reply(b"", "301 Moved", "Location: /b", "Set-Cookie: name=/; Max-Age=9")
    web.answers["/a"] = redirect.replace(b"name", b"Pat\xff\xffh")
    assert reader(f"{web.url}/a").url == f"{web.url}/b"
    assert "cookie" not in web.request_heads[-1].lower()


def test_a_redirect_loop_ends(web: PageServer, reader: PageReader) -> None:
    web.answers["/a"] = reply(b"", "302 Found", "Location: /b")
    web.answers["/b"] = reply(b"", "302 Found", "Location: /a")
    assert failure(reader, f"{web.url}/a").outcome == "invalid"
    assert len([path for path in web.paths if path != "/robots.txt"]) == 6


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("403 Forbidden", "blocked"),
        ("404 Not Found", "not_found"),
        ("429 Too Many Requests", "rate_limited"),
        ("503 Busy", "unavailable"),
        ("204 Nothing", "empty"),
    ],
)
def test_statuses_are_told_apart(
    web: PageServer, reader: PageReader, status: str, outcome: str
) -> None:
    web.answers["/page"] = reply(b"" if status[:3] == "204" else html(), status)
    error = failure(reader, f"{web.url}/page")
    assert error.outcome == outcome and status[:3] in error.message


def test_a_rate_limit_has_an_end(web: PageServer, reader: PageReader) -> None:
    header = "Retry-After: Sat, 21 Nov 2026 12:00:30 GMT"
    web.answers["/page"] = reply(b"", "429 Too Many Requests", header)
    assert failure(reader, f"{web.url}/page").retry_after == 30


HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKS = HEADERS + b"Transfer-Encoding: chunked\r\n\r\n"
BOMB = b"<p>boom</p>"


def continue_forever(c: Connection) -> None:
    while not c.server.stopping.wait(0.05):
        c.send(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "outcome", "words"),
    [
        (Connection.hang, "timeout", "in time"),
        (lambda c: c.drip(HEADERS + b"\r\n" + html(), 0.1), "timeout", "in time"),
        (lambda c: (c.send(HEADERS + b"\r\n"), c.drip(html(), 0.1)), "timeout", "in time"),
        (continue_forever, "timeout", "in time"),
        (Connection.reset, "unavailable", "failed"),
        (lambda c: None, "unavailable", "closed the connection"),
        (lambda c: c.send(CHUNKS + b"5\r\n<html\r\n"), "unavailable", "closed the connection"),
        (lambda c: c.send(HEADERS + b"X: " + b"x" * 400_000), "invalid", "invalid HTTP"),
        (reply(b"\x1f\x8bnot", "200 OK", "Content-Encoding: gzip"), "invalid", "compression"),
        (reply(b"<html><body></body></html>"), "empty", "no text"),
        (reply(b"\x89PNG\r\n\0\0", "200 OK", "Content-Type: image/png"), "unsupported", "png"),
        (reply(b"%PDF-1.7 " + b"x" * 400_000), "unsupported", "PDF"),
    ],
)  # fmt: skip
def test_faults_are_told_and_end_in_time(
    web: PageServer, fault: bytes, outcome: str, words: str
) -> None:
    web.answers["/page"] = fault
    with closing(make_reader(0.6 if outcome == "timeout" else 30)) as reader:
        error = failure(reader, f"{web.url}/page")
    assert (error.outcome, words in error.message) == (outcome, True), error.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make_body", "headers"),
    [
        (lambda: zstd.compress(BOMB * 10_000_000), ["Content-Encoding: zstd"]),
        (lambda: gzip.compress(gzip.compress(BOMB * 10_000_000)), ["Content-Encoding: gzip, gzip"]),
        (lambda: b"<p>" + b"words and words " * 100_000, []),
    ],
    ids=["zstd", "gzip twice", "plain"],
)
def test_what_is_too_long_is_cut(
    web: PageServer, reader: PageReader, make_body: Callable[[], bytes], headers: list[str]
) -> None:
    web.answers["/page"] = reply(make_body(), "200 OK", *headers)
    page = reader(f"{web.url}/page")
    assert 0 < len(page.text) <= 300_000 and page.text[:4] in ("boom", "word")


def test_a_page_of_the_wrong_type_is_read_for_what_it_is(
    web: PageServer, reader: PageReader
) -> None:
    web.answers["/html"] = reply(html("It is HTML"), "200 OK", "Content-Type: application/pdf")
    web.answers["/text"] = reply(b"Just some words.", "200 OK", "Content-Type: image/png")
    web.answers["/json"] = reply(b'{"name": "value"}', "200 OK", "Content-Type: text/plain")
    assert reader(f"{web.url}/html").title == "It is HTML"
    assert reader(f"{web.url}/text").text == "Just some words."
    assert reader(f"{web.url}/json").text == '{"name": "value"}'


def test_closing_ends_what_is_under_way_and_leaves_nothing(web: PageServer) -> None:
    web.answers |= {"/page": Connection.hang, "/robots.txt": Connection.hang}
    threads = threading.active_count()
    reader = PageReader(timeout=20, allow_private_network=True)
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(reader, f"{web.url}/page")
        assert wait_for(lambda: len(web.request_heads) == 2)
        reader.close()
        reader.close()
        with pytest.raises(ReadFailed) as caught:
            reading.result(3)
    assert caught.value.outcome == "unavailable"
    with pytest.raises(ReadFailed, match="closed"):
        reader(f"{web.url}/other")
    assert wait_for(lambda: threading.active_count() <= threads + 2)  # the server's own two
    gc.collect()  # a socket left open would warn here, and warnings are errors
