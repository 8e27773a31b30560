"""The command `search`: what providers find, without a model, a page or a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.cli.search import command
from agent.cli.shell import run_command
from tests.support.services import Services


def test_it_prints_what_a_provider_finds_and_asks_nothing_else(
    services: Services,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in services.environment(tmp_path, CACHE_TTL="0").items():
        monkeypatch.setenv(name, value)
    services.default_hits = ["lego", "toys"]
    status = run_command(command, ["LEGO", "founder"])
    found = json.loads(capsys.readouterr().out)
    assert status == 0 and [doc["url"] for doc in found["docs"]] == [
        services.url("lego"),
        services.url("toys"),
    ]
    assert {"title", "url", "snippet", "provider"} == set(found["docs"][0]) - {"date"}
    assert [(one["provider"], one["outcome"]) for one in found["attempts"]] == [("serpapi", "ok")]
    assert services.search_queries == ["LEGO founder"]
    assert not services.model_requests and not services.page_requests
    assert not list((tmp_path / "runs").glob("*"))


def test_where_all_fail_each_is_named_with_its_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EXA_API_KEY", "TAVILY_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    status = run_command(command, ["LEGO", "--search", "exa,tavily"])
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert status == 1 and found["docs"] == []
    assert [(one["provider"], one["outcome"]) for one in found["attempts"]] == [
        ("exa", "no_key"),
        ("tavily", "no_key"),
    ]
    assert "exa: EXA_API_KEY is not set" in shown.err and "Set one of these keys" in shown.err
