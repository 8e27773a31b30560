"""On a system such as Windows: without fcntl, resource and positional reads.

They are removed for our own code and for the library of locks; the rest of Python keeps them.
"""

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


START = f"""{ABSENT}
import runpy; sys.argv = ['x', *sys.argv[1:]]
runpy.run_module('agent.cli', run_name='__main__', alter_sys=True)
"""


def run_code(code: str, *arguments: str, home: Path, **more: str) -> str:
    options: dict[str, Any] = {"cwd": home, "env": environment_for(home, more), "text": True}
    line = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(line, **options, capture_output=True, timeout=100)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return str(done.stdout)


def finish(*arguments: str, home: Path, **more: str) -> str:
    return run_code(START, *arguments, home=home, **more)


@pytest.mark.slow
def test_every_command_starts(tmp_path: Path) -> None:
    code = f"{ABSENT}\nfrom contextlib import suppress\nfrom agent.cli.group import run_cli\n"
    code += f"for name in {list(SUMMARIES)}:\n"
    code += "    with suppress(SystemExit):\n        run_cli([name, '--help'], for_people=True)\n"
    out = run_code(code, home=tmp_path)
    assert out.count("Usage: ") == len(SUMMARIES)


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
def test_one_process_writes_a_journal(services: Services, tmp_path: Path) -> None:
    """A second one is refused; after the first was killed, the run can be resumed."""
    services.think = lambda _: HANGS
    environment = services.environment(tmp_path)
    options: dict[str, Any] = {"cwd": tmp_path, "env": environment_for(tmp_path, environment)}
    start = [sys.executable, "-c", START]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    first = subprocess.Popen([*start, TOPIC, "--resume", "busy"], **options, **quiet)
    try:
        wait_until(lambda: bool(services.model_requests))
        assert list(tmp_path.rglob("busy.jsonl.lock")), "not locked as where fcntl is absent"
        again = [*start, "--resume", "busy"]
        second = subprocess.run(again, **options, capture_output=True, timeout=100)
        assert "another run" in json.loads(second.stdout)["error"]["message"]
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    serve_final(services)
    resumed = finish("--resume", "busy", home=tmp_path, **environment)
    assert json.loads(resumed)["error"] is None
