"""Questions on the page: ask, watch, cancel, come back, read, follow up."""

from __future__ import annotations

import html
import json
import threading
from pathlib import Path

import pytest

from tests.server.page.driver import ENDED, EVIL, FOCUSED, Page, pause_model
from tests.support.browser import Browser
from tests.support.services import Raw, Services
from tests.support.web import Web, configure_from, wait_until
from tests.support.worlds import conflict, insufficient, one_hop, two_rounds

SMALL = """[...document.querySelectorAll('button:not(.marker), input, select, textarea, summary')]
  .filter(e => e.offsetParent && e.type !== 'radio' && e.getBoundingClientRect().height < 44)
  .map(e => e.outerHTML)"""


@pytest.mark.slow
def test_the_first_page_says_what_it_is_and_offers_what_works(page: Page) -> None:
    page.home()
    assert page.text("h1") == "Answers you can check"
    assert page.text("#model") == "gemini-3.8-flash · Google through SerpAPI"
    ways = page.tab.run("[...document.querySelectorAll('.ways strong')].map(e => e.textContent)")
    assert ways == ["Quick answer", "Facts", "Report"] and "Default" not in page.text()
    assert page.tab.run("document.querySelectorAll('#examples li').length") == 4
    quick = page.text("#price")
    assert "min, at most $" in quick
    page.tab.run("document.querySelector('input[value=report]').click()")
    assert page.text("#price") != quick and not page.is_visible("#slots")
    page.tab.run("document.querySelector('input[value=facts]').click()")
    assert page.is_visible("#slots")


@pytest.mark.slow
def test_facts_limits_and_sites_reach_the_run(page: Page) -> None:
    one_hop().set_up(page.services)
    page.home()
    page.tab.run("document.querySelector('.more').open = true")
    page.tab.run("document.getElementById('cap').value = '$0,05'")
    page.tab.run("document.getElementById('sites').value = 'a.example, b.example'")
    page.tab.run("document.getElementById('depth').value = 'quick'")
    page.ask(one_hop().topic, "facts", "winner; score")
    assert page.tab.wait(ENDED)
    live = page.web.runs.find(page.web.runs.list_newest(1)[0].id)
    assert live and live.answer and list(live.answer.slots) == ["winner", "score"]
    assert live.max_usd == 0.05


@pytest.mark.slow
def test_a_run_is_watched_then_found_again_after_a_reload(
    page: Page, gate: threading.Event
) -> None:
    world = two_rounds()
    reached = pause_model(world.set_up(page.services), gate)
    page.home()
    page.ask(world.topic)
    assert reached.wait(60) and page.tab.wait(
        "document.querySelectorAll('.pages .read').length > 3"
    )
    assert not page.is_visible("#home") and page.text("h1") != page.text("h2")
    assert page.tab.wait("document.querySelector('.facts')?.innerText.includes('Uppsala')")
    assert "On 1 page, not checked yet" in page.text(".facts")
    assert "could not be searched" in page.text(".plan")
    assert f"Ada Lindqvist was born in Uppsala.\n{page.web.base[7:16]}" in page.text(".found")
    assert page.tab.wait("document.querySelector('.state').textContent.includes('$')")
    assert page.is_visible(".state .live") and not page.is_visible(".state .ok")
    address = page.tab.run("location.href")
    page.tab.open(address)
    assert page.tab.wait("document.querySelectorAll('.pages .read').length > 3")
    assert page.text(".run h1") == world.topic and page.wait_for(".state .live")
    gate.set()
    assert page.tab.wait(ENDED) == "Answered" and "Uppsala [3]." in page.text(".answer")
    assert len([task for task in page.services.tasks() if task == "generate_queries"]) == 1


@pytest.mark.slow
def test_nothing_is_called_missing_while_it_is_looked_for(
    page: Page, gate: threading.Event
) -> None:
    world = one_hop()
    reached = pause_model(world.set_up(page.services), gate, "reflect")
    page.home()
    page.ask(world.topic)
    quoted = "document.querySelector('.found')?.innerText.includes('Argentina won the cup.')"
    assert reached.wait(60) and page.tab.wait(quoted) and page.wait_for(".facts")
    assert page.text(".facts").split("\n") == ["Facts", "Winner", "Looking", "Score", "Looking"]
    assert page.tab.run("document.querySelectorAll('.run .check, .run .ok').length") == 0


