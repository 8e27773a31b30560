"""What stands in for pages that refuse or are lost: Jina Reader, an archived copy; told as such."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import responses

from agent.answer.formats import to_text
from agent.answer.json_format import to_json
from agent.doctor.results import Result
from agent.doctor.services import service_checks
from agent.errors import ReadFailed
from agent.run import research
from agent.run.audit import audit_answer
from agent.run.sources import open_sources
from agent.settings import Settings, parse_settings
from agent.state import Page
from tests.steps.test_slots import TOPIC, ended
from tests.support.page_server import PageServer, html, reply
from tests.support.services import Services
from tests.support.thinker import FINAL, Fact, Thinker

JINA = "https://jina.example/"
KEY = "jina_s3cret/42"
CLOSED = reply(b"no", "403 Forbidden")
SITE = "http://page.example"  # which a proxy on loopback reaches
ALLOWED = {"JINA_READER": "1", "JINA_READER_BASE_URL": JINA, "JINA_API_KEY": KEY}


@pytest.fixture(autouse=True)
def _proxy(web: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public web is behind a proxy, which is `web`; no name of it has an address here."""
    monkeypatch.setenv("http_proxy", web.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def jina() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


def settings_of(folder: Path, **more: str) -> Settings:
    places = {"RUNS_DIR": str(folder / "runs"), "CACHE_DIR": str(folder / "cache")}
    alone = {"FETCH_THROUGH_PROXY": "1", "SEARCH_PROVIDERS": "wikipedia", "CACHE_TTL": "0"}
    return parse_settings({**places, **alone, **more})


def read(url: str, settings: Settings) -> Page:
    sources = open_sources(settings)
    try:
        return sources.read(url)
    finally:
        sources.close()


def fail(url: str, settings: Settings) -> ReadFailed:
    with pytest.raises(ReadFailed) as caught:
        read(url, settings)
    assert KEY not in repr(caught.value.attempts) + caught.value.message
    return caught.value


def test_jina_reads_what_refuses_and_is_told(
    web: PageServer, jina: responses.RequestsMock, tmp_path: Path
) -> None:
    web.answers[f"{SITE}/closed"] = CLOSED
    jina.post(JINA, body=html("Open"), content_type="text/html; charset=utf-8")
    url = f"{SITE}/closed?x=1"
    page = read(url, settings_of(tmp_path, **ALLOWED))
    assert (page.url, page.title, page.text_from) == (url, "Open", "jina")
    assert "enough of them for anyone" in page.text
    told = [(one.what, one.provider, one.outcome) for one in page.attempts]
    assert told == [("page", "page.example", "blocked"), ("page", "jina", "ok")]
    (asked,) = jina.calls
    assert json.loads(asked.request.body or "") == {"url": url}
    assert asked.request.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.request.headers["X-Respond-With"] == "html"


@pytest.mark.parametrize(
    ("answer", "outcome", "asks"),
    [
        ({"status": 401, "json": {"message": f"bad {KEY}"}}, "bad_key", 1),
        ({"status": 402, "json": {}}, "no_credit", 1),
        ({"status": 429, "json": {}}, "rate_limited", 1),
        ({"status": 451, "json": {"message": "no"}}, "rejected", 1),
        ({"status": 500, "body": "x"}, "unavailable", 1),
        ({"body": ""}, "empty", 1),
        ({"body": "<title>Just a moment...</title><p>Verify you are human</p>"}, "blocked", 1),
    ],
)
def test_a_refusal_of_jina_leaves_that_of_the_page(
    answer: dict[str, Any], outcome: str, asks: int, web: PageServer,
    jina: responses.RequestsMock, tmp_path: Path,
) -> None:  # fmt: skip
    web.answers[f"{SITE}/closed"] = CLOSED
    jina.post(JINA, **answer)
    error = fail(f"{SITE}/closed", settings_of(tmp_path, **ALLOWED))
    assert error.outcome == "blocked" and "HTTP 403" in error.message
    assert [one.outcome for one in error.attempts] == ["blocked", outcome]
    assert len(jina.calls) == asks


@pytest.mark.parametrize("private", ["0", "1"])
@pytest.mark.parametrize(
    "place", ["", "intranet", "wiki.corp", "nas.local", "10.0.0.7", "user:secret@page.example"]
)
def test_nobody_is_told_of_an_address_that_is_not_public(
    place: str, private: str, web: PageServer, jina: responses.RequestsMock, tmp_path: Path
) -> None:
    """Neither Jina nor the archive, also where the program itself may read private pages."""
    jina.post(JINA, body=html())
    jina.get("http://archive.example/wayback/available", json={})
    names = ("intranet", "wiki.corp", "nas.local", "10.0.0.7", "page.example")
    web.answers |= {f"http://{name}/closed": CLOSED for name in names} | {"/closed": CLOSED}
    more = {**ALLOWED, "ARCHIVE": "1", "ARCHIVE_BASE_URL": "http://archive.example"}
    own = settings_of(tmp_path, **more, ALLOW_PRIVATE_NETWORK=private)
    url = f"http://{place}/closed" if place else f"{web.url}/closed"
    error = fail(url, own)
    assert not jina.calls
    told = [(one.provider, one.outcome) for one in error.attempts]
    assert {outcome for name, outcome in told if name in ("jina", "archive")} <= {"forbidden"}
    assert private == "0" or len(told) == 3, "where the page may be read both are refused"


def test_jina_sees_no_address_that_is_not_its_business(
    web: PageServer, jina: responses.RequestsMock, tmp_path: Path
) -> None:
    """None where it is off, none that robots.txt forbids, none that died."""
    jina.post(JINA, body=html())
    web.answers |= {f"{SITE}/closed": CLOSED, f"{SITE}/gone": reply(b"", "404 Not Found")}
    own = {**ALLOWED, "JINA_API_KEY": ""}
    assert fail(f"{SITE}/closed", settings_of(tmp_path)).attempts == ()
    gone = fail(f"{SITE}/gone", settings_of(tmp_path, **own))
    assert "--archive" in gone.remedy
    web.answers[f"{SITE}/robots.txt"] = reply(b"User-agent: *\nDisallow: /", "200 OK")
    fail(f"{SITE}/closed", settings_of(tmp_path, **own))
    assert not jina.calls


def test_the_doctor_says_whether_jina_reads(jina: responses.RequestsMock, tmp_path: Path) -> None:
    def told(**more: str) -> Result:
        return service_checks(settings_of(tmp_path, **more))["reader jina"]()

    assert told().detail.startswith("off: JINA_READER=1") and not jina.calls
    jina.post(JINA, body=html())
    assert told(**ALLOWED) == Result("ok", "answers: it reads pages that refuse")
    assert "20 a minute" in told(**ALLOWED | {"JINA_API_KEY": ""}).detail
    jina.replace(responses.POST, JINA, status=401, json={"message": f"bad {KEY}"})
    with pytest.raises(ReadFailed) as caught:
        told(**ALLOWED)
    assert (caught.value.outcome, caught.value.remedy) == ("bad_key", "Check JINA_API_KEY.")


def test_an_archived_copy_is_cited_with_both_addresses(
    public: str, services: Services, tmp_path: Path
) -> None:
    """In a run, its replay and its audit; without the user's word nobody asks the archive."""
    services.hits = {TOPIC: ["final"], "cup final": ["final"]}
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["cup final"])
    services.pages = {"20200101id_/final": FINAL}
    address = f"{public}/web/20200101/final"
    with PageServer() as archive:
        found = {"archived_snapshots": {"closest": {"url": address}}}
        archive.answers["/wayback/available"] = reply(json.dumps(found).encode())
        more = {"ARCHIVE_BASE_URL": archive.url, "CACHE_TTL": "0"}
        _, plain = ended(parse_settings(services.environment(tmp_path, **more)))
        assert all(one.via == "snippet" for one in plain.citations)
        assert not archive.request_heads
        own = parse_settings(services.environment(tmp_path, ARCHIVE="1", **more))
        _, answer = ended(own)
    first = answer.citations[0]
    assert (first.url, first.copy_of) == (address, services.url("final"))
    assert first.quote in FINAL and f"archived copy of {first.copy_of}" in to_text(answer)
    told = [(one.provider, one.outcome) for one in answer.attempts if one.what == "page"]
    assert told == [("page.example", "not_found"), ("archive", "ok")]
    assert audit_answer(json.loads(to_json(answer)))["ok"] and answer.run
    again = research("", Settings(replay=Path(answer.run.journal))).answer()
    assert again.citations == answer.citations and again.attempts == answer.attempts
