"""A stored answer outlives the prompts: a version that asks by other ones shows it."""

from __future__ import annotations

import json
import re
import resource
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import agent
from agent.answer.json_format import to_json
from agent.documents.reports.reader import read_report
from agent.errors import JournalError
from agent.run.begin import research
from agent.run.check_run import begin_check
from agent.run.loop import CHANGED_REPLAY, CHANGED_RESUME
from agent.run.stored_answer import NOT_ENDED, OLDER, read_answer
from agent.settings import Settings, parse_settings
from agent.state import RunRequest
from tests.support.processes import run_interpreter
from tests.support.services import Services
from tests.support.thinker import Fact, Thinker
from tests.support.worlds import read_journal_lines

TOPIC = "Who won the 2022 FIFA World Cup?"
REPORT = "# Cups\n\nArgentina won the 2022 FIFA World Cup [1].\n\n## References\n\n[1] {url}\n"
ROW = {"type": "object", "properties": {"winner": {"type": "string"}}}
_SYSTEM_PROMPT = re.compile(
    r"(def system_prompt\(self\) -> str:\n)((?:(?!\n    def |\n\n\n)[\s\S])*)"
)


#: What another version does with the runs of this one; its result is the last line of its output.
ELSEWHERE = """
import json, sys
from pathlib import Path
from agent.answer.json_format import to_json
from agent.run.begin import research
from agent.run.audit_answer import audit_answer
from agent.run.export import audit_export, write_export
from agent.run.run_library import Library
from agent.run.stored_answer import read_answer
from agent.server.run_manager import Runs
from agent.settings import load_settings

settings, folder = load_settings(), Path(sys.argv[1])
results = {"listed": {one.id: one.status for one in Library(settings).list_newest(50)}}
for journal in sorted((folder / "runs").glob("*.jsonl")):
    name, answer = journal.stem, json.loads(to_json(read_answer(journal)))
    packed = folder / f"{name}.zip"
    packed.write_bytes(write_export(journal))
    live = Runs(settings).find(name)
    follow = {"resume": f"after-{name}", "follow": name, "offline": True}
    results[name] = {
        "answer": answer,
        "audited": audit_answer(answer),
        "export": audit_export(packed),
        "served": json.loads(to_json(live.answer)),
        "followed": research("And who lost?", **follow).answer().run.follows.run,
    }
results["resumed"] = json.loads(to_json(research("", settings, resume="model").answer()))
results["replayed"] = json.loads(to_json(research("", settings, replay="offline").answer()))
print(json.dumps(results))
"""


class Made(NamedTuple):
    """Runs of this version, and what a version with other prompts makes of them."""

    answers: dict[str, Any]
    results: dict[str, Any]


def reword_prompts(package: Path) -> int:
    """Change the wording of each system prompt in a copy of the program; returns how many."""
    count = 0
    for file in package.rglob("*.py"):
        text = file.read_text("utf-8")

        def reword(found: re.Match[str]) -> str:
            return found[1] + re.sub(r"\breturn (?=[f\"(A-Z_])", 'return "Now: " + ', found[2])

        changed = _SYSTEM_PROMPT.sub(reword, text)
        count += changed.count('return "Now: " + ')
        file.write_text(changed, "utf-8")
    return count


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("made")
    with Services() as services:
        environment = services.environment(folder, CACHE_TTL="0")
        answers = make_runs(services, environment, folder)
        elsewhere = folder / "elsewhere"
        shutil.copytree(Path(agent.__file__).parent, elsewhere / "agent")
        assert reword_prompts(elsewhere / "agent") > 10
        done = run_interpreter(
            *("-c", ELSEWHERE, str(folder)),
            **{"cwd": elsewhere, "text": True},
            env={**environment, "PYTHONPATH": str(elsewhere), "PATH": "/usr/bin:/bin"},
        )
    assert done.returncode == 0, done.stderr
    return Made(answers, json.loads(done.stdout.splitlines()[-1]))


