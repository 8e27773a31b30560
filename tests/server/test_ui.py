"""The page of the HTTP server in a real browser: ask, watch, cancel, come back, read, check."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.calls.journal_reader import read_header
from tests.support.browser import Browser, Tab
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.web import Web, configure_from, wait_until
from tests.support.worlds import World, conflict, insufficient, one_hop, report_world, two_rounds

AXE = "axe-core@4.14.1"
ENDED = "document.querySelector('.run:last-child .state strong:not(.live)')?.textContent"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
#: What reaches out of the page to the right.
WIDE = """[...document.querySelectorAll('body *')]
  .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.outerHTML)"""
#: Buttons and fields that a finger misses; numbers stand in running text, and are widened there.
SMALL = """[...document.querySelectorAll('button:not(.marker), input, select, textarea, summary')]
  .filter(e => e.offsetParent && e.type !== 'radio' && e.getBoundingClientRect().height < 44)
  .map(e => e.outerHTML)"""
FOCUSED = "document.activeElement"


class Page:
    """The page in a tab, and the world that it asks about."""

    def __init__(self, tab: Tab, web: Web, services: Services) -> None:
        self.tab, self.web, self.services = tab, web, services

    def home(self, path: str = "/") -> None:
        self.tab.open(self.web.base + path)
        assert self.tab.wait("document.querySelector('#examples li') !== null")

    def ask(self, question: str, way: str = "quick", slots: str = "") -> None:
        self.tab.run(f"document.querySelector('input[value={way}]').click()")
        for name, value in {"question": "", "slots": slots}.items():
            self.tab.run(f"document.getElementById({name!r}).value = {json.dumps(value)}")
        self.tab.click("#question")
        self.tab.type(question)
        self.tab.press("Enter")

    def finish(self, world: World, way: str = "quick") -> str:
        """Ask about a world, and wait for its end: how it ended, in words."""
        world.set_up(self.services)
        self.home()
        self.ask(world.topic, way)
        return str(self.tab.wait(ENDED))

    def text(self, selector: str = "body") -> str:
        return str(self.tab.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def there(self, selector: str) -> bool:
        return bool(self.tab.wait(f"document.querySelector({json.dumps(selector)}) !== null"))

    def shown(self, selector: str) -> bool:
        """Whether an element is there and can be seen."""
        found = f"document.querySelector({json.dumps(selector)})"
        return bool(self.tab.run(f"Boolean({found}?.checkVisibility())"))

    def press_key(self, key: str) -> None:
        """Press a key that types a character, where no field has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.tab.call("Input.dispatchKeyEvent", type=kind, key=key)


@pytest.fixture(scope="module")
def world() -> Iterator[Services]:
    with Services() as running:
        yield running


