"""What a person is told of a check: shares, sources, the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent.answer.check_result import CheckResult, build_check_result
from agent.answer.formats import check_to_text, to_html
from agent.cli.check import command
from agent.documents.reports.reader import read_report
from agent.errors import ReadFailed
from agent.evidence.doi import find_doi
from agent.run.check_run import begin_check
from agent.search.retractions import Retractions
from agent.settings import Settings
from agent.state import RunRequest
from tests.support.browser import Browser
from tests.support.page_server import PageServer, html, reply

FERRIES = "\n".join(
    (
        "The ship carries 120 cars and 360 passengers.",
        "Ellen carried her first passengers in August 2019, two years later than planned.",
        "The project cost 21.3 million euros, of which the Union paid 15 million.",
    )
)
REPORT = """\
# Ferries

The ship carries 120 cars and 360 passengers [1]. The ship **carries 150 cars** and 360
passengers [1].

- Ellen carried her first passengers in *August 2017* [1].
- Basto halved the emissions of its route [2].

| ship | cost |
|---|---|
| Ellen | 23.1 million euros, of which the Union paid 15 million [1] |

Most captains like <b>new</b> ships.

## References

[1] https://one.example/a

[2] https://two.example/b
"""


@pytest.fixture
def offline(tmp_path: Path) -> Settings:
    corpus = tmp_path / "c.jsonl"
    page = {"title": "Ferries", "url": "https://one.example/a", "text": FERRIES}
    corpus.write_text(json.dumps(page), encoding="utf-8")
    folders = {"runs_dir": tmp_path / "runs", "cache_dir": tmp_path / "cache"}
    return Settings(offline=True, corpus=corpus, **folders)


def check(text: str, settings: Settings) -> CheckResult:
    run = begin_check(settings, RunRequest(report=read_report(text.encode(), "report.md")))
    return build_check_result(run.answer())


@pytest.mark.parametrize(
    ("text", "ok", "status", "summary"),
    [
        (REPORT, False, 1, "2 sentences do not hold"),
        ("Basto halved them [b](https://two.example/b).", None, 3, "No sentence could be checked"),
        ("Ships have captains.", None, 3, "No sentence cites a source"),
        (f"{FERRIES.splitlines()[0]} [a](https://one.example/a)", True, 0, "Every sentence"),
    ],
)
def test_nothing_read_is_nothing_proved(
    text: str,
    ok: bool | None,
    status: int,
    summary: str,
    offline: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    result = check(text, offline)
    assert result.ok is ok and summary in check_to_text(result)
    assert (result.status == "insufficient") == (ok is None)
    monkeypatch.setenv("RUNS_DIR", str(tmp_path / "runs"))
    file = tmp_path / "r.md"
    file.write_text(text, encoding="utf-8")
    arguments = [str(file), "--offline", "--corpus", str(offline.corpus)]
    assert command.main(arguments, standalone_mode=False) == status
    unread = [*arguments, "--fail-on", "unreadable"]
    assert command.main(unread, standalone_mode=False) == (1 if "Basto" in text else status)
    capsysbinary.readouterr()


def test_what_was_found_and_read_comes_first(offline: Settings) -> None:
    result = check(REPORT, offline)
    counts = {"sources": 2, "read": 1, "claims": 5, "judged": 3, "holding": 1}
    assert result.shares.model_dump() == counts
    assert "1 of 2 sources were read, 3 of 5 sentences" in check_to_text(result)
    first, second = result.sources
    assert first.counts["unsupported"] == 2 and first.counts["quoted"] == 1
    assert (second.status, second.counts["unreadable"]) == ("unreadable", 1)
    raw = "Ships sail \ue200cite\ue202turn9view0\ue201. " * 3
    told = check_to_text(check(raw, offline)).splitlines()
    assert told[2].startswith("Only 0 of 3 source marks have an address")


@pytest.mark.parametrize(
    ("address", "doi"),
    [
        ("https://doi.org/10.1016/S0140-6736(97)11096-0", "10.1016/s0140-6736(97)11096-0"),
        ("https://onlinelibrary.wiley.com/doi/full/10.1002/abc.12", "10.1002/abc.12"),
        ("Smith 2020, doi:10.5555/X.", "10.5555/x"),
        ("https://one.example/v10.1/2020", ""),
    ],
)  # fmt: skip
def test_a_doi_is_found(address: str, doi: str) -> None:
    assert find_doi(address) == doi


def crossref(**message: Any) -> bytes:
    return reply(json.dumps({"status": "ok", "message": message}).encode())


def europepmc(*works: dict[str, Any]) -> bytes:
    return reply(json.dumps({"resultList": {"result": list(works)}}).encode())


UPDATE: dict[str, Any] = {"type": "retraction", "label": "Retraction", "DOI": "10.1/n"}
UPDATE |= {"updated": {"date-time": "2010-02-06T00:00:00Z"}}
MARKED = {"doi": "10.1/A", "pubTypeList": {"pubType": ["Retracted Publication"]}}
NOTICE = {"type": "Retraction in", "reference": "Lancet"}
NOTICED = {"doi": "10.1/a", "commentCorrectionList": {"commentCorrection": [NOTICE]}}
GONE = reply(b"Resource not found.", "404 Not Found")


@pytest.mark.parametrize(
    ("work", "found", "notice"),
    [
        (crossref(**{"updated-by": [UPDATE]}), europepmc(), "Retraction 2010-02-06, 10.1/n"),
        (crossref(**{"updated-by": [{"type": "correction"}]}), europepmc(), ""),
        (crossref(title=["RETRACTED: Of ships"]), GONE, "RETRACTED: Of ships"),
        (crossref(title=["Of ships"]), europepmc(MARKED), "Retracted publication, Europe PMC"),
        (GONE, europepmc(NOTICED), "Retraction in Lancet"),
        (reply(b"<html>"), reply(b"[]"), None),
    ],
)
def test_registries_say_what_was_retracted(work: bytes, found: bytes, notice: str | None) -> None:
    with PageServer({"/works/10.1/a": work, "/search": found}) as server:
        ask = Retractions(server.url, server.url).find_notice
        if notice is None:
            with pytest.raises(ReadFailed):
                ask("10.1/a")
        else:
            assert ask("10.1/a") == notice


SENTENCE = "The old ship sailed to the far island for 40 years without a break."


def test_sources_are_dead_archived_retracted_or_closed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = "http://page.example"  # which the server reaches as a proxy
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with PageServer() as server:
        monkeypatch.setenv("http_proxy", server.url)
        page = reply(
            html().replace(b"<p>", f"<p>{SENTENCE} ".encode()), "200 OK", "Content-Type: text/html"
        )
        copy = {"closest": {"url": f"{site}/web/20200101/gone", "available": True}}

        def available(head: str) -> bytes:
            found = copy if "gone" in head else {}
            return reply(json.dumps({"archived_snapshots": found}).encode())

        server.answers |= {
            "/works/10.5555/a": crossref(**{"updated-by": [UPDATE]}),
            f"{site}/doi/10.5555/a": page,
            f"{site}/gone": GONE,
            f"{site}/lost": GONE,
            f"{site}/closed": reply(b"no", "403 Forbidden"),
            "/wayback/available": lambda asked: asked.send(available(asked.head)),
            f"{site}/web/20200101id_/gone": GONE,
            f"{site}/web/20200101/gone": page,
        }  # fmt: skip
        names = ("doi/10.5555/a", "gone", "lost", "closed")
        text = " ".join(f"{SENTENCE[:-1]} ([s]({site}/{name}))." for name in names)
        changes = {"verify": "rules", "archive": True}
        changes |= {"base_urls": dict.fromkeys(("crossref", "europepmc", "archive"), server.url)}
        changes |= {"fetch_through_proxy": True, "allow_private_network": False}
        settings = settings.model_copy(update=changes)
        result = check(text, settings)
        closed = check(text, settings.model_copy(update={"archive": False}))
    assert [one.status for one in result.sources] == ["retracted", "archived", "dead", "blocked"]
    assert [claim.verdict for claim in result.claims[:2]] == ["quoted", "quoted"]
    assert result.sources[0].read and "2010-02-06" in result.sources[0].notice
    assert result.sources[1].page_url.endswith("/web/20200101/gone")
    assert [one.retracted for one in result.sources] == [True, None, None, None]
    assert [one.status for one in closed.sources][1] == "dead", "only where the user allows it"
    offered = ["--archive" in one.reason for one in (*closed.sources, *result.sources)]
    assert offered == [False, True, True, True, False, False, False, False]
    assert "retracted: Retraction 2010-02-06" in check_to_text(result)
    assert result.run
    replay = RunRequest(replay=Path(result.run["journal"]))
    again = build_check_result(begin_check(Settings(), replay).answer())
    assert again.sources == result.sources, "a replay asks nobody"


def test_the_page_loads_nothing_and_escapes(offline: Settings) -> None:
    page = to_html(check(REPORT.replace("<b>new</b>", "\\<script>"), offline))
    assert page.count("<script") == 1 and "&lt;script&gt;" in page
    assert "default-src &#x27;none&#x27;" in page and not re.search(
        r'(src|href)="(?!#|https://(one|two))', page
    )


@pytest.mark.slow
def test_the_page_steps_by_key(offline: Settings, browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "check.html"
    file.write_text(to_html(check(REPORT, offline)), encoding="utf-8")
    shown = "[...document.querySelectorAll('.row .evidence')].filter(e => e.offsetParent).length"
    press = "document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}'}}))"
    with browser.tab(390, 800) as tab:
        tab.open(file.as_uri())
        assert tab.run(shown) == 5
        assert tab.run("document.documentElement.scrollWidth") <= 390
        assert tab.run("document.querySelector('#evidence-1').open") is False
        tab.click("#claim-1")
        assert tab.run("document.querySelector('#evidence-1').open") is True
        tab.run("document.activeElement.blur()")
        tab.run(press.format("n"))
        assert tab.run("document.activeElement.id") == "claim-2"
        tab.run(press.format("n"))
        tab.run(press.format("p"))
        assert tab.run("document.activeElement.id") == "claim-2"
        assert tab.foreign_requests() == [file.as_uri()]