def make_runs(services: Services, environment: dict[str, str], folder: Path) -> dict[str, Any]:
    """Runs without a model, with one, a report, a check, and the row of a table."""
    services.pages = {"final": "Argentina won the 2022 FIFA World Cup. It rained all day."}
    services.default_hits = ["final"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["final winner"])
    settings = parse_settings(environment)
    offline = parse_settings(environment, offline=True)
    report = read_report(REPORT.format(url=services.url("final")).encode(), "cups.md")
    row = research(TOPIC, offline, resume="row", slots_schema=ROW)
    runs = {
        "row": row,
        "model": research(TOPIC, settings, resume="model"),
        "offline": research(TOPIC, offline, resume="offline"),
        "report": research(TOPIC, offline, resume="report", strategy="report"),
        "check": begin_check(settings, RunRequest(report=report, resume="check")),
    }
    return {name: json.loads(to_json(run.answer())) for name, run in runs.items()}


@pytest.mark.parametrize("name", ["model", "offline", "report", "check", "row"])
def test_a_run_is_shown_audited_exported_served_and_followed(name: str, made: Made) -> None:
    answer, results = made.answers[name], made.results[name]
    assert answer["status"] in ("complete", "partial") and not answer["error"]
    assert results["answer"] == results["served"] | {"run": answer["run"]} == answer
    assert not str(results["served"]["run"]["journal"]).startswith("/")
    assert made.results["listed"][name] == answer["status"]
    for audited in (results["audited"], results["export"]):
        assert audited["ok"] and audited["stored"], audited["failures"]
    assert results["followed"] == name


def test_what_asks_again_says_why(made: Made) -> None:
    resumed, replayed = made.results["resumed"], made.results["replayed"]
    assert CHANGED_RESUME in resumed["warnings"] and CHANGED_REPLAY in replayed["warnings"]
    assert resumed["answer"] == made.answers["model"]["answer"]
    assert replayed["error"]["kind"] == "journal"


def write_journal(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def test_a_journal_of_version_1_is_shown_by_its_calls(services: Services, tmp_path: Path) -> None:
    services.pages = {"final": "Argentina won the 2022 FIFA World Cup. It rained all day."}
    services.default_hits = ["final"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["final winner"])
    settings = parse_settings(services.environment(tmp_path))
    research(TOPIC, settings, resume="old").answer()
    path = tmp_path / "runs" / "old.jsonl"
    header, *lines, _ = read_journal_lines(path)
    write_journal(path, [header, *lines])
    with pytest.raises(JournalError, match=NOT_ENDED):
        read_answer(path)
    header |= {"journal": 1}
    write_journal(path, [header, *lines, {"say": ["only this year"], "boundary": 0}])
    before, shown = path.read_bytes(), read_answer(path)
    assert shown.status == "partial" and "Argentina" in shown.answer and not shown.citations
    assert [claim.verdict for claim in shown.claims] == ["unchecked"]
    assert shown.warnings == (OLDER, f"Read: {services.url('final')}")
    assert shown.sources.read == 1 and shown.usage.seconds > 0 and shown.topic == TOPIC
    assert path.read_bytes() == before


def test_a_disk_that_is_full_at_the_end_costs_a_warning(tmp_path: Path) -> None:
    settings = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    run = research(TOPIC, settings, resume="full")
    for event in run:
        if event.type == "verified":
            size = (tmp_path / "full.jsonl").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    answer = run.answer()
    assert answer.citations and answer.run and answer.run.journal is None
    assert "The journal cannot be written" in answer.warnings[-1]


def test_a_run_that_went_on_has_a_new_answer_and_the_newest_counts(tmp_path: Path) -> None:
    settings = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path)
    first = research(TOPIC, settings, resume="cut", max_calls=1).answer()
    whole = research("", settings, resume="cut").answer()
    path = tmp_path / "cut.jsonl"
    assert first.status != whole.status == "complete" and read_answer(path) == whole
    size = path.stat().st_size
    research("", settings, resume="cut").answer()  # nothing is left to do
    assert path.stat().st_size == size