@pytest.fixture(scope="module")
def web(world: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    environment = world.environment(tmp_path_factory.mktemp("ui"), CACHE_TTL="0")
    with Web(configure_from(environment)) as running:
        yield running


@pytest.fixture
def page(browser: Browser, web: Web, world: Services) -> Iterator[Page]:
    """A tab that has asked nothing yet; at its end, nothing asked elsewhere, no script failed."""
    world.fault = lambda: None
    with browser.tab(1280, 900) as tab:
        yield Page(tab, web, world)
        assert tab.foreign_requests() == [] and tab.errors == []


@pytest.fixture
def gate(world: Services) -> Iterator[threading.Event]:
    """Whoever calls `held` finds the last answer of the model waiting for this."""
    event = threading.Event()
    yield event
    event.set()


def held(services: Services, gate: threading.Event, task: str = "verify") -> threading.Event:
    """The model waits with a task until the gate opens; set when it is asked."""
    think, reached = services.think, threading.Event()

    def slow(asked: ModelRequest) -> Reply:
        if asked.task == task:
            reached.set()
            gate.wait(60)
        return think(asked)

    services.think = slow
    return reached


# --- the first page ------------------------------------------------------------------------------


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
    assert page.text("#price") != quick and not page.shown("#slots")
    page.tab.run("document.querySelector('input[value=facts]').click()")
    assert page.shown("#slots")


@pytest.mark.slow
def test_an_example_is_asked_as_it_says(page: Page) -> None:
    one_hop().set_up(page.services)
    page.home()
    example = "document.querySelectorAll('#examples button')[1]"
    assert page.tab.run(f"{example}.innerText").endswith("Facts")
    page.tab.run(f"{example}.click()")
    assert page.tab.wait("document.querySelector('.run h1')?.textContent.includes('Nokia')")
    assert page.tab.wait(ENDED) and "head office\tnot found" in page.text(".slots")


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
    assert page.tab.run("document.documentElement.scrollTop") == 0
    page.home()
    page.tab.run("document.getElementById('cap').value = 'much'")
    page.ask("How much is it?")
    assert "not an amount in dollars" in page.text("#problem")


# --- while it runs -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_is_watched_then_found_again_after_a_reload(
    page: Page, gate: threading.Event
) -> None:
    world = two_rounds()
    reached = held(world.set_up(page.services), gate)
    page.home()
    page.ask(world.topic)
    assert reached.wait(60) and page.tab.wait(
        "document.querySelectorAll('.pages .read').length > 3"
    )
    assert not page.shown("#home") and page.text("h1") != page.text("h2")
    assert page.tab.wait("document.querySelector('.facts')?.innerText.includes('Uppsala')")
    assert "On 1 page, not checked yet" in page.text(".facts")
    assert "Ada Lindqvist born in city\n1 page read" in page.text(".plan")
    assert "could not be searched" in page.text(".plan")
    assert f"Ada Lindqvist was born in Uppsala.\n{page.web.base[7:16]}" in page.text(".found")
    assert "excerpt was read: there is no such page" in page.text(".searches")
    assert page.tab.wait("document.querySelector('.state').textContent.includes('$')")
    assert page.shown(".state .live") and not page.shown(".state .ok")
    address = page.tab.run("location.href")
    page.tab.open(address)
    assert page.tab.wait("document.querySelectorAll('.pages .read').length > 3")
    assert page.text(".run h1") == world.topic and page.there(".state .live")
    gate.set()
    assert page.tab.wait(ENDED) == "Answered" and "Uppsala [3]." in page.text(".answer")
    assert len([task for task in page.services.tasks() if task == "generate_queries"]) == 1


@pytest.mark.slow
def test_nothing_is_called_missing_while_it_is_looked_for(
    page: Page, gate: threading.Event
) -> None:
    world = one_hop()
    reached = held(world.set_up(page.services), gate, "reflect")
    page.home()
    page.ask(world.topic)
    quoted = "document.querySelector('.found')?.innerText.includes('Argentina won the cup.')"
    assert reached.wait(60) and page.tab.wait(quoted) and page.there(".facts")
    assert page.text(".facts").split("\n") == ["Facts", "Winner", "Looking", "Score", "Looking"]
    assert page.tab.run("document.querySelectorAll('.run .check, .run .ok').length") == 0
    # motion is left out where it is not wanted
    moving = "document.getAnimations().filter(a => a.playState === 'running').length"
    assert page.there(".live .turn") and page.tab.run(moving) > 0
    page.tab.set_viewport(1280, 900, motion=False)
    page.tab.settle()
    assert page.tab.run(moving) == 0
    gate.set()
    assert page.tab.wait(ENDED) == "Answered"


@pytest.mark.slow
def test_cancel_stops_the_run_and_says_what_is_kept(page: Page, gate: threading.Event) -> None:
    world = two_rounds()
    reached = held(world.set_up(page.services), gate, "reflect")
    page.home()
    page.ask(world.topic)
    assert reached.wait(60) and page.there(".cancel")
    page.tab.click(".cancel")
    assert page.tab.wait("document.querySelector('.live').textContent.startsWith('Cancelling')")
    live = page.web.runs.list_newest(1)[0]
    wait_until(lambda: page.web.runs.list_newest(1)[0].cancelled)
    gate.set()
    assert page.tab.wait(ENDED) == "Stopped"
    assert "Nothing more is searched" in page.text(".note") and "is kept" in page.text(".note")
    assert "synthesize" not in page.services.tasks() and page.web.runs.load == (0, 0)
    assert live.id in page.tab.run("location.search")
    assert page.tab.run(f"{FOCUSED}.localName") == "h1"
    page.tab.click(".bar nav a")
    assert page.tab.wait("document.querySelector('#earlier li')?.innerText.includes('Stopped')")


# --- the answer, and its quotes ------------------------------------------------------------------


