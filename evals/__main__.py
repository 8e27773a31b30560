"""All suites, and their figures as one page: `python -m evals [--data DIR] [--out FILE]`.

A suite whose data is missing is skipped, and the page says so.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from evals import (
    arms,
    claims,
    conflicts,
    credibility,
    extractive,
    injection,
    lies,
    links,
    multihop,
    slots,
    wire,
)
from evals.extractive import ROOT

PAGE = ROOT / "evals/RESULTS.md"


class Suite(NamedTuple):
    """A measurement: its module, its data folder, and the function that writes its section."""

    name: str
    title: str
    needs: str  # below the data folder; empty: nothing
    write: Callable[[Path], str]


def _extractive(data: Path) -> str:
    return extractive.report(*extractive.measure(data))


def _arms(data: Path) -> str:
    return arms.report(arms.measure(data))


def _slots(data: Path) -> str:
    return slots.report(slots.measure(data))


def _multihop(data: Path) -> str:
    return f"{multihop.report(multihop.measure(data))}\n\n{multihop.auto_table(data)}"


def _conflicts(data: Path) -> str:
    return conflicts.report(conflicts.measure(data))


def _wire(_: Path) -> str:
    return _rows(wire.measure().items(), ("measure", "value"))


def _claims(data: Path) -> str:
    return claims.table(claims.measure(data / "claims"))


def _links(data: Path) -> str:
    return links.report(links.measure(data, 60))


def _lies(data: Path) -> str:
    return lies.report(lies.measure(data))


def _credibility(data: Path) -> str:
    heads = ("set", "n", "reliable", "plain AUC", "our AUC", "gain", "interval of 95%")
    parts = credibility.report(data / "credibility")
    rows = (
        (f"{name}, {part}", *cells.values())
        for name, found in parts.items()
        for part, cells in found.items()
    )
    return _rows(rows, heads)


def _rows(rows: Any, heads: tuple[str, ...]) -> str:
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *lines])


SUITES = (
    Suite("extractive", "Answers without a model: short passages", "multihop", _extractive),
    Suite("arms", "Strategies side by side, and one plain search", "multihop", _arms),
    Suite("slots", "Slots without a model: long real pages", "worldcup", _slots),
    Suite("multihop", "Questions of two and three hops, by strategy", "multihop", _multihop),
    Suite("conflicts", "Sources that disagree: two hundred slots", "worldcup", _conflicts),
    Suite("wire", "Rounds, calls and tokens with a scripted model", "", _wire),
    Suite("claims", "Claims against what they cite, without a model", "claims", _claims),
    Suite("injection", "Hostile pages", "injection", injection.report),
    Suite("links", "Links that open at the quote, in a browser", "pages", _links),
    Suite("lies", "What reaches the user of what a model makes up", "multihop", _lies),
    Suite("credibility", "Credibility of domains", "credibility", _credibility),
)


def page(data: Path) -> Iterator[str]:
    """Yield the sections of the page, each as soon as it is measured."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    yield (
        f"# How good the answers are\n\n{datetime.now(UTC):%Y-%m-%d}, commit "
        f"{commit or 'unknown'}: `python -m evals`. Each part by itself: `python -m evals.NAME`."
    )
    for suite in SUITES:
        there = not suite.needs or (data / suite.needs).is_dir()
        body = suite.write(data) if there else f"Skipped: no data in `{suite.needs}/`."
        yield f"## {suite.title}\n\n`python -m evals.{suite.name}`\n\n{body}"


def main() -> None:
    """Measure all, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args()
    text = "\n\n".join(page(given.data.resolve())) + "\n"
    given.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
