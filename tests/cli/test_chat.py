"""The command `chat`: each line is a question that follows the one before."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.follower import FOLLOW_UP, OPEN, PARENT, set_up
from tests.support.processes import start_command
from tests.support.services import Services

ROOT = Path(__file__).parents[2]


@pytest.fixture
def world(services: Services) -> Services:
    return set_up(services)


def start_chat(world: Services, folder: Path, *arguments: str, **options: Any) -> Any:
    environment = {**os.environ, **world.environment(folder, CACHE_TTL="0"), "TERM": "dumb"}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | options
    command = ("-m", "agent.cli", "chat", *arguments)
    return start_command(*command, cwd=ROOT, env=environment, text=True, **pipes)


def run_chat(
    world: Services, folder: Path, lines: list[str], *arguments: str
) -> tuple[int, str, str]:
    with start_chat(world, folder, *arguments) as process:
        out, err = process.communicate("\n".join(lines), timeout=60)
    assert "Traceback" not in err, err
    return process.returncode, out, err


@pytest.mark.slow
def test_lines_are_questions_that_follow_one_another(world: Services, tmp_path: Path) -> None:
    status, out, err = run_chat(
        world, tmp_path, [PARENT, "", FOLLOW_UP, ":sources", ":what", "quit"]
    )
    assert status == 0
    assert "The founder is Ada Lindqvist [1].\n\n[1] firm <" in out
    assert "The founded is 1931 [1]." in out and "#:~:text=" in out
    assert "0 searches, 0 pages" in err and ":new starts a new topic" in err


@pytest.mark.slow
def test_answers_as_json_lines_and_neither_new_nor_a_failure_is_followed(
    world: Services, tmp_path: Path
) -> None:
    lines = [PARENT, "x" * 3000, FOLLOW_UP, ":new", PARENT, FOLLOW_UP]
    status, out, _ = run_chat(world, tmp_path, lines, "--json")
    answers = [json.loads(line) for line in out.splitlines()]
    assert status == 1 and "too long" in answers.pop(1)["error"]["message"]
    runs = [answer["run"]["id"] for answer in answers]
    parents = [answer["run"].get("follows", {}).get("run") for answer in answers]
    assert parents == [None, runs[0], None, runs[2]]
    status, out, _ = run_chat(world, tmp_path, [OPEN], "--json", "--follow", runs[1])
    assert json.loads(out)["run"]["follows"]["run"] == runs[1]


def test_what_a_chat_cannot_begin_with(world: Services, tmp_path: Path) -> None:
    assert run_chat(world, tmp_path, [PARENT], "--follow", "nobody")[0] == 2
    assert run_chat(world, tmp_path, [PARENT], "--llm", "openai")[0] == 1
    assert not world.model_requests
