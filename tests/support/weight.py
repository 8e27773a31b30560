"""What the code weighs: lines without docstrings, comments and blanks, and regular expressions.

`python -m tests.support.weight` prints a line for each room of `agent/`, its lines and its budget,
and one for each other folder.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
FOLDERS = ("evals", "benchmarks", "fuzz", "tests")


def count_code(source: str) -> int:
    """The lines of a file that hold code; a docstring is none."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {
        line
        for token in tokens
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - _docstring_lines(source))


def _docstring_lines(source: str) -> set[int]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    firsts = [
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, kinds) and node.body
    ]
    return {
        line
        for first in firsts
        if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str)
        for line in range(first.lineno, (first.end_lineno or first.lineno) + 1)
    }


def count_regexes(source: str) -> int:
    """The calls of `re` and `re2` that take a pattern."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return sum(
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in {"re", "re2"}
        and function.attr != "escape"
        for function in calls
    )


@cache
def weigh_rooms() -> Counter[str]:
    """The lines of code of each room of `agent/`, by its name."""
    agent = ROOT / "agent"
    rooms: Counter[str] = Counter()
    for file in agent.rglob("*.py"):
        room = file.relative_to(agent).parts[0].removesuffix(".py")
        rooms[room] += count_code(file.read_text("utf-8"))
    return rooms


def main() -> None:
    """Print the tables."""
    rooms = weigh_rooms()
    for room, lines in sorted(rooms.items()):
        print(f"{room:14} {lines:6}")
    files = list((ROOT / "agent").rglob("*.py"))
    regexes = sum(count_regexes(file.read_text("utf-8")) for file in files)
    print(f"{'agent/':14} {rooms.total():6} lines of code, {regexes} regular expressions")
    for folder in FOLDERS:
        lines = sum(
            len(file.read_text("utf-8").splitlines()) for file in (ROOT / folder).rglob("*.py")
        )
        print(f"{folder + '/':14} {lines:6} lines in all")


if __name__ == "__main__":
    main()
