"""Sites that have a form for programs: registries of packages; over a wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from agent.pages.fetch import PageReader
from tests.support.page_server import PageServer, html, reply

HTML = "Content-Type: text/html; charset=utf-8"


@pytest.fixture
def sites(web: PageServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[PageReader]:
    """A reader for which `web` is the proxy to the public web."""
    monkeypatch.setenv("http_proxy", web.url)
    with closing(PageReader(through_proxy=True, respect_robots=False)) as reader:
        yield reader


def as_json(value: Any) -> bytes:
    return reply(json.dumps(value).encode(), "200 OK", "Content-Type: application/json")


PYPI = {"info": {"name": "ferry", "version": "2.1", "summary": "Boats.", "description": "# Ferry"}}
NPM = {"name": "@a/ferry", "description": "Boats.", "dist-tags": {"latest": "4.1.0"}}


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
    page: str, has: dict[str, bytes], title: str, words: str, web: PageServer, sites: PageReader
) -> None:
    web.answers |= {f"http://{place}": form for place, form in has.items()}
    found = sites(f"http://{page}")
    assert found.title == title and words in found.text
    assert found.url == f"http://{page}"
    assert web.paths == [f"http://{place}" for place in has]
