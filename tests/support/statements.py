"""The statements of the source documents as a page: each with the test that holds it.

`python -m tests.support.statements` writes docs/statements.md; a test fails where it is not that.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_suffix(".toml")
PAGE = ROOT / "docs" / "statements.md"
HEAD = """# Statement by statement

What the documents say that this program was made from, each statement with the test that holds it.
"Yes" means that `make test` or `make test-slow` runs that test; a row says how the program differs
on purpose. This page is written by `python -m tests.support.statements`.

| document | statement | works | test |
|---|---|---|---|
"""


@cache
def list_tests() -> frozenset[str]:
    """The names of all tests."""
    files = (ROOT / "tests").rglob("test_*.py")
    found = (re.findall(r"^def (test_\w+)\(", file.read_text("utf-8"), re.M) for file in files)
    return frozenset(name for names in found for name in names)


def write_rows() -> Iterator[str]:
    """The rows of the table. Raises ValueError for a test that does not exist."""
    for document in tomllib.loads(TABLE.read_text("utf-8")).values():
        for statement, test, *differs in document["rows"]:
            if test and test not in list_tests():
                raise ValueError(f"No test is called {test}.")
            works = f"differs: {differs[0]}" if differs else "yes" if test else "not tested"
            held = f"`{test}`" if test else "no test"
            yield f"| {document['title']} | {statement} | {works} | {held} |\n"


def write_page() -> str:
    """The whole page."""
    return HEAD + "".join(write_rows())


if __name__ == "__main__":
    PAGE.write_text(write_page(), "utf-8")
