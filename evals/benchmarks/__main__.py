"""Runs all benchmarks and writes their results into RESULTS.md: `make bench`.

With names, as in `python -m evals.benchmarks start index`, runs only those and prints results.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from evals.benchmarks.tables import Row, render_tables

RESULTS = Path(__file__).with_name("RESULTS.md")

#: In the order of the page: the name of each benchmark, what it measures, and its goal.
BENCHMARKS = {
    "start": (
        "`--help` against a bare `import click`: at most 1.3 times as long. The offline demo "
        "answer as a whole process: within a second, under 150 MB."
    ),
    "overhead": (
        "A run against loopback services (models 1 s, searches and pages 0.5 s): "
        "at most 1.05 times the unavoidable time of the model calls that an answer needs."
    ),
    "batch": (
        "500 topics, a limit of 300 model requests in 15 s, 5% faults, killed twice: no finished "
        "call again, never above the limit, 95% of it used, memory flat."
    ),
    "server": "100 clients at once at one server: it answers its probe, memory does not grow.",
    "index": (
        "The index of a corpus, of 20,000 notes and of 2,000 office files that all workers read: "
        "building it, opening it again, a query."
    ),
}


def main(names: list[str]) -> None:
    results = {name: _run_benchmark(name) for name in (names or BENCHMARKS)}
    sections = [_section(name, row) for name, row in results.items()]
    if names:
        print("\n".join(sections))
        return
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


def _run_benchmark(name: str) -> Row:
    """Run a benchmark; return the object that it prints, or an empty one if it fails."""
    print(f"Measuring {name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", *f"evals.benchmarks.{name}".split()]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return {} if done.returncode else dict(json.loads(done.stdout))


def _section(name: str, results: Row) -> str:
    text = render_tables(results) if results else "Not measured: it failed.\n"
    return f"## {name}\n{BENCHMARKS[name]}\n\n{text}"


if __name__ == "__main__":
    main(sys.argv[1:])
