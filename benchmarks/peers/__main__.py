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

from benchmarks.peers.measure import Asked, ask, summary
from benchmarks.peers.programs import PROGRAMS, Program
from benchmarks.peers.services import Latency, Services
from benchmarks.peers.world import world
from benchmarks.tables import tables

HERE = Path(__file__).parent


def main(given: list[str]) -> None:
    """Ask every program every question, one after the other, and write the figures."""
    options = _options().parse_args(given)
    latency = Latency(options.model, options.other)
    with Services(world(options.questions), latency) as services:
        asked = _ask_all(services, options.environments)
    rows = {
        program.name: {**summary(asked[program]), **installed(program, options.environments)}
        for program in PROGRAMS
    }
    page = f"{_head(options)}\n{tables(rows)}\n{_notes()}"
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


def _ask_all(services: Services, environments: Path) -> dict[Program, list[Asked]]:
    """Question by question, so that other work on the machine falls on all programs alike.

    The first question is asked twice: before it, nothing is compiled or in the disk's cache.
    """
    first, *_ = questions = services.world.questions
    for program in PROGRAMS:
        ask(program, first, services, environments)
    asked: dict[Program, list[Asked]] = {program: [] for program in PROGRAMS}
    for question in questions:
        for program in PROGRAMS:
            print(f"{program.name}: {question.text}", file=sys.stderr, flush=True)
            asked[program].append(ask(program, question, services, environments))
    return asked


def installed(program: Program, environments: Path) -> dict[str, Any]:
    """What an environment holds beside pip: its size on the disk, and how many distributions."""
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
        "server's; tokens by `agent.evidence.tokens`, of all that a request shows a model.\n"
    )


def _notes() -> str:
    return (HERE / "README.md").read_text("utf-8").split("<!-- notes -->\n")[1]


if __name__ == "__main__":
    main(sys.argv[1:])