@pytest.mark.slow
def test_the_first_quote_stands_beside_its_sentence(page: Page) -> None:
    assert page.finish(one_hop()) == "Answered"
    assert page.text(".answer") == "The winner is Argentina [1]. The score is 4-2 [1]."
    assert page.text(".state").split("\n")[:2] == ["Answered", "2 sentences: 2 confirmed by quotes"]
    assert page.tab.run(f"{FOCUSED}.textContent") == one_hop().topic
    quote, sentence = page.text(".card blockquote"), ".sentence.open"
    assert quote == "Argentina won the cup."
    assert page.text(".card blockquote p") == "Argentina won the cup."
    assert "Confirmed by gemini-3.8-flash" in page.text(".card .why")
    tops = page.tab.run(
        f"['.card', '{sentence}'].map(s => document.querySelector(s).getBoundingClientRect().top)"
    )
    assert abs(tops[0] - tops[1]) < 4
    same = "getComputedStyle(document.querySelector('{}')).backgroundColor"
    assert page.tab.run(same.format(sentence)) == page.tab.run(same.format(".card blockquote p"))
    link = "document.querySelector('.card .there')"
    assert page.tab.run(f"{link}.href").startswith(page.services.url("final") + "#:~:text=")
    assert page.tab.run(f"[{link}.rel, {link}.target]") == ["noopener noreferrer", "_blank"]
    # quotes are walked through by keys
    second = "document.querySelectorAll('.marker')[1]"
    page.press_key("n")
    assert page.tab.wait(f"{second}.getAttribute('aria-expanded') === 'true'")
    assert page.text(".card blockquote p") == "The score was 3-3, then 4-2."
    assert page.tab.run(f"{FOCUSED}.className") == "card"
    assert page.tab.run(f"{FOCUSED}.getAttribute('aria-label')").startswith("Quote 1, from ")
    page.tab.press("Tab")
    assert page.tab.run(f"{FOCUSED}.className") == "there"
    page.tab.press("Escape")
    assert not page.shown(".card") and page.tab.run(f"{FOCUSED} === {second}")
    page.press_key("p")
    assert page.tab.wait("document.querySelector('.marker').ariaExpanded === 'true'")
    page.home()
    page.tab.run(f"{FOCUSED}.blur()")
    page.press_key("/")
    assert page.tab.wait(f"{FOCUSED}.id === 'question'")


@pytest.mark.slow
@pytest.mark.parametrize("height", [844, 560])
def test_on_a_phone_the_quote_is_a_sheet_below_its_sentence(page: Page, height: int) -> None:
    page.tab.set_viewport(390, height, motion=False)
    page.finish(one_hop())
    answer = "document.querySelector('.answer').getBoundingClientRect()"
    assert page.tab.run(f"{answer}.top") < height / 2 and not page.shown(".card")
    page.tab.run("document.querySelector('.answer').style.paddingTop = '30rem'")  # a long one
    page.tab.run("scrollTo(0, 0)")
    page.tab.run("document.querySelectorAll('.answer .marker')[1].click()")
    assert page.shown(".card .close")
    page.tab.settle()
    ends = page.tab.run(
        "[document.querySelector('.sentence.open').getBoundingClientRect().bottom,"
        " document.querySelector('.card').getBoundingClientRect().top]"
    )
    assert ends[0] <= ends[1] and page.tab.run(WIDE) == []
    page.tab.click(".card .close")
    assert not page.shown(".card") and page.tab.run(f"{FOCUSED}.className") == "marker"


@pytest.mark.slow
def test_a_long_question_leaves_room_for_its_answer(page: Page) -> None:
    one_hop().set_up(page.services)
    page.tab.set_viewport(390, 844)
    page.home()
    page.ask(f"{one_hop().topic} {'من ربح؟ ' * 100} {'x' * 900}")
    assert page.tab.wait(ENDED)
    below = "document.querySelector('.state').getBoundingClientRect().bottom"
    assert page.tab.run(below) < 844 / 2 and page.tab.run(WIDE) == []
    assert page.tab.run("document.querySelector('.run h1').tabIndex") == 0


@pytest.mark.slow
def test_sources_are_told_in_words_and_on_paper(page: Page) -> None:
    page.finish(one_hop())
    assert "Not rated" not in page.text()
    assert "\t1 source" in page.text(".slots") and not page.shown(".source .quote")
    for word in ("filled", "weight", "credibility"):
        assert word not in page.text()
    assert "2 quotes found on the page, word for word." in page.text(".checks")
    page.tab.call("Emulation.setEmulatedMedia", media="print")
    assert page.services.url("final") in page.text(".source")
    assert "Argentina won the cup." in page.text(".source .quote")
    for gone in (".bar", ".tools", ".margin"):
        assert not page.shown(gone), gone


