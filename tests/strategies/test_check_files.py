"""Files that a report names beside itself are its sources, on the command line alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.answer.check_result import build_check_result
from agent.cli.check import command
from agent.cli.shell.process import run_command
from agent.documents.reports.reader import read_report
from agent.run.check_run import begin_check
from agent.search.cited_files import find_beside
from agent.settings import Settings
from agent.state import RunRequest

HAS = "The honey bee colony of Ludo has 40,000 bees."
REPORT = f"""# Bees

{HAS} [bees](data/two%20bees.md)

{HAS[:-1]} and more. [s](../secret.md)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "two bees.md").write_text(
        f"# Ludo\n\n{HAS} Anna Berg founded it.\n", "utf-8"
    )
    (folder / "report.md").write_text(REPORT, "utf-8")
    (folder / ".env.md").write_text("KEY=1", "utf-8")
    (tmp_path / "secret.md").write_text(f"{HAS[:-1]} and more.", "utf-8")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "up").symlink_to(tmp_path)
    return folder


def test_a_file_that_a_report_names_is_read_and_nothing_outside_its_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RUNS_DIR", "CACHE_DIR"):
        monkeypatch.setenv(name, str(folder.parent / name))
    told = ["--llm", "extractive", "--browser", "never", "--format", "json"]
    run_command(command, [str(folder / "report.md"), *told])
    result = json.loads(capsys.readouterr().out)
    verdicts = {claim["text"]: claim["verdict"] for claim in result["claims"]}
    assert verdicts == {HAS: "quoted", f"{HAS[:-1]} and more.": "unreadable"}
    assert result["sources"][0]["url"] == "corpus:data/two%20bees.md"


def test_a_request_without_a_folder_reads_no_file(folder: Path) -> None:
    report = read_report(REPORT.encode(), "report.md")
    settings = Settings(
        runs_dir=folder.parent / "runs", cache_dir=folder.parent / "cache", llm=("extractive",)
    )
    checked = build_check_result(begin_check(settings, RunRequest(report=report)).answer())
    assert {claim.verdict for claim in checked.claims} == {"unreadable"}


@pytest.mark.parametrize(
    "name",
    [
        "../secret.md",
        "link.md",
        "up/secret.md",
        ".env.md",
        "%2e%2e/secret.md",
        "/etc/hosts.txt",
        "data",
        "a\0.md",
    ],
)
def test_what_is_outside_hidden_or_a_link_is_no_source(folder: Path, name: str) -> None:
    assert find_beside(folder, f"corpus:{name}") is None
    assert find_beside(folder, "https://a.example/report.md") is None
    assert find_beside(folder, "corpus:report.md") == folder.resolve() / "report.md"
