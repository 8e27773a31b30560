"""Sites that have a form for programs: registries of packages; over a wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from agent.errors import ReadFailed
from agent.pages.address_guard import AddressGuard
from agent.pages.fetch import PageReader
from tests.support.page_server import Answer, Connection, PageServer, html, reply

HTML = "Content-Type: text/html; charset=utf-8"
GONE = reply(b"no", "404 Not Found")


class Web:
    """The public web on one port: what each host has at each path, and who was asked for what."""

    def __init__(self, server: PageServer) -> None:
        self.has: dict[str, bytes] = {}
        self.asked: list[str] = []
        self._server = server
        guard = AddressGuard(
            allowed=frozenset({("127.0.0.1", server.port)}), resolver=lambda *_: ["127.0.0.1"]
        )
        self.reader = PageReader(guard=guard)
        server.answers = self  # type: ignore[assignment]

    def get(self, path: str, _: Answer) -> Answer:
        return self.answer

    def answer(self, asked: Connection) -> None:
        line, *fields = asked.head.split("\r\n")
        host = next(f[6:] for f in fields if f.lower().startswith("host: ")).partition(":")[0]
        where = host + line.split(" ")[1]
        self.asked += [] if where.endswith("/robots.txt") else [where]
        asked.send(self.has.get(where, GONE).replace(b"PORT", str(self._server.port).encode()))

    def url(self, where: str) -> str:
        host, _, path = where.partition("/")
        return f"http://{host}:{self._server.port}/{path}"

    def read(self, where: str) -> Any:
        return self.reader(self.url(where))


@pytest.fixture
def sites(web: PageServer) -> Iterator[Web]:
    made = Web(web)
    with closing(made.reader):
        yield made


def as_json(value: Any) -> bytes:
    return reply(json.dumps(value).encode(), "200 OK", "Content-Type: application/json")


PYPI = {"info": {"name": "ferry", "version": "2.1", "summary": "Boats.", "description": "# Ferry"}}
NPM: dict[str, object] = {
    "name": "@a/ferry",
    "description": "Boats.",
    "dist-tags": {"latest": "4.1.0"},
    "readme": "# Ferry\n\nRow it.",
}


@pytest.mark.parametrize(
    ("page", "has", "title", "words"),
    [
        ("pypi.org/project/ferry/", {"pypi.org/pypi/ferry/json": as_json(PYPI)}, "ferry",
         "Version 2.1. Boats."),
        ("www.npmjs.com/package/@a/ferry", {"registry.npmjs.org/@a/ferry": as_json(NPM)},
         "@a/ferry", "Version 4.1.0. Boats."),
        ("crates.io/crates/ferry",
         {"docs.rs/crate/ferry/latest": reply(html("Ferry"), "200 OK", HTML)}, "Ferry",
         "enough of them for anyone"),
    ],
)  # fmt: skip
def test_the_form_for_programs_is_read(
    page: str, has: dict[str, bytes], title: str, words: str, sites: Web
) -> None:
    sites.has |= has
    found = sites.read(page)
    assert found.title == title and words in found.text
    assert found.url == sites.url(page).partition("#")[0]
    assert set(has) <= set(sites.asked)


@pytest.mark.parametrize("form", [GONE, reply(b"{", "200 OK"), reply(b"", "403 Forbidden")])
def test_where_there_is_none_the_page_itself_is_read(form: bytes, sites: Web) -> None:
    page = "pypi.org/project/ferry/"
    sites.has |= {page: reply(html("Ferry"), "200 OK", HTML), "pypi.org/pypi/ferry/json": form}
    assert sites.read(page).title == "Ferry"
    del sites.has[page]
    with pytest.raises(ReadFailed) as caught:
        sites.read(page)
    assert caught.value.outcome == "not_found" and caught.value.message.startswith("pypi.org")