@pytest.mark.slow
def test_sources_that_disagree_come_before_the_answer_and_fit_a_phone(page: Page) -> None:
    assert page.finish(conflict()) == "Sources disagree"
    sides = page.text(".disagreement").split("\n")
    assert sides[0] == "Sources disagree: winner"
    assert sides.index("Argentina [1]") < sides.index("France [2]")
    sizes = page.tab.run(
        "[...document.querySelectorAll('.side .value')].map(e => getComputedStyle(e).fontSize)"
    )
    assert len(sizes) == 2 and len(set(sizes)) == 1
    before = "document.querySelector('.disagreement').compareDocumentPosition({}) & 4"
    assert page.tab.run(before.format("document.querySelector('.answer')")) == 4
    assert page.text().count("France [2]") == 1 and not page.shown(".slots"), "said once"
    page.tab.set_viewport(320, 640)
    page.tab.settle()
    assert page.tab.run(f"[{SMALL}, document.documentElement.scrollWidth]") == [[], 320]
    page.tab.run("[...document.querySelectorAll('.answer .marker')].at(-1).click()")
    assert page.shown(".card") and page.tab.run(WIDE) == []


@pytest.mark.slow
def test_where_nothing_is_found_what_was_searched_and_what_to_try_are_told(page: Page) -> None:
    assert page.finish(insufficient()) == "Not found"
    assert "do not answer this question" in page.text(".answer")
    assert not page.shown("[id$=-closest]"), "no page has the rare words of the question"
    assert "Velmora Works shoes" in page.text(".margin .searches")
    deeper, rephrase = page.text("[id$=-tries] ul").split("\n")[::2]
    assert deeper.startswith("Search deeper") and rephrase == "Ask in other words"
    assert "at most $" in page.text("[id$=-tries] .deeper")
    address = page.tab.run("location.href")
    page.tab.run("document.querySelector('.deeper button').click()")
    assert page.tab.wait(f"location.href !== {json.dumps(address)}")
    wait_until(lambda: page.web.runs.list_newest(1)[0].state == "ended")
    assert page.there(".deeper button") and page.tab.wait(ENDED) == "Not found"
    page.tab.run("document.querySelector('.rephrase button').click()")
    assert page.tab.run("document.getElementById('question').value") == insufficient().topic


@pytest.mark.slow
def test_a_report_is_read_from_its_summary_on(page: Page) -> None:
    assert page.finish(report_world(), "report") == "Answered"
    assert "In short, the founder is Ada Lindqvist [1]." in page.text(".answer")
    assert report_world().topic in page.text("[id$=-findings] h3")
    assert "there is no such page" in page.text(".warnings")
    assert "Not checked: whether the pages" in page.text(".checks")
    assert page.shown(".contents")


# --- a plan first --------------------------------------------------------------------------------


PLANNED = {
    "sections": [
        {"heading": "Founder", "questions": ["Who founded Velmora Works?"]},
        {"heading": EVIL, "questions": []},
        {"heading": "City", "questions": ["Where was the founder born?"], "after": [1]},
    ],
    "prioritized_sub_queries": [{"query": "founder of Velmora Works", "section": 1}],
    "unclear": [{"question": "Which works?", "changes_plan": True}],
}


