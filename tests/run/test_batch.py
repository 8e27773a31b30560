"""The command `batch`: each topic is researched once, and a bad one costs only itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer.schema import answer_validator
from agent.calls.budget import Caps
from agent.errors import JournalError, UsageError
from agent.run.batch.local import LocalEngine, run_name
from agent.run.batch.rows import OutputFile
from agent.run.batch.runner import Batch
from agent.run.batch.topics import Topic, read_topics
from agent.run.resources import share_resources
from agent.settings import parse_settings
from agent.state import RunRequest
from tests.support.cups import (
    count_requests,
    cup_number,
    cup_topic,
    finished_calls,
    requests_since,
    serve_cups,
    topic_lines,
)
from tests.support.processes import start_command
from tests.support.services import Raw, Services
from tests.support.web import wait_until

ROOT = Path(__file__).parents[2]
COUNT = 12
LONGEST = 60.0  # seconds: a net under a process that hangs


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(raw) for raw in out.read_text("utf-8").splitlines()]


class Command:
    """`research-agent batch` in a folder, against services."""

    def __init__(self, folder: Path, services: Services, **more: str) -> None:
        self.out = folder / "out.jsonl"
        self.topics = folder / "topics.jsonl"
        self._folder = folder
        kept = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        given = services.environment(folder, CACHE_TTL="0", PYTHONPATH=str(ROOT), **more)
        self._environment = {**kept, **given}

    def start(self, *options: str) -> subprocess.Popen[str]:
        arguments = ["-m", "agent.cli", "batch", self.topics, "--out", self.out, *options]
        own: Any = {"cwd": self._folder, "env": self._environment, "text": True}
        own |= dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        return start_command(*arguments, **own)

    def run(self, *options: str) -> tuple[int, dict[str, Any], str]:
        return ended(self.start(*options))

    def wait_for(self, count: int) -> None:
        out = self.out
        wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") >= count, LONGEST)


def ended(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any], str]:
    out, err = process.communicate(timeout=LONGEST)
    assert "Traceback" not in err, err
    return process.returncode, json.loads(out), err


@pytest.fixture
def command(tmp_path: Path, services: Services) -> Command:
    serve_cups(services, COUNT)
    made = Command(tmp_path, services)
    made.topics.write_text(topic_lines(COUNT))
    return made


@pytest.mark.slow
def test_killed_and_interrupted_it_goes_on_and_pays_nothing_twice(
    command: Command, services: Services, tmp_path: Path
) -> None:
    services.latency = lambda: 0.05
    first = command.start("--concurrency", "4")
    command.wait_for(2)
    first.kill()
    first.communicate()
    rows, paid, then = rows_of(command.out), journals(tmp_path), count_requests(services)
    assert 2 <= len(rows) < COUNT and len(paid) > 5 * len(rows)

    with command.out.open("a") as file:
        file.write('{"id":"c99","torn')  # as a kill in the middle of a row would leave it
    second = command.start("--concurrency", "4")
    command.wait_for(len(rows) + 2)
    second.send_signal(signal.SIGINT)
    status, summary, err = ended(second)
    assert (status, summary["stopped"]) == (130, "interrupted")
    assert "Run the same command to continue" in err
    assert 0 < summary["left"] == COUNT - summary["answered"]
    assert not paid & set(requests_since(services, then))

    paid, then = journals(tmp_path), count_requests(services)
    status, summary, _ = command.run("--in-order")
    assert (status, summary["answered"], summary["left"]) == (0, COUNT, 0)
    assert not paid & set(requests_since(services, then))
    rows = rows_of(command.out)
    assert [row.pop("id") for row in rows] == [f"c{n}" for n in range(1, COUNT + 1)]
    for n, row in enumerate(rows, 1):
        answer_validator().validate(row)
        assert row["status"] == "complete" and f"Team {n}" in row["answer"]
    assert summary["usage"]["llm_calls"] == sum(row["usage"]["llm_calls"] for row in rows)


def journals(folder: Path) -> set[tuple[str, str]]:
    return finished_calls((folder / "runs").glob("*.jsonl"))


@pytest.mark.slow
def test_a_bad_topic_costs_only_itself(command: Command, services: Services) -> None:
    rows = [
        '{"id": "good", "topic": "Who won cup number 1?"}',
        "not JSON",
        '{"id": "empty", "topic": " "}',
        '"Who won cup number 3?"',
        '{"id": "down", "topic": "Who won cup number 4?"}',
    ]
    command.topics.write_text("\n".join(rows))
    services.pages.pop("final-4")
    hits = services.hits
    assert callable(hits)
    services.hits = lambda query: Raw(500, "down") if "4" in query else hits(query)
    status, summary, _ = command.run()
    assert (status, summary["answered"], summary["failed"], summary["left"]) == (1, 2, 3, 0)
    errors = {row["id"]: row["error"] for row in rows_of(command.out)}
    assert errors["good"] is errors[4] is None
    assert errors[2]["message"].startswith("Line 2 is not")
    assert "No search provider answered" in errors["down"]["message"]

    services.hits, services.pages["final-4"] = hits, "Team 4 won cup number 4."
    command.topics.write_text("\n".join([rows[0].replace("number 1", "number 2"), *rows[1:]]))
    then = count_requests(services)
    status, summary, err = command.run("--retry-failed")
    assert status == 2 and summary["error"]["kind"] == "usage" and "another question" in err
    rows[1] = '"Who won cup number 2?"'
    command.topics.write_text("\n".join(rows))
    status, summary, _ = command.run("--retry-failed")
    assert (summary["answered"], summary["failed"]) == (4, 1)
    assert not [call for call in requests_since(services, then) if "number 1" in call[1]]


@pytest.mark.slow
def test_a_cap_of_the_batch_leaves_the_rest_and_a_higher_one_goes_on(
    command: Command, services: Services
) -> None:
    status, summary, err = command.run("--max-calls", "30", "--concurrency", "2")
    assert (status, summary["stopped"]) == (1, "--max-calls is used up")
    assert "topics are left" in err
    made = sum(count_requests(services))
    assert 0 < summary["left"] < COUNT and 30 <= made <= 30 + 2 * 8
    assert command.run("--max-calls", "1000")[1]["left"] == 0
    then = count_requests(services)
    assert command.run()[0] == 0 and count_requests(services) == then


@pytest.mark.slow
@pytest.mark.parametrize("key", ["GEMINI_API_KEY", "SERPAPI_API_KEY"])
def test_a_refused_key_ends_it_early_and_a_mended_one_goes_on(
    command: Command, services: Services, tmp_path: Path, key: str
) -> None:
    refused = Command(tmp_path, services, **{key: "sk-refused-1234"})
    status, summary, err = refused.run("--concurrency", "2")
    assert (status, summary["left"], summary["failed"]) == (1, COUNT, 0)
    assert f"topics are left: {summary['stopped']}" in err + "." and key in summary["stopped"]
    assert "sk-refused-1234" not in err and len(services.model_requests) < COUNT
    status, summary, _ = command.run()
    assert (status, summary["answered"]) == (0, COUNT)


@pytest.mark.slow
def test_a_topic_that_alone_is_refused_costs_only_itself(
    command: Command, services: Services
) -> None:
    hits, no_credit = services.hits, Raw(429, '{"error": "Your account has run out of searches."}')
    assert callable(hits)
    services.hits = lambda query: no_credit if cup_number(query) == 1 else hits(query)
    status, summary, _ = command.run("--concurrency", "2")
    assert (status, summary["answered"], summary["failed"], summary["left"]) == (1, COUNT - 1, 1, 0)


def test_one_file_has_one_writer(tmp_path: Path) -> None:
    rows = OutputFile(tmp_path / "out")
    with pytest.raises(JournalError, match="another batch"):
        OutputFile(tmp_path / "out")
    rows.rewrite([])  # the rewritten file is locked as well
    with pytest.raises(JournalError, match="another batch"):
        OutputFile(tmp_path / "out")
    rows.close()
    again = OutputFile(tmp_path / "out")
    assert again.batch_name == rows.batch_name, "killed before the first row, its runs go on"
    again.close()


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("my notes\n")
    with pytest.raises(UsageError, match="something other than rows"):
        OutputFile(tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "my notes\n"
    for path in (Path("/dev/full"), tmp_path):
        with pytest.raises(UsageError, match="is not a file"):
            OutputFile(path)


def test_forms_of_topics(tmp_path: Path) -> None:
    def of(name: str, text: str) -> list[Topic]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read_topics(tmp_path / name)

    assert of("a.txt", "\ufeffone?\r\n\r\n two? \n") == [(1, "one?", ""), (3, "two?", "")]
    both = [("x", "one?", ""), (2, "two?", "")]
    assert of("a.jsonl", '{"id":"x","topic":"one?"}\n"two?"') == both
    text = 'id,topic,more\nx,"one,\ntwo?",1\n,three?,\n'
    assert of("a.csv", text) == [("x", "one,\ntwo?", ""), (4, "three?", "")]
    with pytest.raises(UsageError, match="twice"):
        of("a.jsonl", '{"id":1,"topic":"a"}\n"b"\n{"id":"2","topic":"c"}')


@given(st.sampled_from([".txt", ".jsonl", ".csv"]), st.binary(max_size=200))
def test_any_file_is_topics_or_refused(tmp_path_factory: Any, suffix: str, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(data)
    try:
        topics = read_topics(path)
    except UsageError as error:
        assert error.remedy
    else:
        assert len({str(each.id) for each in topics}) == len(topics) > 0


def test_a_bug_in_a_run_costs_its_topic(services: Services, tmp_path: Path) -> None:
    """The first run's journal is a directory, which no code of ours expects."""
    serve_cups(services, 2)
    settings = parse_settings(services.environment(tmp_path, CACHE_TTL="0"))
    rows = OutputFile(tmp_path / "out")
    topics = [Topic(n, cup_topic(n)) for n in (1, 2)]
    (tmp_path / "runs" / f"{run_name(rows.batch_name, topics[0])}.jsonl").mkdir(parents=True)
    lines: list[str] = []
    engine = LocalEngine(settings, share_resources(settings))
    batch = Batch(topics, rows, engine, RunRequest(), Caps(), concurrency=2)
    summary = batch.run(lambda: lines.append(batch.describe_progress()))
    rows.close()
    assert summary.statuses == {"complete": 1, "error": 1}
    assert lines[-1].startswith("2/2 done, 1 failed, 0 under way, $0.0")
    assert engine.usage_in_flight() == []
