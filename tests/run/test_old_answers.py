"""An answer of version 2 that a run stored: it is shown, audited, compared, listed and followed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from agent.run.begin import research
from agent.run.stored_answer import read_answer
from agent.run.validate_request import RunRequest
from agent.settings import Settings
from tests.support.processes import run_command

STORED = Path(__file__).with_name("data") / "answer-2.jsonl"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return Path(shutil.copy(STORED, tmp_path / "conflict.jsonl"))


@pytest.fixture
def file(journal: Path) -> Path:
    """The answer as the version that wrote it printed it."""
    answer = json.loads(journal.read_text("utf-8").splitlines()[-1])["answer"]
    assert answer["schema_version"] == "2"
    path = journal.with_name("answer.json")
    path.write_text(json.dumps(answer), "utf-8")
    return path


def call(*arguments: str, code: int = 0, runs: Path = Path()) -> Any:
    env = {**os.environ, "RUNS_DIR": str(runs)}
    done = run_command("-m", "agent.cli", *arguments, text=True, env=env)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_what_stood_word_for_word_on_a_page_is_shown_as_quoted(journal: Path) -> None:
    answer = read_answer(journal)
    assert answer.schema_version == "3" and answer.status == "partial"
    verdicts = [(claim.verdict, claim.by) for claim in answer.claims]
    assert verdicts == [("quoted", "rule")] * 2 + [("supported", "gemini-3.8-flash")] * 2


def test_it_is_audited_by_the_rules_of_then_and_a_lie_is_found(journal: Path, file: Path) -> None:
    found = call("audit", str(file), "--journal", str(journal))
    assert found["ok"] and found["stored"] and found["checked"]["claims"] == 4
    text = file.read_text("utf-8")
    file.write_text(text.replace("Argentina won the cup.", "Argentina lost the cup."), "utf-8")
    assert not call("audit", str(file), "--journal", str(journal), code=1)["ok"]


def test_it_is_compared_listed_and_shown(journal: Path, file: Path) -> None:
    assert call("audit", "--diff", str(file), str(file))["ok"]
    shown = call("runs", "show", "conflict", "--format", "json", runs=journal.parent)
    assert shown["schema_version"] == "3" and shown["claims"][0]["verdict"] == "quoted"
    rows = call("runs", "list", runs=journal.parent)
    assert "Who won the cup of 1987?" in json.dumps(rows)


def test_it_can_be_followed(journal: Path, tmp_path: Path) -> None:
    folders = {"runs_dir": tmp_path, "cache_dir": tmp_path / "cache"}
    request = RunRequest(follow="conflict")
    answer = research("And who lost it?", Settings(offline=True, **folders), request).answer()
    assert answer.run and answer.run.follows and answer.run.follows.run == "conflict"