@pytest.mark.slow
def test_a_plan_is_changed_by_keyboard_before_anything_is_searched(page: Page) -> None:
    world, asked = report_world(), []
    world.set_up(page.services)
    think = page.services.think

    def plan_or_think(request: ModelRequest) -> Reply:
        asked.append(request.prompt)
        return PLANNED if request.task == "plan" else think(request)

    page.services.think = plan_or_think
    tab, before = page.tab, len(page.services.search_queries)
    page.home()
    tab.run("document.querySelector('input[value=report]').click()")
    assert not tab.run("document.querySelector('[name=plan]').checked")  # only if asked
    tab.click("[name=plan]")
    page.ask(world.topic, "report")
    assert page.there("#view h1:focus") and page.text("#plan-sections") == "3 sections"
    tab.click("#unclear-0")
    tab.type("The pump works")
    tab.press("Enter")
    wait_until(lambda: "The pump works" in asked[-1])
    assert tab.wait("document.querySelector('.sections') && !document.querySelector('#unclear-0')")
    assert len(page.services.search_queries) == before
    heads = "[...document.querySelectorAll('.sections input')].map(e => e.value)"
    tab.run("document.querySelectorAll('.sections .up')[2].focus()")
    tab.press("Enter")
    assert tab.run(heads) == ["Founder", "City", EVIL]
    assert tab.run(f"{FOCUSED}.className") == "up"
    tab.run("document.querySelectorAll('.sections .plain')[2].focus()")
    tab.press("Enter")
    assert tab.run(f"{FOCUSED}.value") == "City"  # the row that stands there now
    tab.run("document.querySelector('.sections input').select()")
    tab.type("Who began it")
    tab.run("document.querySelector('.sections .down').click()")
    assert tab.run(heads) == ["City", "Who began it"]
    tab.run("document.querySelector('.planned > button').click()")
    tab.type("What else")
    page.there(".sections li:nth-child(3)")
    tab.run("document.querySelector('#view button.main').click()")
    assert tab.wait(ENDED)
    live = page.web.runs.find(page.web.runs.list_newest(1)[0].id)
    assert live
    header = read_header(page.web.runs.library.require(live.id))
    sections = header.settings["plan"]["sections"]
    assert [one["heading"] for one in sections] == ["City", "Who began it", "What else"]
    assert sections[0]["after"] == ["Who began it"]
    tab.run("history.back()")
    assert tab.wait("document.querySelector('#home').checkVisibility()")


# --- a check -------------------------------------------------------------------------------------


def check(page: Page, act: str) -> str:
    """Open the form of a check, and give it the report `REPORT`; how the check ended."""
    one_hop().set_up(page.services)
    final = page.services.url("final")
    cited = "Argentina won the cup. [1] France won it in 1998 [1]."
    others = f"Many people like football very much. {EVIL}"
    report = f"# Cups 🏆\n\n{cited}\n\n{others}\n\n[1] {final}\n"
    page.home("/?check")
    assert page.shown("#report") and not page.shown("#question")
    page.tab.run(f"window.REPORT = {json.dumps(report)}; {act}")
    return str(page.tab.wait(ENDED))


PASTED = """document.getElementById('report').value = REPORT;
  document.getElementById('check').requestSubmit()"""
DROPPED = """const data = new DataTransfer();
  data.items.add(new File([REPORT], 'cups.md'));
  document.getElementById('check').dispatchEvent(
    new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))"""


@pytest.mark.slow
@pytest.mark.parametrize("act", [PASTED, DROPPED])
def test_a_report_is_checked_where_it_is_given(page: Page, act: str) -> None:
    assert check(page, act) == "1 sentence does not hold"
    assert page.text(".run h1") == "Cups 🏆"
    assert "2 with a source, 1 source" in page.text(".body")
    assert page.text(".sentence.supported") == "Argentina won the cup."
    assert not page.shown(".evidence.supported")
    page.press_key("n")
    failing = "document.activeElement.closest('.row').querySelector('.evidence:not(.supported)')"
    assert page.tab.run(f"{failing}.open") and "not on the page" in page.tab.run(
        f"{FOCUSED}.innerText"
    )
    page.tab.click(".verdict.supported")
    assert "Argentina won the cup." in page.text(".evidence.supported blockquote")
    assert EVIL in page.text("[id$=-report]") and "Without a source" in page.text(".body")


def test_a_check_of_nothing_says_what_is_missing(page: Page) -> None:
    page.home("/?check")
    page.tab.run("document.getElementById('check').requestSubmit()")
    assert "Paste a report first" in page.text("#problem")


# --- files to ask about --------------------------------------------------------------------------


def drop(tab: Tab, **files: str) -> None:
    """Drop files on the page: names, with `_` for the dot, and contents."""
    made = ", ".join(
        f"new File([{json.dumps(text)}], {json.dumps(name.replace('_', '.'))})"
        for name, text in files.items()
    )
    tab.run(
        f"const data = new DataTransfer(); for (const one of [{made}]) data.items.add(one);"
        "document.body.dispatchEvent(new DragEvent('drop',"
        " {dataTransfer: data, bubbles: true, cancelable: true}))"
    )


