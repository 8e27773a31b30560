"""Links open a page at their quote: in a real browser, and by property."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.documents.reading import read_body
from agent.evidence import anchor_quote
from agent.evidence.text_fragments import browser_words, quote_link
from tests.evidence.test_evidence import source
from tests.support.browser import Browser, Tab
from tests.support.link_pages import FIND, HTML, TALL, prepare_page
from tests.support.page_server import PageServer, reply

MORE = "Much else was said about it, by many people, in papers that nobody reads any more. " * 4
CUP = "<tr><td>{}</td><td>Brazil</td><td>4–2</td><td>Santos</td></tr>"
#: What a page shows, the words quoted, and which of the places with those words is meant.
PAGES = [
    ("<p>Messi scored two goals in Lusail.</p>", "Messi scored two goals", 0),
    ("<p>Up 50% (to $3.5m), a 2-1 win &amp; more.</p>", "50% (to $3.5m), a 2-1 win & more", 0),
    ("<p>She said “It’s <b>on</b>ly – <i>a</i> game.”</p>", "said \"It's only - a game.", 0),
    ("<p>One line here<br>and another line there.</p>", "line here\nand another line", 0),
    ("<p>It won.<sup class=reference>[7]</sup> Then it lost all.</p>", "It won. Then it lost", 0),
    (f"<table>{CUP.format(1958)}{CUP.format(1962)}</table>", "1962 | Brazil | 4–2 | Santos", 0),
    (f"<p>He ran. The end.</p>{TALL}<p>She ran. The end.</p>", "The end", 1),
    ("<p>上周阿根廷夺得了世界杯冠军，大家都很高兴。</p>", "根廷夺得了世界", 0),
    ("<p dir=rtl>فازت الأرجنتين. من سجّل هدفين؟ ميسي.</p>", "من سجّل هدفين؟", 0),
]


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Tab]:
    with browser.tab(1000, 600) as tab:
        yield tab


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    with PageServer() as server:
        yield server


def opened(tab: Tab, server: PageServer, page: str, quote: str, nth: int) -> list[bool]:
    """For each place of the words whether its beginning is in view after opening the link."""
    nav = f"<nav>Final. Brazil. {'Menu. ' * 9}</nav>"
    main = f"<main>{page}<p>{MORE}</p></main>"
    body = prepare_page(f"<!doctype html><title>P</title><body>{nav}{main}</body>".encode())
    server.answers["/"] = reply(body, "200 OK", HTML)
    text = read_body(body, "text/html; charset=utf-8").text
    place = anchor_quote(quote, source(text))
    assert place, text
    start = [m.start() for m in re.finditer(re.escape(place.text), text)][nth]
    tab.open("about:blank")
    tab.open(quote_link(f"{server.url}/", text, start, start + len(place.text)))
    tab.settle()
    return [first for first, _ in tab.run(f"{FIND}({json.dumps(place.text)})")]


@pytest.mark.parametrize(("page", "quote", "nth"), PAGES)
def test_links_reach_quotes(tab: Tab, server: PageServer, page: str, quote: str, nth: int) -> None:
    assert opened(tab, server, page, quote, nth)[nth]


words = st.text(st.sampled_from("ab cé,.-&%|\n ;:()“”世界。ت\u064b"), min_size=1, max_size=80)


@given(words, st.data())
def test_a_link_names_words_of_its_page_in_their_order(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    named = quote_link("https://e.org/a#part:~:text=old", text, start, end)
    base, _, directives = named.partition(":~:")
    assert base.startswith("https://e.org/a#part") and re.fullmatch(r"[!-~]+", named)
    for directive in filter(None, directives.split("&")):
        terms = directive.removeprefix("text=").split(",")
        assert 1 <= len(terms) <= 4
        for term in terms:
            bare = unquote(term.removeprefix("-").removesuffix("-"))
            assert browser_words(bare).strip() in browser_words(text) and "\n" not in bare
        assert not any("-" in term.strip("-") for term in terms)


def test_a_link_needs_no_page() -> None:
    named = quote_link("https://e.org/a", "4-2, or so")
    assert named == "https://e.org/a#:~:text=4%2D2%2C%20or%20so"
    assert quote_link("https://e.org/a", " … ") == "https://e.org/a"
