"""On a system as Windows is: without fcntl and resource, without positional reads and the like.
What is taken away here is taken from our own code and from the library of locks; the rest of Python
needs its own. The processes that read pages and files are as on this system."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.cli.commands import SUMMARIES
from tests.cli.test_people import environment_for
from tests.support.services import HANGS, Services
from tests.support.thinker import Fact, Thinker
from tests.support.web import wait_until

TOPIC = "Who won the 2022 FIFA World Cup?"
ABSENT = """
import builtins, os, sys, warnings
warnings.filterwarnings("ignore", "only soft file lock")
OF_OS = "pread pwrite posix_fallocate fchmod O_NONBLOCK O_NOCTTY"
for name in OF_OS.split():
    delattr(os, name)
real = builtins.__import__
def bare_import(name, globals=None, *rest, **more):
    importer = (globals or {}).get("__name__") or ""
    if importer.split(".")[0] in ("agent", "filelock", "__main__"):
        if name in ("fcntl", "resource", "termios", "pwd", "grp"):
            raise ImportError(f"no {name} here")
    return real(name, globals, *rest, **more)
builtins.__import__ = bare_import
"""


def command(*arguments: str) -> list[str]:
    code = f"{ABSENT}\nimport runpy; sys.argv = ['x', *sys.argv[1:]]\n"
    code += "runpy.run_module('agent.cli', run_name='__main__', alter_sys=True)"
    return [sys.executable, "-c", code, *arguments]


def finish(*arguments: str, home: Path, **more: str) -> str:
    how: dict[str, Any] = {"cwd": home, "env": environment_for(home, more), "text": True}
    line = command(*arguments)
    done = subprocess.run(line, **how, capture_output=True, timeout=100)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return str(done.stdout)


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_starts(name: str, tmp_path: Path) -> None:
    assert "Usage: " in finish(name, "--help", home=tmp_path)


@pytest.mark.slow
def test_a_question_is_answered_from_files_of_every_kind(tmp_path: Path) -> None:
    corpus = tmp_path / "c"
    corpus.mkdir()
    for n in range(5):
        text = f"<p>The mayor of Talmar {n} is Ondra Velk, who was chosen in 198{n}.</p>" * 400
        (corpus / f"{n}.html").write_text(f"<html><title>{n}</title><body>{text}</body></html>")
    (corpus / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    out = finish(
        *("--offline", "--corpus", "c", "--out", "a.json", "Who is the mayor of Talmar 3?"),
        home=tmp_path,
    )
    answer = json.loads(out)
    assert "Ondra Velk" in answer["answer"] and answer["citations"]
    assert any("broken.pdf" in warning for warning in answer["warnings"])
    assert (tmp_path / "a.json").read_text("utf-8") == out
    assert json.loads(finish("audit", "a.json", home=tmp_path))["ok"] is True


def serve_final(services: Services) -> None:
    services.pages = {"final": "Argentina won the cup. The score was 4-2."}
    services.default_hits = ["final"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["cup winner"])


@pytest.mark.slow
def test_a_run_over_the_wire_with_limits_and_its_journal(
    services: Services, tmp_path: Path
) -> None:
    serve_final(services)
    environment = services.environment(
        tmp_path, RESEARCH_AGENT_RATE_LIMITS="gemini=300,serpapi=300"
    )
    first = finish(TOPIC, "--resume", "monday", home=tmp_path, **environment)
    assert json.loads(first)["status"] == "complete"
    asked = len(services.model_requests)
    again = finish("--resume", "monday", home=tmp_path, **environment)
    assert json.loads(again)["answer"] == json.loads(first)["answer"]
    assert len(services.model_requests) == asked
    shown = finish("runs", "trace", "monday", home=tmp_path, **environment)
    assert TOPIC in shown


@pytest.mark.slow
def test_one_process_writes_a_journal(services: Services, tmp_path: Path) -> None:
    """A second one is told; after the first was killed it goes on."""
    services.think = lambda asked: HANGS
    environment = services.environment(tmp_path)
    how: dict[str, Any] = {"cwd": tmp_path, "env": environment_for(tmp_path, environment)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    held = subprocess.Popen(command(TOPIC, "--resume", "busy"), **how, **quiet)
    try:
        wait_until(lambda: bool(services.model_requests))
        assert list(tmp_path.rglob("busy.jsonl.lock")), "not locked as where fcntl is absent"
        again = command("--resume", "busy")
        second = subprocess.run(again, **how, capture_output=True, timeout=100)
        assert "another run" in json.loads(second.stdout)["error"]["message"]
    finally:
        held.send_signal(signal.SIGKILL)
        held.wait()
    serve_final(services)
    resumed = finish("--resume", "busy", home=tmp_path, **environment)
    assert json.loads(resumed)["error"] is None


@pytest.mark.slow
def test_a_batch_goes_on(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(f"{TOPIC}\nWho founded LEGO?\n")
    for _ in range(2):
        out = finish("batch", "t.txt", "--out", "o.jsonl", "--offline", home=tmp_path)
        assert json.loads(out)["failed"] == 0
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 2