@pytest.mark.slow
def test_files_that_are_dropped_are_asked_about(browser: Browser, tmp_path: Path) -> None:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    served = configure_from(environment, offline=True, api_documents=True)
    with Web(served) as web, browser.tab() as tab:
        page = Page(tab, web, None)  # type: ignore[arg-type]
        page.home()
        drop(tab, bridge_md="The Velmora bridge was opened in 1931.", no_exe="MZ", more_txt=EVIL)
        assert tab.wait("document.querySelectorAll('#documents button').length === 2")
        assert "bridge.md" in page.text("#documents")
        assert "no.exe is not a supported type" in page.text("#problem")
        page.home()  # the tab still has them
        tab.click("#documents li:last-child button")
        assert tab.wait("document.querySelectorAll('#documents button').length === 1")
        page.ask("When was the Velmora bridge opened?")
        assert tab.wait(ENDED) and "1931" in page.text(".answer")
        tab.run("document.querySelector('.on textarea').value = 'Was the Velmora bridge opened?'")
        tab.run("document.querySelector('.on').requestSubmit()")
        assert tab.wait("document.querySelectorAll('.run').length === 2") and tab.wait(ENDED)
        assert "corpus:bridge.md" in str(web.runs.find(web.runs.list_newest(1)[0].id).answer)
        for place in (".bar nav a", "#documents button"):  # the page may still scroll to the answer
            tab.run(f"document.querySelector({json.dumps(place)}).click()")
        assert tab.wait("document.getElementById('documents').hidden")
        wait_until(lambda: not list((tmp_path / "cache/documents").glob("*")))
        assert tab.foreign_requests() == []


# --- asking on, and taking along -----------------------------------------------------------------


@pytest.mark.slow
def test_a_follow_up_is_asked_below_the_answer(
    browser: Browser, world: Services, tmp_path: Path
) -> None:
    environment = world.environment(tmp_path, CACHE_TTL="0")
    with Web(configure_from(environment)) as web, browser.tab() as tab:
        page = Page(tab, web, world)
        assert page.finish(one_hop()) == "Answered"
        tab.run("document.querySelector('.on').requestSubmit()")
        assert "Write a question first." in page.text("#problem")
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
        assert tab.run("document.querySelectorAll('.on').length") == 1
        assert second.id in tab.run("location.search")
        tab.run("history.back()")
        assert tab.wait(f"{titles}.length === 1") and first.id in tab.run("location.search")
        assert tab.foreign_requests() == [] and tab.errors == []


@pytest.mark.slow
def test_an_answer_is_taken_along(page: Page, tmp_path: Path) -> None:
    page.finish(one_hop())
    press = "[...document.querySelectorAll('.tools button')].find(b => b.textContent === {!r})"
    page.tab.run("navigator.clipboard.writeText = async (text) => { window.taken = text; }")
    link = page.tab.run(f"window.pressed = {press.format('Copy link')}; pressed.click()")
    assert page.tab.wait("window.taken") == page.tab.run("location.href") and link is None
    assert page.tab.wait("pressed.textContent === 'Copied'")
    assert page.tab.wait("pressed.textContent === 'Copy link'")
    page.tab.run(f"{press.format('Copy Markdown')}.click()")
    assert page.tab.wait("window.taken.startsWith('# Who won')")
    page.tab.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    for label, suffix in (("HTML page", "html"), ("Markdown", "md"), ("JSON", "json")):
        page.tab.click(".menu summary")
        page.tab.run(f"{press.format(label)}.click()")
        wait_until(lambda suffix=suffix: list(tmp_path.glob(f"*.{suffix}")))
        page.tab.press("Escape")
        assert not page.tab.run("document.querySelector('.menu').open")
    saved = [file.read_text("utf-8") for file in tmp_path.iterdir()]
    assert len(saved) == 3 and not any("/runs/" in text for text in saved)


# --- what is kept --------------------------------------------------------------------------------


