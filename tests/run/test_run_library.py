"""The library of runs: earlier pages are found again, and an export is verified elsewhere."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent.cli.audit import command as audit
from agent.cli.runs import command
from agent.cli.shell import run_command
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.run.export import write_export
from agent.run.retriever import open_run_pages
from agent.run.run_library import Library
from agent.settings import Settings, parse_settings
from tests.documents.test_zip_entries import link, pack
from tests.run.watch.shop import QUESTION, open_shop, page
from tests.support.services import Raw, Services

DAY_OLD = "2026-01-02T03:04:05Z"


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    status = run_command(command, arguments)
    shown = capsys.readouterr()
    return status, json.loads(shown.out) if shown.out else None, shown.err


@pytest.fixture
def settings(services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of a shop's services, in the environment too."""
    environment = services.environment(tmp_path, CACHE_TTL="0")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    open_shop(services, shop=page(120), other="Cats sleep most of the day.")
    return parse_settings(environment)


def make_older(journal: Path) -> None:
    """Let a run have read its pages on an earlier day."""
    text = journal.read_text("utf-8")
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    assert f'"retrieved_at": "{today}' in text
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        if line.get("call") == "read" and "response" in line:
            line["response"]["retrieved_at"] = DAY_OLD
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def test_what_was_read_once_is_found_again_free_and_as_verifiable(
    services: Services, settings: Settings, tmp_path: Path
) -> None:
    first = research(QUESTION, settings, resume="first").answer()
    searches = len(services.search_queries)
    assert first.citations and searches
    make_older(tmp_path / "runs/first.jsonl")
    services.pages, asked = {"shop": Raw(503, "down"), "other": Raw(503, "down")}, settings.search
    answer = research(QUESTION, settings, search=(*asked, "runs"), resume="again").answer()
    assert len(services.search_queries) == searches and len(services.page_requests) == 2
    [citation] = answer.citations
    assert citation.quote == first.citations[0].quote and citation.url == services.url("shop")
    assert citation.retrieved_at == DAY_OLD
    journal = tmp_path / "runs/again.jsonl"
    Library(settings).delete("first")  # the new journal holds what it needs
    result = audit_answer(json.loads(answer.model_dump_json()), journal)
    assert result["ok"] and result["stored"], result

    services.pages["shop"] = page(99)  # what is stale is refused: the web is asked
    fresh = {"search": (*asked, "runs"), "since": datetime(2026, 6, 1, tzinfo=UTC).date()}
    answer = research(QUESTION, settings, resume="fresh", **fresh).answer()
    assert "99 euros" in answer.citations[0].quote and len(services.search_queries) > searches


@pytest.mark.slow
def test_the_index_of_runs_is_bounded_follows_deletions_and_leaves_documents_out(
    services: Services, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, price in (("old", 120), ("new", 99)):
        services.pages["shop"] = page(price)
        research(QUESTION, settings, resume=name).answer()
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "pump.md").write_text("The Velmora pump was repaired by Ada.")
    research("Who repaired the Velmora pump?", settings, corpus=folder, offline=True).answer()

    def find(**more: Any) -> list[tuple[str, str]]:
        named = settings.model_copy(update={"search": ("runs",), **more})
        pages = open_run_pages(named)
        try:
            hits = pages.search("Velmora pump euros")
            return [(hit.url, pages.read(hit.url).text[-10:]) for hit in hits]
        finally:
            pages.close()

    url = services.url("shop")
    assert find() == [(url, " 99 euros.")]  # the newest copy counts
    assert find(block_domains=("127.0.0.1",)) == []
    assert ask(capsys, "search", "Velmora pump repaired Ada")[1] == []
    assert ask(capsys, "delete", "new")[0] == 0 and find() == [(url, "120 euros.")]
    assert ask(capsys, "delete", "old")[0] == 0 and find() == []
    [index] = (tmp_path / "cache").glob("runs-*.sqlite")
    assert b"Spare parts" not in index.read_bytes()


