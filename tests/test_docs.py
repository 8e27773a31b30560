"""The documents tell the truth: the tree, the flags, the environment names and the commands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent import settings
from agent.cli import command

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def tree() -> list[str]:
    """The paths of the README's annotated tree."""
    block = README.split("```\nagent/\n")[1].split("```")[0]
    inside = True
    paths = []
    for line in block.splitlines():
        inside = inside and line.startswith("  ")
        paths.append(("agent/" if inside else "") + line.split()[0])
    return paths


def test_the_tree_is_the_repository() -> None:
    told = {path.rstrip("/") for path in tree()}
    assert all((ROOT / path).exists() for path in told)
    here = {f"agent/{p.name}" for p in (ROOT / "agent").iterdir() if not p.name.startswith("_")}
    here = {path for path in here if not path.endswith((".typed", ".egg-info"))}
    assert here <= told, here - told


def test_every_flag_that_is_told_exists() -> None:
    known = {name for param in command.params for name in param.opts}
    told = set(re.findall(r"(?:agent\.cli|research-agent)\b[^`\n|#]*", README))
    flags = {flag for line in told for flag in re.findall(r"(?<!\S)--[a-z-]+", line)}
    assert flags and flags <= known | {"--help"}, flags - known


def test_env_example_names_every_variable_and_no_other() -> None:
    text = (ROOT / ".env.example").read_text("utf-8")
    names = set(re.findall(r"^#? ?([A-Z][A-Z_0-9]+)=", text, re.M))
    full = {settings.full_name(name) for name in settings.ENVIRONMENT}
    assert names == full, names ^ full


def test_documents_name_no_dead_file() -> None:
    for name in ("README.md", "DESIGN.md", "CHANGELOG.md", "docs/decisions.md", "docs/failures.md"):
        text = (ROOT / name).read_text("utf-8")
        for path in re.findall(r"`((?:agent|tests|evals|benchmarks)/[\w/.]+\.\w+)`", text):
            assert (ROOT / path).exists(), f"{name} names {path}"


RECIPES = [
    line for line in README.splitlines() if line.startswith("research-agent ") and "jq" in line
]


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_run_as_written(recipe: str, tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    (tmp_path / "research-agent").write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m agent.cli "$@"\n'
    )
    (tmp_path / "research-agent").chmod(0o755)
    question = '--offline "Who won the 2022 FIFA World Cup?"'
    script = f'PATH="{tmp_path}:$PATH"; ' + recipe.replace('"..."', question)
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "jq:" not in done.stderr, done.stderr
    assert done.stdout or "jq -e" in recipe


def test_every_test_that_the_documents_name_exists() -> None:
    text = "".join(
        (ROOT / f"docs/{name}.md").read_text("utf-8") for name in ("decisions", "failures")
    )
    told = set(re.findall(r"`(test_\w+)`", text))
    tests = "".join(file.read_text("utf-8") for file in (ROOT / "tests").glob("test_*.py"))
    here = set(re.findall(r"def (test_\w+)\(", tests))
    assert len(told) > 40 and told <= here, told - here


def test_the_answer_in_the_readme_has_the_fields_of_the_schema() -> None:
    from agent.answer import answer_schema

    block = README.split("```jsonc\n")[1].split("```")[0]
    fields = set(re.findall(r'^  "(\w+)"|, "(\w+)":', re.sub(r"//.*", "", block), re.M))
    told = {name for pair in fields for name in pair if name}
    schema = json.dumps(answer_schema())
    assert told and all(f'"{name}"' in schema for name in told if name != "winner")


def test_the_example_in_python_runs_as_written(tmp_path: Path) -> None:
    code = README.split("```python\n")[1].split("```")[0]
    assert len(code.strip().splitlines()) <= 10
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    events, answer = done.stdout.splitlines()[:-2], done.stdout.splitlines()[-2:]
    assert events[0] == "started" and "answered" in events
    assert answer[0].startswith("complete Argentina won") and "corpus:" in answer[1]
