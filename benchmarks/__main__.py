"""Runs the benchmarks and writes what they print into RESULTS.md: `make bench`.

With names, `python -m benchmarks start offline`, it only shows those.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("RESULTS.md")

#: In the order of the page: what is measured, and what it should be.
BENCHMARKS = {
    "start": "`--help` against a bare `import click`: at most 1.5 times as long, with no SDK.",
    "offline": "The offline demo answer as a whole process: within a second, under 150 MB.",
    "overhead": (
        "A run against loopback services (models 1 s, searches and pages 0.5 s): "
        "at most 1.15 times the unavoidable 4 s."
    ),
    "index": "The index of a corpus: building it, and a query.",
    "pages": "Reading pages: downloading and extracting.",
}


def main(names: list[str]) -> None:
    here = [name for name in BENCHMARKS if importlib.util.find_spec(f"benchmarks.{name}")]
    sections = [_section(name) for name in (names or here)]
    if names:
        print("\n".join(sections))
    else:
        RESULTS.write_text("\n".join([_head(), *sections]), encoding="utf-8")
        print(f"Written: {RESULTS}")


def _head() -> str:
    day = datetime.now(UTC).date()
    return (
        f"# Benchmarks\n\n`make bench`, {day}, commit {_commit()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}. "
        "Medians; the machine may have had other work to do, so rather trust ratios.\n"
    )


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True)
        return done.stdout.strip() if not done.returncode else "unknown"

    changed = git("status", "--porcelain", "agent")
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def _section(name: str) -> str:
    print(f"Measuring {name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return f"## {name}\n{BENCHMARKS[name]}\n\n{_table(json.loads(done.stdout))}"


def _table(row: dict[str, Any]) -> str:
    """A table of the single figures, then one of each list of rows."""
    lists = {key: value for key, value in row.items() if _is_rows(value)}
    single = [(key, value) for key, value in row.items() if key not in lists]
    tables = [_lines(["what", "figure"], [[_words(key), value] for key, value in single])]
    for key, rows in lists.items():
        heads = list(rows[0])
        tables.append(f"{_words(key)}:\n\n{_lines(heads, [list(one.values()) for one in rows])}")
    return "\n".join(tables)


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _lines(heads: list[str], rows: list[list[Any]]) -> str:
    lines = [map(_words, heads), ["---"] * len(heads), *(map(_cell, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) if rows else ""


def _words(key: str) -> str:
    return key.replace("_", " ")


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_words(key)} {_cell(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_cell, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else _words(str(value))


if __name__ == "__main__":
    main(sys.argv[1:])
