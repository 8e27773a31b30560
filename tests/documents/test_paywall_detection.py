"""Captchas, consent pages and calls for JavaScript are no pages; articles about them are."""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path
from typing import Any

import pytest

from agent.documents.html.paywall_detection import WALLS
from agent.documents.reading import UnreadablePage, read_body
from agent.errors import ReadFailed
from agent.pages.fetch import PageReader
from tests.support.page_server import PageServer, reply


def failure(reader: PageReader, url: str) -> ReadFailed:
    with pytest.raises(ReadFailed) as caught:
        reader(url)
    return caught.value


CONSENT = (
    b"<html><title>Before you continue to Search</title><body><form "
    b'action="https://consent.google.com/save"><p>We use cookies.</p><button>Accept</button></form>'
)
LOGIN = (
    b"<html><title>Log in</title><body><h1>Log in</h1><p>Log in to go on.</p>"
    b'<form><input name=user><input type="password" name=pw></form>'
)
SCRIPT = b"<html><title>App</title><body><noscript>x</noscript><p>Please enable JavaScript.</p>"
EMPTY = b'<html><title>A</title><body><div id="root"></div><script src=a.js></script></body>'
MOMENT = b"<html><title>Just a moment...</title><body><p>Checking your browser</p><script></script>"


@pytest.mark.parametrize("body", [CONSENT, LOGIN, SCRIPT, EMPTY, MOMENT], ids=lambda b: b[13:30])
def test_a_wall_is_no_page(web: PageServer, reader: PageReader, body: bytes) -> None:
    web.answers["/page"] = reply(body, "200 OK", "Content-Type: text/html")
    error = failure(reader, f"{web.url}/page")
    assert error.outcome == "blocked" and "instead of a page" in error.message
    assert "JavaScript" in error.message or body not in (SCRIPT, EMPTY)


def test_the_recorded_walls_are_recognised(web: PageServer, reader: PageReader, data: Path) -> None:
    for name in ("google_search_captcha", "google_search_captcha_new", "google_search_soft_block"):
        web.answers["/page"] = reply((data / "search" / f"{name}.html").read_bytes())
        assert failure(reader, f"{web.url}/page").outcome == "blocked", name


SHORT_PAGES: dict[str, dict[str, list[dict[str, Any]]]] = tomllib.loads(
    Path(__file__).with_name("paywall_detection.toml").read_text("utf-8")
)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{language}-{case['is'] or 'page'}-{case['title']}")
        for language, lists in SHORT_PAGES.items()
        for case in [*lists["tuned"], *lists["unseen"]]
    ],
)
def test_a_short_page_is_a_wall_only_if_little_is_left_besides_it(case: dict[str, Any]) -> None:
    form = "<form><input name=u><input type=password></form>" if "password" in case else ""
    lines = "".join(f"<p>{escape(line)}</p>" for line in case["text"].split("\n"))
    page = f"<!doctype html><title>{escape(case['title'])}</title><main>{lines}</main>{form}"
    if not case["is"]:
        found = read_body(page.encode(), "text/html; charset=utf-8").text
        assert case["text"].split("\n")[-1] in found
        return
    with pytest.raises(UnreadablePage) as caught:
        read_body(page.encode(), "text/html; charset=utf-8")
    assert (str(caught.value), caught.value.outcome) == WALLS[case["is"]]
