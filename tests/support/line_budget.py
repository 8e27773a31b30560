"""Lines of code: those without docstrings, comments and blanks.

`python -m tests.support.line_budget` prints a line for each package of `agent/` and for each other
folder; with `--lower` it also writes the lines of `agent/` as the new budget, if they are fewer.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUDGET = ROOT / "tests" / "repository" / "line_budget.toml"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
FOLDERS = ("evals", "tests")


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


@cache
def count_packages(folder: str = "agent") -> Counter[str]:
    """The lines of code of each package of a folder, by its name."""
    packages: Counter[str] = Counter()
    for file in (ROOT / folder).rglob("*.py"):
        package = file.relative_to(ROOT / folder).parts[0].removesuffix(".py")
        packages[package] += count_code(file.read_text("utf-8"))
    return packages


def main() -> None:
    """Print the tables; lower the budget if that is asked for."""
    for package, lines in sorted(count_packages().items()):
        print(f"{package:14} {lines:6}")
    for folder in ("agent", *FOLDERS):
        print(f"{folder + '/':14} {count_packages(folder).total():6} lines of code")
    if "--lower" in sys.argv[1:]:
        text, lines = BUDGET.read_text("utf-8"), count_packages().total()
        lower = re.sub(r"(?<=^agent = )\d+", lambda m: str(min(int(m[0]), lines)), text, flags=re.M)
        BUDGET.write_text(lower, "utf-8")


if __name__ == "__main__":
    main()
