"""Compares programs on the same questions and writes RESULTS.md: see README.md.

usage: python -m benchmarks.peers [--environments FOLDER] [--questions N] [--model S] [--other S]
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from benchmarks.peers.measure import Measurement, measure, summarize
from benchmarks.peers.programs import PROGRAMS, Program
from benchmarks.peers.services import Latency, Services
from benchmarks.peers.world import make_world
from benchmarks.tables import render_tables

HERE = Path(__file__).parent


def main(given: list[str]) -> None:
    """Ask every program every question, one after the other, and write the figures."""
    options = _options().parse_args(given)
    latency = Latency(options.model, options.other)
    with Services(make_world(options.questions), latency) as services:
        measurements = _ask_all(services, options.environments)
    rows = {
        program.name: {
            **summarize(measurements[program]),
            **measure_installation(program, options.environments),
        }
        for program in PROGRAMS
    }
    page = f"{_head(options)}\n{render_tables(rows)}\n{_notes()}"
    (HERE / "RESULTS.md").write_text(page, encoding="utf-8")
    print(page)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument(
        "--environments", type=lambda given: Path(given).resolve(), default=".peers"
    )
    parser.add_argument("--questions", type=int, default=20, help="1 to 20, a fifth unanswerable")
    parser.add_argument("--model", type=float, default=1.0, help="seconds of a model call")
    parser.add_argument("--other", type=float, default=0.5, help="... of a search, page, embedding")
    return parser


def _ask_all(services: Services, environments: Path) -> dict[Program, list[Measurement]]:
    """Ask question by question, so that other work on the machine slows all programs equally.

    The first question is also asked once before, unmeasured, to fill the disk and bytecode caches.
    """
    first, *_ = questions = services.world.questions
    for program in PROGRAMS:
        measure(program, first, services, environments)
    measurements: dict[Program, list[Measurement]] = {program: [] for program in PROGRAMS}
    for question in questions:
        for program in PROGRAMS:
            print(f"{program.name}: {question.text}", file=sys.stderr, flush=True)
            measurements[program].append(measure(program, question, services, environments))
    return measurements


def measure_installation(program: Program, environments: Path) -> dict[str, Any]:
    """The size on disk, the number of distributions and the version of a program, without pip."""
    (packages,) = (environments / program.folder).glob("lib/python*/site-packages")
    own = [
        path for path in packages.iterdir() if not re.match(r"pip\b|setuptools|_dist", path.name)
    ]
    files = (file for path in own for file in (path.rglob("*") if path.is_dir() else [path]))
    size = sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")
    found = {one.metadata["Name"]: one.version for one in distributions(path=[str(packages)])}
    return {
        "installed MB, without bytecode": round(size / 1e6),
        "distributions": len(found.keys() - {"pip", "setuptools"}),
        "version": found.get(program.distribution, "?"),
    }


def _head(options: argparse.Namespace) -> str:
    chosen = f"--questions {options.questions} --model {options.model} --other {options.other}"
    return (
        f"# Beside other programs\n\n{datetime.now(UTC).date()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {platform.system()} {platform.machine()}.\n\n"
        "```sh\nbenchmarks/peers/environments.sh FOLDER\n"
        f"python -m benchmarks.peers --environments FOLDER {chosen}\n```\n\n"
        f"{options.questions} questions, each a process of its own; a model call takes "
        f"{options.model} s, a search, a page or an embedding {options.other} s. Counts are the "
        "server's; tokens by `agent.evidence.estimate_tokens`, of all that a request shows a "
        "model.\n"
    )


def _notes() -> str:
    return (HERE / "README.md").read_text("utf-8").split("<!-- notes -->\n")[1]


if __name__ == "__main__":
    main(sys.argv[1:])
