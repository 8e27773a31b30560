"""An archived copy stands in for a page that refuses or is lost, and is told as such."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from agent.answer.formats import to_text
from agent.answer.json_format import to_json
from agent.errors import ReadFailed
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.run.retriever import open_retriever
from agent.settings import Settings, parse_settings
from tests.steps.test_slots import TOPIC, ended
from tests.support.page_server import PageServer, reply
from tests.support.services import Services
from tests.support.thinker import FINAL, Fact, Thinker

CLOSED = reply(b"no", "403 Forbidden")


@pytest.fixture(autouse=True)
def _proxy(web: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public web is behind a proxy, which is `web`; no name of it has an address here."""
    monkeypatch.setenv("http_proxy", web.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def settings_of(folder: Path, **more: str) -> Settings:
    places = {"RUNS_DIR": str(folder / "runs"), "CACHE_DIR": str(folder / "cache")}
    alone = {"FETCH_THROUGH_PROXY": "1", "SEARCH_PROVIDERS": "wikipedia", "CACHE_TTL": "0"}
    return parse_settings({**places, **alone, **more})


def fail(url: str, settings: Settings) -> ReadFailed:
    sources = open_retriever(settings)
    with closing(sources), pytest.raises(ReadFailed) as caught:
        sources.read(url)
    return caught.value


@pytest.mark.parametrize("private", ["0", "1"])
@pytest.mark.parametrize(
    "place", ["", "intranet", "nas.local", "10.0.0.7", "user:secret@page.example"]
)
def test_the_archive_is_not_told_of_an_address_that_is_not_public(
    place: str, private: str, web: PageServer, tmp_path: Path
) -> None:
    """Also where the program itself may read private pages."""
    names = ("intranet", "wiki.corp", "nas.local", "10.0.0.7", "page.example")
    web.answers |= {f"http://{name}/closed": CLOSED for name in names} | {"/closed": CLOSED}
    with PageServer() as archive:
        more = {"RESEARCH_AGENT_ARCHIVE": "1", "ARCHIVE_BASE_URL": archive.url}
        more["ALLOW_PRIVATE_NETWORK"] = private
        url = f"http://{place}/closed" if place else f"{web.url}/closed"
        error = fail(url, settings_of(tmp_path, **more))
        assert not archive.request_heads
    told = [(one.provider, one.outcome) for one in error.attempts]
    assert {outcome for name, outcome in told if name == "archive"} <= {"forbidden"}
    assert private == "0" or len(told) == 2, "where the page may be read the archive refuses"


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
        own = parse_settings(services.environment(tmp_path, RESEARCH_AGENT_ARCHIVE="1", **more))
        _, answer = ended(own)
    first = answer.citations[0]
    assert (first.url, first.copy_of) == (address, services.url("final"))
    assert first.quote in FINAL and f"archived copy of {first.copy_of}" in to_text(answer)
    told = [(one.provider, one.outcome) for one in answer.attempts if one.what == "page"]
    assert told == [("page.example", "not_found"), ("archive", "ok")]
    assert audit_answer(json.loads(to_json(answer)))["ok"] and answer.run
    again = research("", Settings(), replay=Path(answer.run.journal)).answer()
    assert again.citations == answer.citations and again.attempts == answer.attempts
