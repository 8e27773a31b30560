"""The budget of lines: a room that grows beyond it pays by leaving something out."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tests.support.weight import ROOT, count_code, count_regexes, weigh_rooms

BUDGET = tomllib.loads(Path(__file__).with_name("weight.toml").read_text("utf-8"))
FILES = sorted((ROOT / "agent").rglob("*.py"))


def test_every_room_keeps_its_budget_of_lines() -> None:
    rooms = weigh_rooms()
    assert set(rooms) - {"__init__", "demo"} == set(BUDGET["rooms"])
    heavy = {room: rooms[room] - most for room, most in BUDGET["rooms"].items()}
    assert not {room: lines for room, lines in heavy.items() if lines > 0}


def test_the_whole_keeps_its_budget() -> None:
    assert weigh_rooms().total() <= BUDGET["agent"]["lines"]
    regexes = sum(count_regexes(file.read_text("utf-8")) for file in FILES)
    assert regexes <= BUDGET["agent"]["regular_expressions"]


def test_other_folders_keep_their_budgets() -> None:
    for folders, most in BUDGET["folders"].items():
        files = [file for name in folders.split("+") for file in (ROOT / name).rglob("*.py")]
        lines = sum(len(file.read_text("utf-8").splitlines()) for file in files)
        assert lines <= most, f"{folders}: {lines} lines"


def test_no_function_is_longer_than_the_longest_allowed() -> None:
    lengths = [
        (node.end_lineno - node.lineno + 1, f"{file.relative_to(ROOT)}:{node.lineno}")
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno
    ]
    assert lengths and not [at for lines, at in lengths if lines > BUDGET["agent"]["function"]]


def test_only_code_counts() -> None:
    source = '"""Says."""\n\n# why\nX = """a\n\nb"""  # c\n\n\ndef f():\n    "doc"\n    return X\n'
    assert count_code(source) == 5
    assert count_regexes("re.compile('a')\nre2.match('b', c)\nre.escape(c)\nx.compile()\n") == 2
