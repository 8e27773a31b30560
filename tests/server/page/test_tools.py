"""The page beyond a question: plans, checks, files, the library, errors, accessibility."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from agent.calls.journal_reader import read_header
from tests.server.page.driver import ENDED, EVIL, FOCUSED, Page, pause_model
from tests.support.browser import Browser, Tab
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.web import Web, configure_from, wait_until
from tests.support.worlds import conflict, insufficient, one_hop, report_world

AXE = "axe-core@4.14.1"


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
    tab.click("[name=plan]")
    page.ask(world.topic, "report")
    assert page.wait_for("#view h1:focus") and page.text("#plan-sections") == "3 sections"
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
    tab.run("document.querySelector('.sections input').select()")
    tab.type("Who began it")
    tab.run("document.querySelector('#view button.main').click()")
    assert tab.wait(ENDED)
    live = page.web.runs.find(page.web.runs.list_newest(1)[0].id)
    assert live
    header = read_header(page.web.runs.library.require(live.id))
    sections = header.settings["plan"]["sections"]
    assert [one["heading"] for one in sections] == ["Who began it", "City"]
    assert sections[1]["after"] == ["Who began it"]


def check(page: Page) -> str:
    """Check a report in the form of a check; return its final state in words."""
    one_hop().set_up(page.services)
    final = page.services.url("final")
    cited = "Argentina won the cup. [1] France won it in 1998 [1]."
    others = f"Many people like football very much. {EVIL}"
    report = f"# Cups 🏆\n\n{cited}\n\n{others}\n\n[1] {final}\n"
    page.home("/?check")
    assert page.is_visible("#report") and not page.is_visible("#question")
    page.tab.run(f"document.getElementById('report').value = {json.dumps(report)}")
    page.tab.run("document.getElementById('check').requestSubmit()")
    return str(page.tab.wait(ENDED))


@pytest.mark.slow
def test_a_report_is_checked(page: Page) -> None:
    assert check(page) == "1 sentence does not hold"
    assert page.text(".run h1") == "Cups 🏆"
    assert page.text(".sentence.supported") == "Argentina won the cup."
    assert not page.is_visible(".evidence.supported")
    page.press_key("n")
    failing = "document.activeElement.closest('.row').querySelector('.evidence:not(.supported)')"
    assert page.tab.run(f"{failing}.open") and "not on the page" in page.tab.run(
        f"{FOCUSED}.innerText"
    )
    assert EVIL in page.text("[id$=-report]") and "Without a source" in page.text(".body")


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
def test_files_that_are_dropped_are_searched(offline_page: Page, tmp_path: Path) -> None:
    page, tab = offline_page, offline_page.tab
    page.home()
    drop(tab, bridge_md="The Velmora bridge was opened in 1931.", no_exe="MZ", more_txt=EVIL)
    assert tab.wait("document.querySelectorAll('#documents button').length === 2")
    assert "no.exe is not a supported type" in page.text("#problem")
    page.home()  # the tab still has them
    tab.click("#documents li:last-child button")
    assert tab.wait("document.querySelectorAll('#documents button').length === 1")
    page.ask("When was the Velmora bridge opened?")
    assert tab.wait(ENDED) and "1931" in page.text(".answer")
    for place in (".bar nav a", "#documents button"):  # the page may still scroll to the answer
        tab.run(f"document.querySelector({json.dumps(place)}).click()")
    wait_until(lambda: not list((tmp_path / "cache/documents").glob("*")))
    tab.errors.clear()  # of the file that was refused


@pytest.mark.slow
def test_an_answer_is_copied_and_saved(page: Page, tmp_path: Path) -> None:
    page.finish(one_hop())
    press = "[...document.querySelectorAll('.tools button')].find(b => b.textContent === {!r})"
    page.tab.run("navigator.clipboard.writeText = async (text) => { window.taken = text; }")
    page.tab.run(f"{press.format('Copy link')}.click()")
    assert page.tab.wait("window.taken") == page.tab.run("location.href")
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


@pytest.mark.slow
def test_the_library_finds_renames_tags_exports_and_deletes(
    offline_page: Page, tmp_path: Path
) -> None:
    run = offline_page.web.ask().headers["x-run-id"]
    [journal] = (tmp_path / "runs").glob("*.jsonl")
    for n in range(31):
        shutil.copy(journal, journal.with_name(f"{n}.jsonl"))
    offline_page.web.ask("Who founded LEGO?")
    rows, tab = "document.querySelectorAll('#library .kept').length", offline_page.tab
    offline_page.home("/?library")
    assert tab.wait(f"{rows} === 10") and "Answered" in offline_page.text("#library")
    tab.run("document.querySelector('#library > div > button').click()")
    assert tab.run(rows) == 33
    tab.click("#search")
    tab.type("lego FOUNDED")
    assert tab.wait(f"{rows} === 1") and "Who founded LEGO?" in offline_page.text("#library")
    tab.click("#library summary")
    tab.run("document.querySelector('#library .menu button').click()")
    tab.type(EVIL)
    tab.run("document.querySelector('.labels [name=tags]').value = 'toys, Denmark'")
    tab.press("Enter")
    assert tab.wait("document.querySelectorAll('.tags button').length === 2")
    assert EVIL in offline_page.text("#library a")
    tab.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "out"))
    tab.run("document.querySelectorAll('#library .menu button')[1].click()")
    wait_until(lambda: list((tmp_path / "out").glob("*.zip")))
    remove = "document.querySelectorAll('#library .menu button')[2].click()"
    tab.run(remove)
    assert tab.run(f"{FOCUSED}.textContent") == "Undo"
    assert len(offline_page.web.runs.list_newest(99)) == 33
    tab.press("Enter")
    tab.run(remove)
    tab.open(f"{offline_page.web.base}/?run={run}")  # leaving the page ends the wait
    wait_until(lambda: len(offline_page.web.runs.list_newest(99)) == 32)
    assert len(list((tmp_path / "runs").glob("*.jsonl"))) == 32 and tab.wait(ENDED)


@pytest.mark.slow
def test_errors_are_shown_with_a_remedy(browser: Browser, page: Page, tmp_path: Path) -> None:
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
        assert locked.wait_for("#token")
        tab.click("#token")
        tab.type("sesame-open")
        tab.press("Enter")
        assert tab.wait("document.querySelector('#problem').innerText.includes('GEMINI_API_KEY')")
        tab.open(f"{other.base}/?run=nothing")
        assert tab.wait("document.querySelector('#problem').innerText.includes('no run')")


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
    for width, dark in ((1280, False), (360, True)):
        page.tab.set_viewport(width, 900, dark=dark, motion=False)
        page.tab.settle()
        run = "axe.run().then(done => done.violations.map(v => [v.id, v.nodes[0].html]))"
        violations = page.tab.run(f"window.axe ?? eval({json.dumps(axe)}); {run}")
        assert violations == [], (state, width, dark)
        assert page.tab.run("document.documentElement.scrollWidth") <= width, (state, width)
    page.tab.set_viewport(1280, 900, motion=False)


@pytest.mark.slow
def test_axe_finds_no_fault_in_the_library_and_a_plan(offline_page: Page, axe: str) -> None:
    tab = offline_page.tab
    offline_page.home("/?library")
    assert tab.wait("document.querySelector('#library').innerText.includes('Nothing here yet')")
    look(offline_page, axe, "an empty library")
    run = offline_page.web.ask().headers["x-run-id"]
    offline_page.web.client.patch(f"/api/runs/{run}", json={"title": EVIL, "tags": [EVIL, "b"]})
    offline_page.home("/?library")
    assert tab.wait("document.querySelectorAll('#library .kept').length === 1")
    tab.run("document.querySelector('#library .menu').open = true")
    look(offline_page, axe, "the library")
    tab.run("document.querySelector('#library .menu button').click()")
    look(offline_page, axe, "names and tags")
    offline_page.home()
    tab.run("document.querySelector('input[value=report]').click()")
    tab.run("document.querySelector('[name=plan]').checked = true")
    offline_page.ask("How do HPA and KEDA differ?", "report")
    assert offline_page.wait_for(".sections")
    look(offline_page, axe, "a plan")


@pytest.mark.slow
def test_axe_finds_no_fault(page: Page, axe: str, gate: threading.Event) -> None:
    """In each state of a run."""
    page.home()
    page.tab.run("document.querySelector('.more').open = true")
    look(page, axe, "nothing")
    world = report_world()
    reached = pause_model(world.set_up(page.services), gate, "section")
    page.ask(world.topic, "report")
    assert reached.wait(60) and page.wait_for(".pages li")
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
    check(page)
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
        page.wait_for("#problem > *")
        text = page.text()
        assert "GEMINI_API_KEY is not set" in text and "ANTHROPIC_API_KEY" in text
        assert tab.run("document.querySelector('#ask button.main').disabled")
        tab.run("document.querySelector('#ask textarea').value = 'Who won?'")
        tab.run("document.querySelector('#ask').requestSubmit()")
        assert tab.run("document.querySelector('#ask textarea').value") == "Who won?"
        assert not list(tmp_path.iterdir())