@pytest.fixture
def kept(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A tab, and a server without a model that has only what its test puts there."""
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    served = configure_from(environment, offline=True)
    with Web(served) as web, browser.tab(1280, 900) as tab:
        yield Page(tab, web, None)  # type: ignore[arg-type]
        assert tab.foreign_requests() == [] and tab.errors == []


@pytest.mark.slow
def test_the_library_finds_renames_tags_exports_and_deletes(kept: Page, tmp_path: Path) -> None:
    told = kept.web.ask()
    [journal] = (tmp_path / "runs").glob("*.jsonl")
    for n in range(31):
        shutil.copy(journal, journal.with_name(f"{n}.jsonl"))
    kept.web.ask("Who founded LEGO?")
    rows, tab = "document.querySelectorAll('#library .kept').length", kept.tab
    kept.home("/?library")
    assert tab.wait(f"{rows} === 10") and "Answered" in kept.text("#library")
    tab.run("document.querySelector('#library > div > button').click()")
    assert tab.run(f"[{rows}, {FOCUSED}.localName]") == [33, "a"]
    tab.click("#search")
    tab.type("lego FOUNDED")
    assert tab.wait(f"{rows} === 1") and "Who founded LEGO?" in kept.text("#library")
    tab.click("#library summary")
    tab.run("document.querySelector('#library .menu button').click()")
    tab.type(EVIL)
    tab.run("document.querySelector('.labels [name=tags]').value = 'toys, Denmark'")
    tab.press("Enter")
    assert tab.wait("document.querySelectorAll('.tags button').length === 2")
    assert EVIL in kept.text("#library a") and tab.run(f"{FOCUSED}.localName") == "summary"
    tab.run("document.getElementById('search').value = ''")
    tab.run("document.querySelectorAll('.tags button')[1].click()")
    assert tab.wait(f"{rows} === 1") and kept.text("#search") == ""
    tab.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "out"))
    tab.run("document.querySelectorAll('#library .menu button')[1].click()")
    wait_until(lambda: list((tmp_path / "out").glob("*.zip")))
    remove = "document.querySelectorAll('#library .menu button')[2].click()"
    tab.run(remove)
    assert tab.run(f"{FOCUSED}.textContent") == "Undo"
    assert len(kept.web.runs.list_newest(99)) == 33
    tab.press("Enter")
    assert tab.run(f"{FOCUSED}.localName") == "a"
    tab.run(remove)
    tab.open(f"{kept.web.base}/?run={told.headers['x-run-id']}")  # leaving the page ends the wait
    wait_until(lambda: len(kept.web.runs.list_newest(99)) == 32)
    assert len(list((tmp_path / "runs").glob("*.jsonl"))) == 32 and tab.wait(ENDED)


# --- what can go wrong ---------------------------------------------------------------------------


@pytest.mark.slow
def test_what_others_write_is_text(page: Page) -> None:
    """Of the question, pages, their titles and addresses, quotes, slots and errors."""
    winner = f"Ada {EVIL}"
    said = f"The winner is {winner}."
    page.services.think = lambda asked: {
        "generate_queries": {"queries": ["a"], "slots": [{"name": EVIL, "description": EVIL}]},
        "reflect": {
            "slots": [{"name": EVIL, "value": winner, "source": 1, "quote": said}],
            "need_more": False,
            "new_queries": [],
        },
        "synthesize": {"answer": f"{said[:-1]} [1].", "citations": [{"source": 1, "quote": said}]},
        "verify": {"verdicts": [{"claim": 1, "verdict": "supported", "source": 1}]},
    }[asked.task]
    body = f"<title>{html.escape(EVIL)}</title><p>{html.escape(said)}</p>"
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
def test_errors_are_told_in_plain_words_with_the_remedy(
    browser: Browser, page: Page, tmp_path: Path
) -> None:
    page.home()
    page.ask("ab")
    assert "at least three characters" in page.text("#problem")
    page.services.fault = lambda: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    page.ask("Why does all of this fail?")
    assert page.tab.wait(ENDED) == "Could not run"
    assert "_API_KEY" in page.text(".run .trouble")
    given = {"RUNS_DIR": str(tmp_path), "RESEARCH_AGENT_API_TOKEN": "sesame-open"}
    with Web(configure_from(given)) as other, browser.tab() as tab:
        locked = Page(tab, other, page.services)
        tab.open(other.base)
        assert locked.there("#token")
        tab.click("#token")
        tab.type("open\N{NON-BREAKING HYPHEN}sesame")  # no header carries it
        tab.press("Enter")
        assert tab.wait(
            "document.querySelector('#problem').innerText.includes('is not the server')"
        )
        assert tab.run("document.activeElement.id") == "token"
        tab.type("sesame-open")
        tab.press("Enter")
        assert tab.wait("document.querySelector('#problem').innerText.includes('GEMINI_API_KEY')")
        tab.open(f"{other.base}/?run=nothing")
        assert tab.wait("document.querySelector('#problem').innerText.includes('no run')")
        tab.click(".bar nav a")
        assert tab.wait("document.querySelector('#home').checkVisibility()")


@pytest.mark.slow
def test_a_lost_connection_is_told_and_the_run_followed_again(
    page: Page, gate: threading.Event
) -> None:
    reached = held(one_hop().set_up(page.services), gate)
    page.home()
    page.ask(one_hop().topic)
    assert reached.wait(60) and page.there(".state .live")
    page.tab.call("Network.setBlockedURLs", urls=["*/api/runs/*"])
    lost = "document.querySelector('.note')?.innerText.includes('connection was lost')"
    assert page.tab.wait(lost) and page.there(".state .live")
    gate.set()
    page.tab.call("Network.setBlockedURLs", urls=[])
    assert page.tab.wait(ENDED) == "Answered" and page.text(".note") == ""
    page.tab.errors.clear()  # the browser tells of the requests that were blocked


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: accessibility is not checked with axe-core")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, AXE]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip("axe-core could not be had from npm: accessibility is not checked with it")
    return (folder / "node_modules/axe-core/axe.min.js").read_text("utf-8")


def look(page: Page, axe: str, state: str) -> None:
    """Axe finds no fault and nothing is too wide: on a desk, on a tablet, on a phone in dark."""
    for width, dark in ((1280, False), (768, False), (360, True)):
        page.tab.set_viewport(width, 900, dark=dark, motion=False)
        page.tab.settle()
        told = "axe.run().then(done => done.violations.map(v => [v.id, v.nodes[0].html]))"
        found = page.tab.run(f"window.axe ?? eval({json.dumps(axe)}); {told}")
        assert found == [], (state, width, dark)
        assert page.tab.run("document.documentElement.scrollWidth") <= width, (state, width)
    page.tab.set_viewport(1280, 900, motion=False)


@pytest.mark.slow
def test_axe_finds_no_fault_in_what_is_kept(kept: Page, axe: str) -> None:
    tab = kept.tab
    kept.home("/?library")
    assert tab.wait("document.querySelector('#library').innerText.includes('Nothing here yet')")
    look(kept, axe, "an empty library")
    run = kept.web.ask().headers["x-run-id"]
    kept.web.client.patch(f"/api/runs/{run}", json={"title": EVIL, "tags": [EVIL, "b"]})
    kept.home("/?library")
    assert tab.wait("document.querySelectorAll('#library .kept').length === 1")
    tab.run("document.querySelector('#library .menu').open = true")
    look(kept, axe, "the library")
    tab.run("document.querySelector('#library .menu button').click()")
    look(kept, axe, "names and tags")
    kept.home()
    tab.run("document.querySelector('input[value=report]').click()")
    tab.run("document.querySelector('[name=plan]').checked = true")
    kept.ask("How do HPA and KEDA differ?", "report")
    assert kept.there(".sections")
    look(kept, axe, "a plan")


@pytest.mark.slow
def test_axe_finds_no_fault(page: Page, axe: str, gate: threading.Event) -> None:
    """In each state of a run."""
    page.home()
    page.tab.run("document.querySelector('.more').open = true")
    look(page, axe, "nothing")
    world = report_world()
    reached = held(world.set_up(page.services), gate, "section")
    page.ask(world.topic, "report")
    assert reached.wait(60) and page.there(".pages li")
    look(page, axe, "running")
    gate.set()
    assert page.tab.wait(ENDED) == "Answered"
    page.tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.tab.run("document.querySelector('.marker').click()")
    look(page, axe, "report")
    page.finish(conflict())
    look(page, axe, "disagreement")
    page.finish(insufficient())
    look(page, axe, "not found")
    check(page, PASTED)
    page.tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    look(page, axe, "check")
    page.services.fault = lambda: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    page.home()
    page.ask("Why does all of this fail?")
    assert page.tab.wait("document.querySelector('.state .bad') !== null")
    look(page, axe, "error")


def test_without_a_model_the_page_says_so_before_a_question(
    browser: Browser, tmp_path: Path, world: Services
) -> None:
    with Web(configure_from({"RUNS_DIR": str(tmp_path)})) as web, browser.tab(1280, 900) as tab:
        page = Page(tab, web, world)
        page.home()
        page.there("#problem > *")
        told = page.text()
        assert "GEMINI_API_KEY is not set" in told and "ANTHROPIC_API_KEY" in told
        assert tab.run("document.querySelector('#ask button.main').disabled")
        tab.run("document.querySelector('#ask textarea').value = 'Who won?'")
        tab.run("document.querySelector('#ask').requestSubmit()")
        assert tab.run("document.querySelector('#ask textarea').value") == "Who won?"
        assert not list(tmp_path.iterdir())
