"""The library over HTTP: runs with titles, tags and exports."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from agent.run.export import audit_export
from tests.support.web import TOPIC, Web


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
def test_the_export_of_a_run_passes_its_audit(web: Web, tmp_path: Path) -> None:
    answer = web.ask()
    name = answer.headers["x-run-id"]
    got = web.client.get(f"/api/runs/{name}/export")
    assert got.headers["content-type"] == "application/zip"
    assert got.headers["content-disposition"] == f'attachment; filename="{name}.zip"'
    file = tmp_path / "elsewhere.zip"
    file.write_bytes(got.content)
    result = audit_export(file)
    assert result["ok"], result
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("answer.json"))["answer"] == answer.json()["answer"]
    assert web.client.get("/api/runs/nobody/export").status_code == 404
