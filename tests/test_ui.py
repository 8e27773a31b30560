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

from tests.browser import Browser, Tab
from tests.services import ModelRequest, Raw, Reply, Services
from tests.web import Web, configure_from, wait_until
from tests.worlds import World, conflict, one_hop, report_world, two_rounds

AXE = "axe-core@4.14.1"
ENDED = "document.querySelector('.badge:not(.live)')?.textContent"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
#: What reaches out of the page to the right.
WIDE = """[...document.querySelectorAll('body *')]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"""
#: Buttons and fields that a finger misses; markers stand in running text.
SMALL = """[...document.querySelectorAll('button:not(.marker), input, select, textarea')]
  .filter(e => e.offsetParent && e.getBoundingClientRect().height < 44).map(e => e.outerHTML)"""


class Page:
    """The page in a tab, and the world that it asks about."""

    def __init__(self, tab: Tab, web: Web, services: Services) -> None:
        self.tab, self.web, self.services = tab, web, services

    def home(self, path: str = "/") -> None:
        self.tab.open(self.web.base + path)
        assert self.tab.wait("document.querySelector('#strategy').options.length > 1")

    def ask(self, question: str, strategy: str = "slots", slots: str = "") -> None:
        fields = {"question": "", "strategy": strategy, "slots": slots}
        for name, value in fields.items():
            self.tab.run(f"document.getElementById({name!r}).value = {json.dumps(value)}")
        self.tab.click("#question")
        self.tab.type(question)
        self.tab.press("Enter")

    def finish(self, world: World, strategy: str = "slots") -> str:
        """Ask about a world, and wait for its end: the status in words."""
        world.set_up(self.services)
        self.home()
        self.ask(world.topic, strategy)
        return str(self.tab.wait(ENDED))

    def text(self, selector: str = "body") -> str:
        return str(self.tab.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def there(self, selector: str) -> bool:
        return bool(self.tab.wait(f"document.querySelector({json.dumps(selector)}) !== null"))


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
            gate.wait(20)
        return think(asked)

    services.think = slow
    return reached


def test_a_question_becomes_an_answer_whose_quotes_are_one_key_away(page: Page) -> None:
    assert page.finish(one_hop()) == "Complete"
    assert page.text(".answer") == "The winner is Argentina [1]. The score is 4-2 [1]."
    assert page.tab.run("document.activeElement.textContent") == one_hop().topic
    page.tab.run("document.querySelector('.marker').focus()")
    assert page.text(".card q") == "Argentina won the cup."
    link = "document.querySelector('.card .there')"
    assert page.tab.run(f"{link}.href").startswith(page.services.url("final") + "#:~:text=")
    assert page.tab.run(f"[{link}.rel, {link}.target]") == ["noopener noreferrer", "_blank"]
    page.tab.press("Tab")
    assert page.tab.run(f"document.activeElement === {link}")
    page.tab.press("Escape")
    assert page.tab.run("document.querySelector('.card') === null")
    assert page.tab.run("document.activeElement === document.querySelector('.marker')")
    assert "Argentina won the cup." in page.text("#sources")


def test_a_quote_is_shown_on_hover_and_kept_by_a_click(page: Page) -> None:
    page.finish(one_hop())
    x, y = page.tab.run(
        "(r => [r.x + 9, r.y + 9])(document.querySelector('.marker').getBoundingClientRect())"
    )
    page.tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert page.there(".card q")
    page.tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    assert page.tab.wait("document.querySelector('.card') === null")
    page.tab.click(".marker")
    page.tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    assert page.there(".card q")


def test_a_run_is_watched_then_found_again_after_a_reload(
    page: Page, gate: threading.Event
) -> None:
    world = two_rounds()
    reached = held(world.set_up(page.services), gate)
    page.home()
    page.ask(world.topic)
    assert reached.wait(10) and page.tab.wait("document.querySelectorAll('.log .fetch').length > 4")
    assert page.tab.wait("document.querySelector('#facts')?.innerText.includes('Uppsala')")
    assert page.tab.wait("document.querySelector('.spent').textContent.includes('$')")
    log = page.text(".log")
    assert "Missing\nAda Lindqvist born in city" in log and "there is no such page" in log
    address = page.tab.run("location.href")
    page.tab.open(address)
    assert page.tab.wait("document.querySelectorAll('.log .fetch').length > 4")
    assert page.text("h2") == world.topic and page.there(".badge.live")
    gate.set()
    assert page.tab.wait(ENDED) == "Complete" and "Uppsala [3]" in page.text(".answer")
    assert len([task for task in page.services.tasks() if task == "generate_queries"]) == 1


def test_cancel_stops_the_run_and_says_what_is_kept(page: Page, gate: threading.Event) -> None:
    world = two_rounds()
    reached = held(world.set_up(page.services), gate, "reflect")
    page.home()
    page.ask(world.topic)
    assert reached.wait(10) and page.there(".cancel")
    page.tab.click(".cancel")
    assert page.tab.wait("document.querySelector('.badge').textContent === 'Stopping'")
    live = page.web.runs.list_newest(1)[0]
    wait_until(lambda: page.web.runs.list_newest(1)[0].cancelled)
    gate.set()
    assert page.tab.wait(ENDED) == "Stopped"
    assert "nothing more is searched" in page.text(".note") and "is kept" in page.text(".note")
    assert "synthesize" not in page.services.tasks() and page.web.runs.load == (0, 0)
    assert page.tab.wait("document.querySelector('#history li').innerText.includes('Stopped')")
    assert live.id in page.tab.run("location.search")
    assert page.tab.run("document.activeElement.localName") == "h2"


def test_a_report_is_read_with_its_conflicts_and_confidence(page: Page) -> None:
    assert page.finish(report_world(), "report") == "Complete"
    assert "The founder is Ada Lindqvist [1]." in page.text("#answer")
    assert "The facts" in page.text("#findings")
    assert "was not compared value by value." in page.text("#conflicts")
    assert "Medium." in page.text("#confidence")
    assert "there is no such page" in page.text("#warnings")


def test_runs_are_opened_again_replayed_and_taken_along(page: Page, tmp_path: Path) -> None:
    page.finish(one_hop())
    page.home()
    assert page.there("#history a[data-run]")
    asked = list(page.services.model_requests)
    page.tab.click("#history a[data-run]")
    assert page.tab.wait(ENDED) == "Complete" and page.there(".tools button")
    page.tab.run("[...document.querySelectorAll('.tools button')].at(-2).click()")
    assert page.tab.wait("document.querySelector('.badge').textContent === 'Replay'")
    assert page.tab.wait("document.querySelectorAll('.log li').length === 3")
    assert page.tab.wait(ENDED) == "Complete" and page.services.model_requests == asked
    page.tab.run("navigator.clipboard.writeText = async (text) => { window.taken = text; }")
    page.tab.click(".tools button")
    assert page.tab.wait("window.taken?.startsWith('# Who won')")
    page.tab.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.tab.run("document.querySelectorAll('.tools button')[2].click()")
    wait_until(lambda: list(tmp_path.glob("*.html")))
    assert "<h1" in next(iter(tmp_path.glob("*.html"))).read_text("utf-8")
    page.tab.run("history.back()")
    assert page.tab.wait("document.querySelector('h2#history-heading') && !location.search")


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
    assert page.tab.wait(ENDED) == "Complete"
    page.tab.run("document.querySelector('.marker').focus()")
    assert EVIL in page.text(".card") and EVIL in page.text("h2")
    assert f"{EVIL}\t{winner} [1]" in page.text("#facts")
    assert (
        page.tab.run("document.querySelectorAll('#run img, #run script, #history img').length") == 0
    )
    script = "import('/ui/element.js').then(m => [{}].map(u => m.link(u, 'x').localName))"
    for url in ("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//x", "x"):
        assert page.tab.run(script.format(json.dumps(url))) == ["span"]
    assert page.tab.run(script.format('"https://example.org/"')) == ["a"]


def test_errors_are_told_in_plain_words_with_the_remedy(
    browser: Browser, page: Page, tmp_path: Path
) -> None:
    page.home()
    page.ask("ab")
    assert "at least three characters" in page.text("#problem")
    page.services.fault = lambda: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    page.ask("Why does all of this fail?")
    assert page.tab.wait(ENDED) == "No answer"
    assert "GEMINI_API_KEY" in page.text("#run .trouble")
    given = {"RUNS_DIR": str(tmp_path), "AGENT_API_TOKEN": "sesame-open"}
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
        other.stop()
        locked.ask("Is anybody there?")
        assert tab.wait("document.querySelector('#problem').innerText.includes('not answer')")


def test_an_answer_that_cannot_be_fetched_is_asked_for_again(
    browser: Browser, web: Web, world: Services
) -> None:
    world.fault = lambda: None
    one_hop().set_up(world)
    with browser.tab() as tab:
        left = Page(tab, web, world)
        left.home()
        tab.call("Network.setBlockedURLs", urls=["*/answer"])
        left.ask(one_hop().topic)
        assert tab.wait(
            "document.querySelector('.note')?.innerText.includes('connection was lost')"
        )
        assert left.there(".badge.live")
        tab.call("Network.setBlockedURLs", urls=[])
        assert tab.wait(ENDED) == "Complete" and left.text(".note") == ""


def test_the_whole_history_can_be_opened(browser: Browser, tmp_path: Path) -> None:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    with Web(configure_from(environment, offline=True)) as other, browser.tab() as tab:
        other.ask()
        [journal] = (tmp_path / "runs").iterdir()
        for n in range(31):
            shutil.copy(journal, journal.with_name(f"{n}.jsonl"))
        listed = "document.querySelectorAll('#history a').length"
        tab.open(other.base)
        assert tab.wait(f"{listed} === 30")
        tab.click("#history button")
        assert tab.run(f"[{listed}, document.activeElement.localName]") == [32, "a"]
        again = "import('/ui/history.js').then(m => m.listRuns(document.getElementById('history')))"
        assert tab.run(f"{again}.then(() => document.activeElement.localName)") == "a"


def test_facts_of_a_schema_and_what_was_left_out_are_told_in_words(page: Page) -> None:
    answer = {
        "warnings": ["Left out, nothing read supports it (too far): A.", "2 more were left out."],
        "slots": {"goals[0].own_goal": {"value": None, "status": "missing"}},
        **{"answer": "", "claims": [], "citations": [], "error": None},
    }
    page.home()
    show = "document.getElementById('run').append(...m.answerSections({}).filter(Boolean))"
    page.tab.run(f"import('/ui/answer.js').then(m => {show.format(json.dumps(answer))})")
    assert "goals 1 own goal\tnot found" in page.text("#facts")
    told = [
        "Left out of the answer",
        "Nothing read supports it (too far): A.",
        "2 more were left out.",
    ]
    assert page.text("#dropped").split("\n") == told


def test_lists_tables_and_verdicts_are_shown_as_such(page: Page) -> None:
    """What is not confirmed has a mark; each item and row has its own markers."""
    head = "The scores:\n| Year | Score \\| goals |\n| --- | --- |"
    shown = [
        ("He said “no.”", "sentence", "", "supported"),
        ("It rained.", "sentence", "", "partial"),
        ("Ada <b>L</b>", "item", "Founders:", "supported"),
        ("Bo.", "item", "Founders:", "contradicted"),
        ("| 1930 | 4-2 |", "row", head, "supported"),
        ("| 1934 | 2 \\| 1 |", "row", head, "unchecked"),
        ("龙是工程师设计的。", "sentence", "", "supported"),
        ("他来了。", "sentence", "", "unsupported"),
    ]
    claims = [
        {"text": text, "form": form, "intro": intro, "verdict": verdict, "citations": [1]}
        for text, form, intro, verdict in shown
    ]
    show = f"document.body.replaceChildren(...m.claimElements({json.dumps(claims)}, [{{}}]).flat())"
    cited = {"id": 1, "title": "A page", "url": "", "quote": "", "credibility": {"score": 0.5}}
    page.home()
    page.tab.run(f"import('/ui/claims.js').then(m => {show.replace('[{}]', json.dumps([cited]))})")
    assert [line for line in page.text().split("\n") if line] == [
        "He said “no [1].” It rained [1]. partly confirmed",
        "Founders:",
        "Ada <b>L</b> [1]",
        "Bo [1]. contradicted by its source",
        "The scores:",
        "Year\tScore | goals",
        "1930\t4-2 [1]",
        "1934\t2 | 1 [1] not checked",
        "龙是工程师设计的[1]。他来了[1]。 not confirmed",
    ]
    listed = "['p', 'ul', 'li', 'table', 'tbody tr', '.marker'].map"
    counted = page.tab.run(f"{listed}(s => document.querySelectorAll(s).length)")
    assert counted == [4, 1, 2, 1, 2, 8]


def test_sources_that_disagree_are_told_and_fit_a_phone(page: Page) -> None:
    page.finish(conflict())
    assert "Sources disagree on winner." in page.text("#run")
    assert "but also: France [2]" in page.text("#facts")
    page.tab.set_viewport(320, 640)
    page.tab.settle()
    assert page.tab.run(f"[{SMALL}, document.documentElement.scrollWidth]") == [[], 320]
    page.tab.run("[...document.querySelectorAll('.answer .marker')].at(-1).focus()")
    assert page.there(".card") and page.tab.run(WIDE) == []


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


def test_axe_finds_no_fault(page: Page, axe: str, gate: threading.Event) -> None:
    """While nothing, something and an answer is there; in light and dark."""
    found = {}

    def look(state: str) -> None:
        for dark in (False, True):
            page.tab.set_viewport(1280, 900, dark=dark, motion=False)
            page.tab.settle()
            told = "axe.run().then(done => done.violations.map(v => [v.id, v.nodes[0].html]))"
            found[state, dark] = page.tab.run(f"window.axe ?? eval({json.dumps(axe)}); {told}")

    page.home()
    look("nothing")
    world = report_world()
    reached = held(world.set_up(page.services), gate, "draft")
    page.ask(world.topic, "report")
    assert reached.wait(10) and page.there(".log li")
    look("running")
    gate.set()
    assert page.tab.wait(ENDED) == "Complete"
    page.tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.tab.run("document.querySelector('.marker').focus()")
    look("answer")
    page.services.fault = lambda: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    page.ask("Why does all of this fail?")
    assert page.tab.wait("document.querySelector('.badge.error') !== null")
    look("error")
    assert found == dict.fromkeys(found, [])
