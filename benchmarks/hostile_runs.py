"""By how much whole runs over hostile text exceed `--max-seconds`, as processes.

`python -m benchmarks.hostile_runs [--seconds N] [--sizes 300000,1000000] [--ways page,corpus]
[shape ...]` prints a line for each shape: for each way and size the seconds from the cap until the
process has ended (negative: before the cap), and the processor seconds that it took. A way is where
the text stands:

- corpus: a document beside an honest one; no model, strategy slots
- asked: the same, with words of the question every sixty characters, so that all of it is ranked
- many: nine such documents, each another text
- page: nine pages that a search on loopback finds
- report, loop: pages, with the other strategies and no model

The status is 1 if a run ends more than two seconds after its cap, or fails.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.hostile_shapes import SHAPES, Make
from benchmarks.processes import ROOT
from tests.support.services import Services

ALLOWED = 2.0  # seconds after the cap
PATIENCE = 20.0  # seconds after the cap, when a run is ended
QUESTION = "When was the bridge opened, and by whom?"
HONEST = "The bridge was opened in 1904 by Anna Quill.\n"
ASKED, EVERY = " bridge opened whom ", 60  # what is put in between, and after how many characters
MANY = 9  # texts

Prepare = Callable[[str, Path, Services], list[str]]


def _corpus(text: str, folder: Path, _: Services) -> list[str]:
    return _write_documents([HONEST + text], folder)


def _asked(text: str, folder: Path, _: Services) -> list[str]:
    return _write_documents([HONEST + _put_between(text)], folder)


def _many(text: str, folder: Path, _: Services) -> list[str]:
    return _write_documents([f"{HONEST}Text {n}.\n{text[n:]}" for n in range(MANY)], folder)


def _write_documents(texts: list[str], folder: Path) -> list[str]:
    for n, text in enumerate([HONEST, *texts]):
        (folder / f"{n}.md").write_text(text, "utf-8", "replace")
    return ["--offline", "--corpus", str(folder)]


def _put_between(text: str) -> str:
    return ASKED.join(text[at : at + EVERY] for at in range(0, len(text), EVERY))


def _page(text: str, _: Path, services: Services) -> list[str]:
    names = [f"bridge{n}" for n in range(MANY)]
    shown = text.encode("utf-8", "replace").decode()
    services.pages = {name: f"{HONEST}{name}\n{shown}" for name in names}
    services.default_hits = names
    return ["--llm", "extractive"]


def _with_strategy(name: str) -> Prepare:
    return lambda *given: [*_page(*given), "--strategy", name]


WAYS: dict[str, Prepare] = {
    "corpus": _corpus,
    "asked": _asked,
    "many": _many,
    "page": _page,
    "report": _with_strategy("report"),
    "loop": _with_strategy("loop"),
}


class RunResult(NamedTuple):
    """A run: seconds after its cap, processor seconds, and its exit status (None: ended by us)."""

    way: str
    size: int
    over: float
    used: float
    status: int | None

    @property
    def is_good(self) -> bool:
        """Whether it ended in time, with an answer or the word that there is none."""
        return self.over <= ALLOWED and self.status in (0, 3)

    def __str__(self) -> str:
        fault = "" if self.status in (0, 3) else f" STATUS {self.status}"
        return f"{self.way}/{self.size // 1000}k {self.over:+.1f} ({self.used:.1f}){fault}"


def run_shape(make: Make, size: int, way: str, cap: float) -> RunResult:
    """Run over a text of a shape, as a process."""
    with tempfile.TemporaryDirectory() as name, Services() as services:
        folder = Path(name, "read")
        folder.mkdir()
        arguments = WAYS[way](make(size), folder, services)
        command = [sys.executable, "-m", "agent.cli", *arguments, "--max-seconds", f"{cap:g}"]
        environment = {**os.environ, **services.environment(Path(name), CACHE_TTL="0")}
        begun = time.monotonic()
        used = _processor_seconds()
        try:
            status = subprocess.run(
                [*command, QUESTION],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=cap + PATIENCE,
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
        over = time.monotonic() - begun - cap
        return RunResult(way, size, over, _processor_seconds() - used, status)


def _processor_seconds() -> float:
    """Of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Print the table; 1 if a run is too late, or fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--sizes", default="300000,1000000,2000000")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("shapes", nargs="*", default=list(SHAPES))
    given = parser.parse_args()
    rows = [
        _print_row(
            shape, list(map(int, given.sizes.split(","))), given.ways.split(","), given.seconds
        )
        for shape in given.shapes
    ]
    return int(not all(rows))


def _print_row(shape: str, sizes: list[int], ways: list[str], cap: float) -> bool:
    """Run a shape and print its row; whether every run ended in time."""
    found = [run_shape(SHAPES[shape], size, way, cap) for size in sizes for way in ways]
    print(f"{shape:25} {'  '.join(map(str, found))}", flush=True)
    return all(result.is_good for result in found)


if __name__ == "__main__":
    sys.exit(main())