@pytest.mark.slow
def test_cancel_stops_the_run_and_says_what_is_kept(page: Page, gate: threading.Event) -> None:
    world = two_rounds()
    reached = pause_model(world.set_up(page.services), gate, "reflect")
    page.home()
    page.ask(world.topic)
    assert reached.wait(60) and page.wait_for(".cancel")
    page.tab.click(".cancel")
    assert page.tab.wait("document.querySelector('.live').textContent.startsWith('Cancelling')")
    wait_until(lambda: page.web.runs.list_newest(1)[0].cancelled)
    gate.set()
    assert page.tab.wait(ENDED) == "Stopped"
    assert "Nothing more is searched" in page.text(".note") and "is kept" in page.text(".note")
    assert "synthesize" not in page.services.tasks() and page.web.runs.load == (0, 0)


@pytest.mark.slow
def test_quotes_are_shown_next_to_their_sentences_and_walked_by_keys(page: Page) -> None:
    assert page.finish(one_hop()) == "Answered"
    assert page.text(".answer") == "The winner is Argentina [1]. The score is 4-2 [1]."
    assert page.text(".state").split("\n")[:2] == ["Answered", "2 sentences: 2 confirmed by quotes"]
    assert page.text(".card blockquote p") == "Argentina won the cup."
    assert "Confirmed by gemini-3.8-flash" in page.text(".card .why")
    link = "document.querySelector('.card .there')"
    assert page.tab.run(f"{link}.href").startswith(page.services.url("final") + "#:~:text=")
    assert page.tab.run(f"[{link}.rel, {link}.target]") == ["noopener noreferrer", "_blank"]
    second = "document.querySelectorAll('.marker')[1]"
    page.press_key("n")
    assert page.tab.wait(f"{second}.getAttribute('aria-expanded') === 'true'")
    assert page.text(".card blockquote p") == "The score was 3-3, then 4-2."
    assert page.tab.run(f"{FOCUSED}.getAttribute('aria-label')").startswith("Quote 1, from ")
    page.tab.press("Escape")
    assert not page.is_visible(".card") and page.tab.run(f"{FOCUSED} === {second}")
    page.press_key("p")
    assert page.tab.wait("document.querySelector('.marker').ariaExpanded === 'true'")
    page.home()
    page.tab.run(f"{FOCUSED}.blur()")
    page.press_key("/")
    assert page.tab.wait(f"{FOCUSED}.id === 'question'")


@pytest.mark.slow
def test_sources_that_disagree_come_before_the_answer_and_fit_a_phone(page: Page) -> None:
    assert page.finish(conflict()) == "Sources disagree"
    sides = page.text(".disagreement").split("\n")
    assert sides[0] == "Sources disagree: winner"
    assert sides.index("Argentina [1]") < sides.index("France [2]")
    before = "document.querySelector('.disagreement').compareDocumentPosition({}) & 4"
    assert page.tab.run(before.format("document.querySelector('.answer')")) == 4
    assert page.text().count("France [2]") == 1 and not page.is_visible(".slots"), "said once"
    page.tab.set_viewport(320, 640)
    page.tab.settle()
    assert page.tab.run(f"[{SMALL}, document.documentElement.scrollWidth]") == [[], 320]


@pytest.mark.slow
def test_without_an_answer_the_searches_and_what_to_try_are_shown(page: Page) -> None:
    assert page.finish(insufficient()) == "Not found"
    assert "do not answer this question" in page.text(".answer")
    assert "Velmora Works shoes" in page.text(".margin .searches")
    assert "at most $" in page.text("[id$=-tries] .deeper")
    address = page.tab.run("location.href")
    page.tab.run("document.querySelector('.deeper button').click()")
    assert page.tab.wait(f"location.href !== {json.dumps(address)}")
    wait_until(lambda: page.web.runs.list_newest(1)[0].state == "ended")
    assert page.wait_for(".deeper button") and page.tab.wait(ENDED) == "Not found"
    page.tab.run("document.querySelector('.rephrase button').click()")
    assert page.tab.run("document.getElementById('question').value") == insufficient().topic


