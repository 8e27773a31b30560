"""All suites, and their figures as one page: `python -m evals [--data DIR] [--only NAME ...]`.

A suite whose data is missing is skipped, and the page says so. With `--only`, the sections of the
other suites stay as they are on the page.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from evals import (
    arms,
    calibration,
    check,
    claims,
    conflicts,
    credibility,
    documents,
    extractive,
    filled,
    injection,
    languages,
    lies,
    links,
    local_model,
    multihop,
    namesakes,
    page_dates,
    page_kinds,
    planted,
    prefix,
    reading,
    slots,
    swaps,
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


def _languages(_: Path) -> str:
    return languages.report(languages.measure())


def _arms(data: Path) -> str:
    return arms.report(arms.measure(data))


def _slots(data: Path) -> str:
    return slots.report(slots.measure(data))


def _multihop(data: Path) -> str:
    return f"{multihop.report(multihop.measure(data))}\n\n{multihop.auto_table(data)}"


def _reading(data: Path) -> str:
    return reading.report(reading.measure(data))


def _prefix(data: Path) -> str:
    return prefix.report(prefix.measure(data))


def _conflicts(data: Path) -> str:
    return conflicts.report(conflicts.measure(data))


def _wire(_: Path) -> str:
    return _rows(wire.measure().items(), ("measure", "value"))


def _filled(data: Path) -> str:
    return filled.report(filled.measure(data))


def _calibration(data: Path) -> str:
    return calibration.report(calibration.measure(data))


def _claims(_: Path) -> str:
    return claims.report()


def _swaps(data: Path) -> str:
    outcomes = swaps.measure(data)
    return "\n\n".join([swaps.report(outcomes), *swaps.violations(outcomes)])


def _local_model(_: Path) -> str:
    return local_model.report()


def _links(data: Path) -> str:
    return links.report(links.measure(data, 60))


def _check(data: Path) -> str:
    return check.report(check.measure(data))


def _lies(data: Path) -> str:
    return lies.report(lies.measure(data))


def _namesakes(_: Path) -> str:
    return namesakes.report(namesakes.measure("report"))


def _page_dates(data: Path) -> str:
    return page_dates.report(page_dates.measure(data))


def _page_kinds(data: Path) -> str:
    return page_kinds.report(page_kinds.measure(data))


def _credibility(data: Path) -> str:
    parts = credibility.report(data / "credibility")
    heads = ("set", "n", "reliable", "plain AUC", "our AUC", "gain", "interval of 95%")
    first = next(iter(next(iter(parts.values())).values()))
    heads += tuple(name for name in first if "blocked" in name)
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
    Suite("languages", "Answers without a model: ten languages", "", _languages),
    Suite("arms", "Strategies side by side, and one plain search", "multihop", _arms),
    Suite("slots", "Slots without a model: long real pages", "worldcup", _slots),
    Suite("filled", "Slots without a model: short passages", "multihop", _filled),
    Suite("calibration", "What a slot's confidence is worth", "multihop", _calibration),
    Suite("multihop", "Questions of two and three hops, by strategy", "multihop", _multihop),
    Suite("reading", "Right answers and their tokens, by strategy", "multihop", _reading),
    Suite("prefix", "What of a prompt a service may have in its cache", "multihop", _prefix),
    Suite("conflicts", "Sources that disagree", "worldcup", _conflicts),
    Suite("wire", "Rounds, calls and tokens with a scripted model", "", _wire),
    Suite("swaps", "False sentences made of true ones, and true ones in other words", "", _swaps),
    Suite("claims", "What a model is worth as a judge of claims", "", _claims),
    Suite("local_model", "Whole runs with a small local model", "", _local_model),
    Suite("injection", "Hostile pages", "injection", injection.report),
    Suite("planted", "Planted pages", "injection", planted.report),
    Suite("namesakes", "Things of one name", "", _namesakes),
    Suite("links", "Links that open at the quote, in a browser", "pages", _links),
    Suite("lies", "What reaches the user of what a model makes up", "multihop", _lies),
    Suite("check", "Reports with planted faults", "pages", _check),
    Suite("documents", "What comes out of documents", "worldcup", documents.report_or_skip),
    Suite("page_kinds", "What comes out of pages, by their kind", "pages", _page_kinds),
    Suite("page_dates", "Dates of pages", "pages", _page_dates),
    Suite("credibility", "Credibility of domains", "credibility", _credibility),
)


def write_page(data: Path, names: Sequence[str], old: str) -> Iterator[str]:
    """Yield the sections of the page, each as soon as it is measured or taken from the old page."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    yield (
        f"# How good the answers are\n\n{datetime.now(UTC):%Y-%m-%d}, commit "
        f"{commit or 'unknown'}: `python -m evals`. Each part by itself: `python -m evals.NAME`."
    )
    kept = old_sections(old)
    for suite in SUITES:
        if suite.name in names or suite.title not in kept:
            yield _measure(suite, data)
        else:
            yield kept[suite.title]


def old_sections(page: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    parts = re.split(r"^(?=## )", page, flags=re.M)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part.strip() for part in parts}


def _measure(suite: Suite, data: Path) -> str:
    there = not suite.needs or (data / suite.needs).is_dir()
    body = suite.write(data) if there else f"Skipped: no data in `{suite.needs}/`."
    return f"## {suite.title}\n\n`python -m evals.{suite.name}`\n\n{body}"


def main() -> None:
    """Measure all, or some, and write the page."""
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="these alone")
    given = parser.parse_args()
    old = given.out.read_text("utf-8") if given.out.exists() else ""
    text = "\n\n".join(write_page(given.data.resolve(), given.only, old)) + "\n"
    given.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
