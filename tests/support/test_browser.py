"""The browser that other tests look through shows what is there, and tells what was asked for."""

from __future__ import annotations

import pytest

from tests.support.browser import Browser
from tests.support.page_server import PageServer, reply

PAGE = b"""<!doctype html><title>A page</title><style>body { background: #fff }
@media (prefers-color-scheme: dark) { body { background: #000 } }</style>
<button onclick="document.title = 'pressed'">Press</button><input>
<script>fetch("https://example.org/spy").catch(() => console.error("no spy"))</script>"""


def test_a_tab_sees_clicks_types_and_tells_what_was_asked_for(browser: Browser) -> None:
    page = reply(PAGE, "200 OK", "Content-Type: text/html")
    with PageServer({"/page": page}) as server, browser.tab(390, 500, dark=True) as tab:
        tab.open(f"{server.url}/page")
        tab.click("button")
        tab.click("input")
        tab.type("words")
        seen = tab.run("[document.title, document.querySelector('input').value, innerWidth]")
        assert seen == ["pressed", "words", 390]
        assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(0, 0, 0)"
        dark = tab.screenshot()
        tab.set_viewport(390, 500)
        assert tab.screenshot() != dark and dark.startswith(b"\x89PNG")
        assert tab.wait("false", 0.01) is False
        assert tab.foreign_requests() == ["https://example.org/spy"] and "no spy" in tab.errors
        with pytest.raises(RuntimeError, match="nowhere"):
            tab.run("nowhere")
