"""What other packages add: the example package, installed as its metadata says."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.test_people import in_pipe

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "plugin"
NOTE = "The mayor of Talmar is Ondra Velk."
TOPIC = "Who is the mayor of Talmar?"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text(
        f"https://notes.example/1 | Talmar | {NOTE}\nhttps://notes.example/2 | Sea | It is wet.\n"
    )
    return tmp_path


def install(home: Path, extra: str = "") -> dict[str, str]:
    """The environment in which the package is installed: its metadata, as pip writes it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    folder = home / "site" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    folder.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(metadata)
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in names.items())
        for group, names in project["entry-points"].items()
    )
    (folder / "entry_points.txt").write_text("\n".join(groups) + extra)
    paths = f"{home / 'site'}:{EXAMPLE}:{ROOT}"
    return {"PYTHONPATH": paths, "NOTES": str(home / "notes.txt"), "CACHE_TTL": "0"}


@pytest.mark.slow
def test_a_question_is_answered_with_parts_of_another_package_alone(home: Path) -> None:
    options = ("--strategy", "once", "--search", "notes", "--llm", "parrot:green")
    environment = install(home)
    done = in_pipe(TOPIC, *options, "--resume", "monday", home=home, **environment)
    answer = json.loads(done.out)
    assert done.status == 0 and answer["answer"] == f"{NOTE[:-1]} [1]."
    assert answer["run"]["strategy"] == "once" and answer["run"]["models"] == ["green"]
    assert answer["run"]["providers"] == ["notes"]
    [citation] = answer["citations"]
    assert citation["url"] == "https://notes.example/1" and citation["via"] == "page"
    (home / "a.json").write_text(done.out)
    (home / "notes.txt").unlink()
    again = json.loads(in_pipe("--replay", "monday", home=home, **environment).out)
    assert again["answer"] == answer["answer"]
    assert json.loads(in_pipe("audit", "a.json", home=home, **environment).out)["ok"] is True


def test_a_name_of_our_own_cannot_be_taken(home: Path) -> None:
    site = install(home)
    file = next((home / "site").glob("*/entry_points.txt"))
    text = file.read_text().replace("parrot =", "extractive =").replace("once =", "slots =")
    file.write_text(text)
    done = in_pipe("Who founded LEGO?", "--offline", home=home, **site)
    run = json.loads(done.out)["run"]
    assert run["models"] == ["extractive"] and run["strategy"] == "slots"
