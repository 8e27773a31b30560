"""The documents are true: the tree, the environment names, the names of files and tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from agent import settings
from tests.support import statements
from tests.support.site import find_pages

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
CONTRIBUTING = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")


def tree() -> list[str]:
    """The paths of the annotated tree of CONTRIBUTING."""
    block = CONTRIBUTING.split("```\nagent/\n")[1].split("```")[0]
    inside = True
    paths = []
    for line in block.splitlines():
        inside = inside and line.startswith("  ")
        paths.append(("agent/" if inside else "") + line.split()[0])
    return paths


def test_the_tree_is_the_repository() -> None:
    named = {path.rstrip("/") for path in tree()}
    assert all((ROOT / path).exists() for path in named)
    here = {f"agent/{p.name}" for p in (ROOT / "agent").iterdir() if not p.name.startswith("_")}
    here = {path for path in here if not path.endswith((".typed", ".egg-info"))}
    assert here <= named, here - named


def test_env_example_names_every_variable_and_no_other() -> None:
    text = (ROOT / ".env.example").read_text("utf-8")
    names = set(re.findall(r"^#? ?([A-Z][A-Z_0-9]+)=", text, re.M))
    assert names == settings.ENVIRONMENT.keys(), names ^ settings.ENVIRONMENT.keys()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all(line.endswith("=") for line in lines), "copied as it is, it changes no default"


def test_documents_name_no_dead_file() -> None:
    for page in find_pages():
        text, name = page.read_text("utf-8"), page.name
        for path in re.findall(r"`((?:agent|tests|evals)/[\w/.]+\.\w+)`", text):
            assert (ROOT / path).exists(), f"{name} names {path}"
    design = (ROOT / "DESIGN.md").read_text("utf-8")
    paths = {path for path in re.findall(r"`([a-z_]+/[\w/.]*)`", design) if path != "agent/"}
    dead = {p for p in paths if not (ROOT / p).exists() and not (ROOT / "agent" / p).exists()}
    assert len(paths) > 20 and not dead, dead


def test_every_test_that_the_documents_name_exists() -> None:
    text = "".join((ROOT / f"docs/{n}.md").read_text("utf-8") for n in ("decisions", "failures"))
    named = set(re.findall(r"`(test_\w+)`", text))
    tests = "".join(file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    here = set(re.findall(r"def (test_\w+)\(", tests))
    assert len(named) > 40 and named <= here, named - here


def test_each_statement_names_a_test_and_the_page_is_written_of_it() -> None:
    text = statements.PAGE.read_text("utf-8")
    assert text == statements.write_page(), "run python -m tests.support.statements"
    assert len(text.splitlines()) <= 150


def test_the_example_in_python_runs_as_written(tmp_path: Path) -> None:
    code = README.split("```python\n")[1].split("```")[0]
    assert len(code.strip().splitlines()) <= 10
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    events, answer = done.stdout.splitlines()[:-2], done.stdout.splitlines()[-2:]
    assert events[0] == "started" and "answered" in events
    assert answer[0].startswith("complete Argentina won") and "corpus:" in answer[1]
