"""What the commands share: lists with commas, extras that they need, how they end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from agent.cli.commands import ASK, SUMMARIES
from agent.cli.group import load_command

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SUMMARIES)
def test_help_shows_examples_and_fits_a_terminal(name: str) -> None:
    loaded = load_command(name)
    lines = loaded.get_help(click.Context(loaded, terminal_width=80)).splitlines()
    assert "Examples:" in " ".join(lines) and any("research-agent" in line for line in lines)
    assert [line for line in lines if len(line) > 80] == []


def test_the_help_of_a_question_is_short_and_the_rest_is_one_option_away() -> None:
    ask = load_command(ASK)
    short = ask.get_help(click.Context(ask, terminal_width=80)).splitlines()
    assert len(short) <= 45 and "--help-all" in "".join(short)
    done = CliRunner().invoke(ask, ["--help-all"])
    assert {"--max-rounds", "--trust-env"} < set(done.output.split())


def run(
    folder: Path, *arguments: str, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    pipes: Any = {"stdout": stdout, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, **pipes)


@pytest.mark.slow
def test_a_reader_that_has_gone_ends_a_command_quietly(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = run(tmp_path, "-m", "agent.cli", "audit", stdout=write)
    os.close(write)
    assert done.returncode == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize(("name", "module"), [("serve", "fastapi"), ("mcp", "mcp")])
def test_a_missing_extra_is_reported_with_remedy(name: str, module: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from agent.cli import main; main()"
    done = run(tmp_path, "-c", code, name)
    extra = {"serve": "server"}.get(name, name)
    assert done.returncode == 1 and not done.stdout
    install = f"Install it: pip install 'llm-research-agent[{extra}]'."
    assert done.stderr.splitlines() == [f"Error: {module} is not installed.", install]


WITHOUT_HOME = {
    "question": ["When was LEGO founded?", "--offline"],
    "table": ["table", "LEGO", "--columns", "founded:integer", "--offline"],
    "watch": ["watch", "When was LEGO founded?", "--slots", "founded", "--once", "--offline"],
    "runs": ["runs"],
    "doctor": ["doctor"],
}


@pytest.mark.parametrize("name", WITHOUT_HOME)
def test_a_home_that_cannot_be_written_is_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder can be made in it")
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": f"{tmp_path}/file/x"}
    command = [sys.executable, "-m", "agent.cli", *WITHOUT_HOME[name]]
    pipes = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, cwd=tmp_path, env=environment, timeout=60, **pipes)
    assert done.returncode in (0, 1, 2, 3) and "Traceback" not in done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if "file/x" in line]
    assert len(lines) <= 1, lines
    if name in ("table", "watch"):
        assert len(lines) == 1 and lines[0].startswith("Error: ")
