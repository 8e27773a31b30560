"""The audit: an answer passes, and any tampering is found and named."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.answer.json_format import to_json
from agent.answer.schema import upgrade_answer
from agent.errors import JournalError
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.run.changes import compare_answers
from agent.settings import Settings
from agent.state.json_data import Json
from tests.steps.test_slots import TOPIC, ended
from tests.support.processes import run_command
from tests.support.services import Raw, Services, judge_by_names
from tests.support.thinker import FINAL, Fact, Thinker

ROOT = Path(__file__).parents[2]


@pytest.fixture
def answer(services: Services, settings: Settings) -> Json:
    """An answer with a page, a snippet and two claims, the second judged by a model."""
    services.pages = {"final": FINAL}
    services.hits = {TOPIC: ["final", "gone"], "score": ["final"]}
    facts = [Fact("winner", "Argentina", "Argentina won"), Fact("about", "gone", "About gone")]
    honest = Thinker(facts, ["score"])

    def think(asked: Any) -> Any:
        reply = honest(asked)
        if asked.task == "synthesize":
            reply["answer"] = "Argentina won the cup. [1] It is about something gone [2]."
        if asked.task == "verify":
            return judge_by_names(asked)
        return reply

    services.think = think
    _, made = ended(settings)
    value = json.loads(to_json(made))
    assert [claim["verdict"] for claim in value["claims"]] == ["supported", "supported"]
    assert {citation["via"] for citation in value["citations"]} == {"page", "snippet"}
    assert isinstance(value, dict)
    return value


def test_a_whole_answer_passes(answer: Json) -> None:
    found = audit_answer(answer)
    assert found["ok"] and found["failures"] == [] and found["stored"]
    assert found["checked"] == {"citations": 2, "claims": 2, "slots": 2, "pages": 2}
    judged = {"verdict": "supported", "by": "gemini-3.8-flash"}
    names = ("claims[0]", "claims[1]", "slots.winner", "slots.about")
    assert found["judged_by_model"] == [{"where": name, **judged} for name in names]


def put(path: str, value: Any) -> Callable[[Json], None]:
    def tamper(answer: Json) -> None:
        *parents, last = path.split(".")
        place: Any = answer
        for key in parents:
            place = place[int(key) if key.isdigit() else key]
        place[int(last) if last.isdigit() else last] = value

    return tamper


TAMPERINGS: list[tuple[Callable[[Json], None], str]] = [
    (put("answer", "Brazil won the cup [1]."), "answer"),
    (put("citations.0.quote", "Brazil won the cup."), "citations[0].quote"),
    (put("citations.0.page_sha256", "0" * 64), "citations[0].page_sha256"),
    (put("citations.0.url", "https://elsewhere.org/"), "citations[0].url"),
    (put("citations.0.match", "none"), "citations[0].match"),
    (put("claims.0.text", "Brazil won the cup."), "answer"),
    (put("claims.0.verdict", "partial"), "claims[0].verdict"),
    (put("claims.1.by", "rule"), "claims[1].by"),
    (put("slots.winner.citations", [9]), "slots.winner"),
    (put("claims", []), "answer"),
    (put("topic", "Who won the cup of 1990?"), "topic"),
    (put("degraded", False), "degraded"),
    (lambda answer: answer["slots"].pop("winner"), "slots.winner"),
    (put("usage.searches", 0), "usage.searches"),
    (put("warnings", []), "warnings"),
    (put("extra", 1), "$"),
]


@pytest.mark.parametrize("number", range(len(TAMPERINGS)))
def test_tampering_is_found_and_named(number: int, answer: Json) -> None:
    tamper, where = TAMPERINGS[number]
    changed = copy.deepcopy(answer)
    tamper(changed)
    found = audit_answer(changed)
    assert not found["ok"] and where in {failure["where"] for failure in found["failures"]}


def test_fields_of_earlier_versions_are_passed_over(answer: Json) -> None:
    older = answer | {"series": [{"name": "cups", "points": []}]}
    assert audit_answer(older)["ok"]
    sections = [{"heading": "a", "timeline": [{"at": "2001"}]}]
    given = {"series": 1, "slots": {"series": 2}, "report": {"sections": sections}}
    kept = {"slots": {"series": 2}, "report": {"sections": [{"heading": "a"}]}}
    assert upgrade_answer(given) == kept


def test_a_tampered_journal_is_found(answer: Json, tmp_path: Path) -> None:
    journal = Path(answer["run"]["journal"])
    forged = tmp_path / "forged.jsonl"
    forged.write_text(journal.read_text("utf-8").replace("Argentina won", "Brazil won"))
    found = audit_answer(answer, forged)
    assert "citations[0].page_sha256" in {failure["where"] for failure in found["failures"]}
    with pytest.raises(JournalError):
        audit_answer(answer, tmp_path / "missing.jsonl")
    for damage in ('"call": 7', '"call": ["read"]'):
        forged.write_text(journal.read_text("utf-8").replace('"call": "read"', damage))
        with pytest.raises(JournalError):
            audit_answer(answer, forged)


def test_an_earlier_version_stored_no_answer_to_compare_with(answer: Json, tmp_path: Path) -> None:
    journal = tmp_path / "old.jsonl"
    first, *calls, _ = Path(answer["run"]["journal"]).read_text("utf-8").splitlines()
    header = {**json.loads(first), "journal": 1, "version": "0.0.1"}
    journal.write_text("\n".join((json.dumps(header), *calls)) + "\n")
    found = audit_answer({**answer, "degraded": False}, journal)
    assert found["ok"] and not found["stored"]


def test_changes_claim_by_claim_and_slot_by_slot(answer: Json) -> None:
    assert compare_answers(answer, copy.deepcopy(answer))["ok"]
    new = copy.deepcopy(answer)
    new["claims"][0]["text"] = "France won the cup."
    new["slots"]["winner"]["value"] = "France"
    difference = compare_answers(answer, new)
    assert not difference["ok"]
    changes = {"added": ["France won the cup."], "removed": ["Argentina won the cup."]}
    assert difference["claims"] == changes
    assert difference["slots"]["winner"]["new"]["value"] == "France"


def command(*arguments: str, cwd: Path, **more: str) -> tuple[int, Json]:
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", **more}
    done = run_command("-m", "agent.cli", "audit", *arguments, cwd=cwd, env=environment, text=True)
    assert "Traceback" not in done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return done.returncode, value


@pytest.mark.slow
def test_fetch_reports_which_quotes_are_gone(
    answer: Json, services: Services, tmp_path: Path
) -> None:
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    more = {"ALLOW_PRIVATE_NETWORK": "1", "RESEARCH_AGENT_RESPECT_ROBOTS": "0"}
    status, found = command("answer.json", "--fetch", cwd=tmp_path, **more)
    assert status == 0 and [row["now"] for row in found["live"]] == ["there", "unread"]
    services.pages = {"final": "Nothing of it is left.", "gone": Raw(404, "")}
    status, found = command("answer.json", "--fetch", cwd=tmp_path, **more)
    assert status == 0 and [row["now"] for row in found["live"]] == ["gone", "unread"]
    assert not any("archived" in row for row in found["live"])  # an intranet is not told


@pytest.mark.parametrize("calls", [1, 4])
def test_an_answer_that_was_cut_short_passes_before_and_after(calls: int, tmp_path: Path) -> None:
    """Calls in progress at the end were paid for, though a replay does not see them."""
    own = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path)
    cut = research("Who won the 2022 FIFA World Cup?", own, resume="a", max_calls=calls)
    partial = json.loads(to_json(cut.answer()))
    assert partial["status"] in ("partial", "insufficient")
    found = audit_answer(partial)
    assert found["ok"] and found["stored"], found["failures"]
    whole = json.loads(to_json(research("", own, resume="a").answer()))
    assert whole["status"] == "complete"
    for value in (whole, partial):
        found = audit_answer(value)
        assert found["ok"] and found["stored"], found["failures"]


@pytest.mark.parametrize("name", ["/etc/passwd", "/dev/zero", "/proc/self/mem", "\ud800", "a\0b"])
def test_a_file_that_an_answer_names_as_its_journal_is_not_shown(
    name: str, answer: Json, tmp_path: Path
) -> None:
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(answer | {"run": {**answer["run"], "journal": name}}))
    status, report = command(str(file), cwd=tmp_path)
    assert status == 2 and report["error"]["remedy"]
    assert "root" not in report["error"]["message"]
