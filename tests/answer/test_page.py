"""A report in a real browser: readable in light, dark, on a phone and on paper; it asks nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.answer.formats import to_html
from agent.answer.schema import Answer
from tests.answer.test_render import EVIL, hostile
from tests.support.browser import Browser, Tab
from tests.support.page_server import PageServer, reply
from tests.support.reports import world_cup_answer

HTML = "Content-Type: text/html; charset=utf-8"
#: Every element with text of its own whose contrast with what is behind it is too low (WCAG AA).
PALE = """(() => {
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parts(c).slice(0, 3).map(v => { v /= 255;
    return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { const c = getComputedStyle(e).backgroundColor;
    return parts(c)[3] === 0 ? ground(e.parentElement) : c; };
  return [...document.querySelectorAll('body *')]
    .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
    .map(e => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort();
      return [e.tagName, e.className, (b + .05) / (a + .05)]; })
    .filter(([, , ratio]) => ratio < 4.5);
})()"""
#: What reaches out of the page to the right.
WIDE = """[...document.querySelectorAll('body *:not(.skip)')]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"""
#: What the landmarks of the page are called.
NAMES = """[...document.querySelectorAll('section')]
  .map(e => document.getElementById(e.getAttribute('aria-labelledby')).textContent)"""
#: Links that lead to no place of the page, and places of the same name.
DEAD = """[...document.links].map(a => a.getAttribute('href'))
  .filter(to => to[0] === '#' && !document.getElementById(to.slice(1)))"""
TWICE = """[...document.querySelectorAll('[id]')].map(e => e.id)
  .filter((id, i, all) => all.indexOf(id) !== i)"""


@pytest.fixture(scope="module")
def answer() -> Answer:
    return world_cup_answer()


@pytest.fixture(scope="module")
def tab(
    browser: Browser, answer: Answer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tab]:
    """The report, opened as a file."""
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(to_html(answer), "utf-8")
    with browser.tab(1100, 900) as opened:
        opened.open(file.as_uri())
        yield opened


def style(tab: Tab, selector: str, name: str) -> str:
    return str(tab.run(f"getComputedStyle(document.querySelector('{selector}')).{name}"))


@pytest.mark.slow
@pytest.mark.parametrize("width, dark", [(1100, True), (360, False)])
def test_it_is_readable(width: int, dark: bool, tab: Tab, tmp_path: Path) -> None:
    tab.set_viewport(width, 740, dark=dark)
    ground = "rgb(22, 24, 27)" if dark else "rgb(252, 252, 250)"
    assert style(tab, "body", "backgroundColor") == ground
    assert tab.run(PALE) == []
    assert tab.run("document.documentElement.scrollWidth") == width and tab.run(WIDE) == []
    line = tab.run("document.querySelector('.answer').getBoundingClientRect().width")
    assert line <= 46 * 16  # a line of text that is longer is hard to read
    tab.screenshot(tmp_path / "page.png", whole=True)
    assert tab.errors == [] and len(tab.requests) == 1  # for the page itself


def test_a_marker_leads_to_its_quote_by_mouse_and_by_keyboard(tab: Tab) -> None:
    tab.set_viewport(1100, 740)
    tab.click("#findings a.marker[data-source='3']")
    seen = """(() => { const e = document.querySelector('#quote-3-1 blockquote');
      const r = e.getBoundingClientRect();
      return [e.textContent, r.top >= 0 && r.bottom <= innerHeight]; })()"""
    assert tab.run(seen) == ["The final had 6 goals.", True]
    assert style(tab, "#quote-3-1", "outlineStyle") == "solid"
    assert style(tab, "#quote-3-1", "backgroundColor") != style(tab, "body", "backgroundColor")
    assert tab.run("document.activeElement.id") == "quote-3-1"  # where reading goes on
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "Open the page at this quote"
    assert tab.run(PALE) == []


def test_it_has_landmarks_headings_languages_and_directions(tab: Tab, answer: Answer) -> None:
    assert answer.report
    tab.set_viewport(1100, 740)
    levels = tab.run("[...document.querySelectorAll('h1,h2,h3')].map(e => +e.tagName[1])")
    steps = zip(levels, levels[1:], strict=False)
    assert levels.count(1) == 1 and all(b <= a + 1 for a, b in steps)
    marks = "['header', 'main', 'footer', 'nav'].map(e => document.querySelectorAll(e).length)"
    assert tab.run(marks) == [1, 1, 1, 1] and tab.run("document.documentElement.lang") == "en"
    assert "Conflicting Information" in tab.run(NAMES)
    assert tab.run(DEAD) == [] and tab.run(TWICE) == []
    assert style(tab, "#theme-3 + p", "direction") == "rtl"
    assert tab.run("document.querySelector('#theme-2 + p').lang") == "zh"


def test_a_hostile_page_is_inert(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(to_html(hostile(" ".join(EVIL))), "utf-8")
    with browser.tab(360, 740) as tab:
        tab.open(file.as_uri())
        tab.settle()
        assert tab.requests == [file.as_uri()] and tab.errors == []
        assert tab.run("document.querySelectorAll('script, img, iframe, [onerror]').length") == 0
        assert tab.run("[...document.links].every(a => a.hash && a.pathname === location.pathname)")
        assert tab.run("document.documentElement.scrollWidth") == 360


def test_the_policy_stops_what_should_never_get_in(browser: Browser, answer: Answer) -> None:
    """Were markup to get through: no script runs, nothing is asked for."""
    spy = "<script>document.title = 'owned'</script><img src='/spy' onerror='document.title=1'>"
    broken = to_html(answer).replace("<main>", f"<main>{spy}")
    server = PageServer({"/report": reply(broken.encode(), "200 OK", HTML)})
    with server, browser.tab(600, 400) as tab:
        tab.open(f"{server.url}/report")
        assert tab.run("document.querySelectorAll('main > script, main > img').length") == 2
        assert tab.run("document.title") == "The 2022 FIFA World Cup final"
        assert server.paths == ["/report"]
