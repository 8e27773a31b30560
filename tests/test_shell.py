"""What the commands have in common: lists with commas, and how a process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from agent.shell import listed

ROOT = Path(__file__).parents[1]


@click.command()
@click.option("--names", callback=listed)
def command(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return names


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], None), (["--names", ""], ()), (["--names", " a, ,b,a ,"], ("a", "b"))],
)
def test_a_list_has_each_part_once_and_no_blanks(given: list[str], expected: object) -> None:
    assert command.main(given, standalone_mode=False) == expected


@pytest.mark.parametrize(
    "wrong", [["agent.audit"], ["agent.batch"], ["agent.evaluate", "none.json"]]
)
def test_a_reader_that_has_gone_ends_a_command_without_a_word(
    wrong: list[str], tmp_path: Path
) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", *wrong],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    assert done.returncode == 1 and "Traceback" not in done.stderr
