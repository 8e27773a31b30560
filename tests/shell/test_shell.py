"""What the commands share: lists with commas, extras that they need, how they end."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from agent.shell import split_commas

ROOT = Path(__file__).parents[2]
PACKAGES = "audit batch config doctor evaluate mcp_server server trace".split()
DOORS = ["cli", *(f"{door}.__main__" for door in PACKAGES)]


@pytest.mark.parametrize("door", DOORS)
def test_help_shows_examples_and_fits_a_terminal(door: str) -> None:
    told = importlib.import_module(f"agent.{door}").command
    lines = told.get_help(click.Context(told, terminal_width=80)).splitlines()
    name = "research-agent" if door == "cli" else f"python -m agent.{door.split('.')[0]}"
    assert "Examples:" in " ".join(lines) and any(name in line for line in lines)
    assert [line for line in lines if len(line) > 80] == []


@click.command()
@click.option("--names", callback=split_commas)
def command(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return names


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], None), (["--names", ""], ()), (["--names", " a, ,b,a ,"], ("a", "b"))],
)
def test_a_list_has_each_part_once_and_no_blanks(given: list[str], expected: object) -> None:
    assert command.main(given, standalone_mode=False) == expected


def run(
    folder: Path, *arguments: str, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    pipes: Any = {"stdout": stdout, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, **pipes)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [["agent.audit"], ["agent.batch"], ["agent.evaluate", "no.json"]])
def test_a_reader_that_has_gone_ends_a_command_quietly(wrong: list[str], tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = run(tmp_path, "-m", *wrong, stdout=write)
    os.close(write)
    assert done.returncode == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize(("door", "module"), [("server", "fastapi"), ("mcp_server", "mcp")])
def test_a_missing_extra_is_told_with_remedy(door: str, module: str, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None; sys.argv = ['x']; "
        f"from agent import shell; from agent.{door}.__main__ import command; "
        "shell.run_and_exit(command)"
    )
    done = run(tmp_path, "-c", code)
    extra = door.removesuffix("_server")
    assert done.returncode == 1 and not done.stdout
    install = f"Install it: pip install 'llm-research-agent[{extra}]'."
    assert done.stderr.splitlines() == [f"Error: {module} is not installed.", install]
