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
HEAD = """# Specification coverage

Each statement of the documents that specified this program, with the test that checks it.
`make test` or `make test-slow` runs that test. "Differs" marks an intended difference.
`python -m tests.support.statements` writes this page.
"""


@cache
def list_tests() -> frozenset[str]:
    """The names of all tests."""
    files = (ROOT / "tests").rglob("test_*.py")
    found = (re.findall(r"^def (test_\w+)\(", file.read_text("utf-8"), re.M) for file in files)
    return frozenset(name for names in found for name in names)


def write_lines() -> Iterator[str]:
    """The lines below the head. Raises ValueError for a test that does not exist."""
    for document in tomllib.loads(TABLE.read_text("utf-8")).values():
        yield f"\n## {document['title']}\n\n"
        for statement, test, *differs in document["rows"]:
            if test and test not in list_tests():
                raise ValueError(f"No test is called {test}.")
            difference = f" Differs: {differs[0]}." if differs else ""
            yield f"- {statement}.{difference} {f'`{test}`' if test else 'Not tested.'}\n"


def write_page() -> str:
    """The whole page."""
    return HEAD + "".join(write_lines())


if __name__ == "__main__":
    PAGE.write_text(write_page(), "utf-8")