@pytest.mark.slow
def test_a_follow_up_is_asked_below_the_answer(
    browser: Browser, world: Services, tmp_path: Path
) -> None:
    environment = world.environment(tmp_path, CACHE_TTL="0")
    with Web(configure_from(environment)) as web, browser.tab() as tab:
        page = Page(tab, web, world)
        assert page.finish(one_hop()) == "Answered"
        tab.run(f"{FOCUSED}.blur()")
        page.press_key("/")
        tab.type("What was the score?")
        tab.press("Enter")
        assert tab.wait("document.querySelectorAll('.run').length === 2")
        assert tab.wait(ENDED) and page.text("#problem") == ""
        first, second = web.runs.list_newest(2)[::-1]
        assert second.question == "What was the score?"
        follows = web.client.get(f"/api/runs/{second.id}/answer").json()["run"]["follows"]
        assert follows["run"] == first.id
        titles = "[...document.querySelectorAll('.run h1')].map(e => e.textContent)"
        assert tab.run(titles) == [one_hop().topic, "What was the score?"]
        tab.run("history.back()")
        assert tab.wait(f"{titles}.length === 1") and first.id in tab.run("location.search")
        assert tab.foreign_requests() == [] and tab.errors == []


@pytest.mark.slow
def test_what_others_write_is_text(page: Page) -> None:
    """Of the question, pages, their titles and addresses, quotes, slots and errors."""
    winner = f"Ada {EVIL}"
    quote = f"The winner is {winner}."
    page.services.think = lambda asked: {
        "generate_queries": {"queries": ["a"], "slots": [{"name": EVIL, "description": EVIL}]},
        "reflect": {
            "slots": [{"name": EVIL, "value": winner, "source": 1, "quote": quote}],
            "need_more": False,
            "new_queries": [],
        },
        "synthesize": {
            "answer": f"{quote[:-1]} [1].",
            "citations": [{"source": 1, "quote": quote}],
        },
        "verify": {"verdicts": [{"claim": 1, "verdict": "supported", "source": 1}]},
    }[asked.task]
    body = f"<title>{html.escape(EVIL)}</title><p>{html.escape(quote)}</p>"
    page.services.pages = {"evil": Raw(200, body, {"Content-Type": "text/html"})}
    page.services.hits = lambda query: ["evil", "gone"]
    page.home()
    page.ask(f"Who is {EVIL}?")
    assert page.tab.wait(ENDED) == "Answered"
    assert EVIL in page.text(".card") and EVIL in page.text("h1:focus")
    assert f"{EVIL}\t{winner} [1]" in page.text(".slots")
    strange = "document.querySelectorAll('.run img, .run script, #earlier img').length"
    assert page.tab.run(strange) == 0
    script = "import('/ui/element.js').then(m => [{}].map(u => m.link(u, 'x').localName))"
    for url in ("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//x", "x"):
        assert page.tab.run(script.format(json.dumps(url))) == ["span"]
    assert page.tab.run(script.format('"https://example.org/"')) == ["a"]


@pytest.mark.slow
def test_after_a_lost_connection_the_run_is_followed_again(
    page: Page, gate: threading.Event
) -> None:
    reached = pause_model(one_hop().set_up(page.services), gate)
    page.home()
    page.ask(one_hop().topic)
    assert reached.wait(60) and page.wait_for(".state .live")
    page.tab.call("Network.setBlockedURLs", urls=["*/api/runs/*"])
    lost = "document.querySelector('.note')?.innerText.includes('connection was lost')"
    assert page.tab.wait(lost) and page.wait_for(".state .live")
    gate.set()
    page.tab.call("Network.setBlockedURLs", urls=[])
    assert page.tab.wait(ENDED) == "Answered" and page.text(".note") == ""
    page.tab.errors.clear()  # of the requests that were blocked
