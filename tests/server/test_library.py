"""The library over HTTP: runs with titles and exports, watches with histories, tables that fill."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from agent.run.changes import Known, QuotedPage
from agent.run.export import audit_export
from agent.run.watches import WatchFiles, WatchState, watch_id
from agent.settings import parse_settings
from tests.support.web import TOPIC, Web, configure_from, parse_frames


def test_a_run_gets_a_title_and_tags_is_found_by_them_and_goes_with_them(web: Web) -> None:
    path = f"/api/runs/{web.ask().headers['x-run-id']}"
    named = web.client.patch(path, json={"title": " Final\nin Qatar ", "tags": ["cup", "cup"]})
    assert (named.json()["title"], named.json()["tags"]) == ("Final in Qatar", ["cup"])
    assert web.client.patch(path, json={"tags": ["sport"]}).json()["title"] == "Final in Qatar"
    [found] = web.client.get("/api/runs", params={"q": "qatar SPORT"}).json()
    assert found["question"] == TOPIC == web.client.get(path).json()["question"]
    for bad in ({"tags": [" "]}, {"title": "x" * 201}, {"tags": ["a"] * 21}):
        assert web.client.patch(path, json=bad).status_code == 422
    assert web.client.patch("/api/runs/nobody", json={"title": "x"}).status_code == 404
    assert web.client.delete(path).status_code == 204
    assert not list(web.runs.library.folder.glob(f"{found['id']}*"))


@pytest.mark.slow
def test_the_export_of_a_run_stands_elsewhere(web: Web, tmp_path: Path) -> None:
    answer = web.ask()
    name = answer.headers["x-run-id"]
    got = web.client.get(f"/api/runs/{name}/export")
    assert got.headers["content-type"] == "application/zip"
    assert got.headers["content-disposition"] == f'attachment; filename="{name}.zip"'
    file = tmp_path / "elsewhere.zip"
    file.write_bytes(got.content)
    told = audit_export(file)
    assert told["ok"] and told["signed"] is None, told
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("answer.json"))["answer"] == answer.json()["answer"]
    assert web.client.get("/api/runs/nobody/export").status_code == 404


def test_watches_are_listed_and_shown_with_their_history(tmp_path: Path) -> None:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    files, name = WatchFiles(parse_settings(environment)), watch_id("What?", ("price",))
    page = QuotedPage(
        url="https://a.example/", title="A", quote="It is 3.", link="", retrieved_at=""
    )
    point = Known(value=3, since="2026-11-01T00:00:00Z", sources=(page,))
    state = WatchState(id=name, question="What?", slots=("price",), begun_at="2026-11-01T00:00:00Z")
    with files.hold(name):
        files.write(state.model_copy(update={"history": {"price": (point,)}, "runs": ("/x",)}))
    with Web(configure_from(environment, offline=True)) as web:
        path = f"/api/watches/{name}"
        assert web.client.patch(path, json={"title": "Price"}).status_code == 200
        [told] = web.client.get("/api/watches").json()
        assert (told["id"], told["title"]) == (name, "Price") and "history" not in told
        detail = web.client.get(path).json()
        assert detail["history"]["price"][0]["sources"][0]["quote"] == "It is 3."
        assert "runs" not in detail and web.client.get("/api/watches/x").status_code == 422
        assert [web.client.delete(path).status_code for _ in "12"] == [204, 404]
        assert web.client.get(path).status_code == 404


@pytest.mark.slow
def test_a_table_fills_is_followed_and_taken_as_a_file(tmp_path: Path) -> None:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    asked: dict[str, Any] = {"topic": "companies", "columns": ["founded:integer"]}
    asked |= {"names": ["LEGO", "Nokia", "lego"]}
    with Web(configure_from(environment, offline=True)) as web:
        begun = web.client.post("/api/tables", json=asked)
        path = f"/api/tables/{begun.json()['id']}"
        assert begun.status_code == 202
        with web.client.stream("GET", f"{path}/events") as response:
            frames = list(parse_frames(response.iter_lines()))
        assert [one["type"] for one in frames] == ["start", "row", "row", "table", "end"]
        rows = {one["detail"]["name"]: one["detail"]["cells"]["founded"] for one in frames[1:3]}
        assert rows["LEGO"]["value"] == 1932 and "1932" in rows["LEGO"]["source"]["quote"]
        detail = web.client.get(path).json()
        assert (detail["state"], detail["rows"], detail["done"]) == ("ended", 2, 2)
        assert detail["table"] == frames[3]["detail"]
        for form in ("json", "csv", "xlsx", "html"):
            file = web.client.get(f"{path}/file", params={"format": form})
            assert file.status_code == 200 and f".{form}" in file.headers["content-disposition"]
        assert web.client.post("/api/tables", json=asked).json()["id"] == begun.json()["id"]
        for bad in ({"columns": ["a:colour"]}, {"columns": []}, {"names": [" "]}, {"rows": 0}):
            assert web.client.post("/api/tables", json={**asked, **bad}).status_code == 422
    journals = {file.name: file.stat().st_size for file in (tmp_path / "runs").glob("*.jsonl")}
    with Web(configure_from(environment, offline=True)) as web:
        assert web.client.get(f"{path}/events").status_code == 204
        web.client.patch(path, json={"title": "Firms", "tags": ["x"]})
        [told] = web.client.get("/api/tables").json()
        assert (told["title"], told["state"], "table" in told) == ("Firms", "ended", False)
        assert web.client.get(path).json()["table"] == detail["table"]
        assert [web.client.delete(path).status_code for _ in "12"] == [204, 404]
        assert not list((tmp_path / "runs/tables").iterdir())
    assert journals == {f.name: f.stat().st_size for f in (tmp_path / "runs").glob("*.jsonl")}
    assert json.loads(json.dumps(journals)) and len(journals) == 2