def test_runs_are_listed_named_and_refused(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    research(QUESTION, settings, resume="pump").answer()
    (tmp_path / "runs/notes.jsonl").write_text("mine")
    assert ask(capsys, "name", "pump", "What it costs")[1][0]["title"] == "What it costs"
    assert ask(capsys, "tag", "pump", "shop", "2026")[1][0]["tags"] == ["shop", "2026"]
    assert [run["id"] for run in ask(capsys, "list", "COSTS", "shop")[1]] == ["pump"]
    assert ask(capsys, "show", "pump")[1]["topic"] == QUESTION
    for wrong in (["show", "nobody"], ["delete", "notes"], ["name", "pump", "x" * 201]):
        status, shown, err = ask(capsys, *wrong)
        assert (status, shown) == (2, None) and len(err.splitlines()) == 2
    assert (tmp_path / "runs/notes.jsonl").read_text() == "mine"


def test_an_export_is_verified_elsewhere_and_a_changed_byte_is_found(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    research(QUESTION, settings, resume="pump").answer()
    export = tmp_path / "pump.zip"
    assert ask(capsys, "export", "pump", "--out", str(export))[0] == 0
    Library(settings).delete("pump")

    def check(file: Path) -> tuple[int, dict[str, Any]]:
        status = run_command(audit, [str(file)])
        return status, json.loads(capsys.readouterr().out)

    assert check(export)[0] == 0
    changes = {
        "answer.json": (b"120 euros", b"121 euros"),
        "journal.jsonl": (b"120 euros", b"121 euros"),
        "manifest.json": (b'"answer.json": "', b'"answer.json": "0'),
    }
    with zipfile.ZipFile(export) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    changes |= {name: (b" ", b"_") for name in files if name.startswith("pages/")}
    changed = tmp_path / "changed.zip"
    for name, (old, new) in changes.items():
        assert old in files[name], name
        changed.write_bytes(pack(*(files | {name: files[name].replace(old, new)}).items()))
        status, result = check(changed)
        assert status == 1 and not result["ok"] and result["failures"], name
    changed.write_bytes(pack(*((n, d) for n, d in files.items() if not n.endswith(".txt"))))
    status, result = check(changed)
    assert status == 1 and {one["what"] for one in result["failures"]} == {"it is missing"}


def _pack(file: Path, entries: list[Any], front: bytes = b"") -> Path:
    """An archive of entries as they are, whose manifest names each as it is first."""
    hashes = {
        str(getattr(n, "filename", n)): hashlib.sha256(d).hexdigest() for n, d in entries[::-1]
    }
    manifest = json.dumps({"files": hashes}).encode()
    file.write_bytes(front + pack(*entries, ("manifest.json", manifest)))
    return file


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (("answer.json", b"{}"), "two parts of one name"),
        (("Answer.JSON", b"{}"), "two parts of one name"),
        (("pages/../../x", b""), "a name that leads out"),
        (("c:\\x", b""), "a name that leads out"),
        ((link("pages/x"), b"/etc/passwd"), "a link"),
        (("pages/x", bytes(30_000_000)), "unpacks to more"),
    ],
)
def test_an_archive_of_others_is_refused(
    extra: tuple[Any, bytes], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """First or last, in any case: no reader can meet another answer than ours."""
    files: list[Any] = [("answer.json", b"{}"), ("journal.jsonl", b"")]
    for entries in ([extra, *files], [*files, extra]):
        export = _pack(tmp_path / "x.zip", entries)
        assert run_command(audit, [str(export)]) == 2
        assert message in json.loads(capsys.readouterr().out)["error"]["message"]


def test_an_export_holds_nothing_that_it_does_not_name(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    research(QUESTION, settings, resume="pump").answer()
    own = io.BytesIO(write_export(tmp_path / "runs/pump.jsonl"))
    with zipfile.ZipFile(own) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files.pop("manifest.json")
    for front, status in ((b"", 0), (b"x", 1)):
        export = _pack(tmp_path / "x.zip", list(files.items()), front)
        assert run_command(audit, [str(export)]) == status
        failures = json.loads(capsys.readouterr().out)["failures"]
        assert [one["what"] for one in failures] == [
            "it holds more than its directory names"
        ] * status


BOMBS = {
    "lists": {"answer.json": b"[" + b"[]," * 1_500_000 + b"0]"},
    "checks": {
        "answer.json": b'{"schema_version":"check-2","claims":[' + b"{}," * 200_000 + b"0]}"
    },
    "journal": {"journal.jsonl": b"0" * 300_000_000},
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says what was used")
def test_a_small_archive_costs_little_memory(name: str, tmp_path: Path) -> None:
    files = {"answer.json": b"{}", "journal.jsonl": b"", **BOMBS[name]}
    export = _pack(tmp_path / "x.zip", list(files.items()))
    assert export.stat().st_size < 310_000
    code = (
        "import re, sys; from agent.cli import run_cli; status = run_cli(['audit', sys.argv[1]]); "
        "used = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]; "
        "print(status, used, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, str(export)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, used = map(int, done.stderr.split())
    assert status in (1, 2) and used < 200_000, "kB"
