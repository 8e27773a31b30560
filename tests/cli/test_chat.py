"""The command `chat`: each line is a question that follows the one before."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.follower import FOLLOW_UP, OPEN, PARENT, set_up
from tests.support.processes import start_command
from tests.support.services import Services
from tests.support.web import wait_until

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


@pytest.mark.slow
def test_an_interrupt_stops_the_answer_and_not_the_chat(world: Services, tmp_path: Path) -> None:
    think, reached, go_on = world.think, threading.Event(), threading.Event()

    def hold(asked: Any) -> Any:
        if asked.task == "reflect" and not go_on.is_set():
            reached.set()
            go_on.wait(30)
        return think(asked)

    world.think = hold
    master, terminal = pty.openpty()
    process = start_chat(world, tmp_path, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    seen = Screen(master)
    with process:
        seen.wait_for("> ")
        os.write(master, f"{PARENT}\n".encode())
        assert reached.wait(30)
        process.send_signal(signal.SIGINT)
        seen.wait_for("Stopping with the best answer so far")
        go_on.set()
        seen.wait_for("(partial;")
        process.send_signal(signal.SIGINT)  # after the answer it ends nothing, nor at the prompt
        os.write(master, b"\n")  # a line editor sees a signal that came before it waits by a key
        seen.wait_for("exit or Ctrl-D")
        os.write(master, f"{FOLLOW_UP}\n".encode())
        seen.wait_for("1931")
        seen.wait_for("(complete; 0 searches")
        os.write(master, b"exit\n")
        assert process.wait(30) == 0
    os.close(master)


class Screen:
    """What a terminal shows, read as it comes."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._text = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):  # the other side is closed
            while data := os.read(self._master, 4096):
                self._text += data.decode("utf-8", "replace")

    def wait_for(self, text: str) -> None:
        """Wait until a text is shown, and look no more at what is before its end."""
        wait_until(lambda: text in self._text, 30)
        self._text = self._text.partition(text)[2]
