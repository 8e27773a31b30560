"""Measures whether a slot's `confidence` says how often its value is right.

`python -m evals.calibration [--data DIR] [--sample N] [--fit]`: a reliability table of ten bins and
the expected calibration error (Guo et al. 2017), over questions with known answers. Without a
model: the questions of nq, xquad and hotpotqa with all passages as the web, and the matches and
cups of `evals.slots` on long pages. With a scripted reader, which reports what each source says,
over the wire: the slots of `evals.conflicts`, where pages disagree. Only values that are `filled`
count, and of short passages only those of questions with one slot: where there are several, the
gold answer is not that of each.

`--fit` prints the table of `agent/slots/weighing.py` as the tune half gives it, without a model: of
each form of value the lower end of the 95 % interval of the share that is right, at most .95, since
all rows are of pages of one kind.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import sqrt
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple, get_args

from agent.slots.weighing import ValueForm, tell_form
from agent.state import Finding
from evals import conflicts, slots
from evals.extractive import ROOT, half, questions
from evals.filled import is_right

BINS = 10
TYPED = "no model, short passages: typed slots"
SENTENCES = "no model, short passages: a sentence as the answer"
LONG = "no model, long pages: match and cup slots"
READER = "scripted reader, pages that disagree"


class SaidValue(NamedTuple):
    """A filled slot: where it is from, what confidence it has, and whether it is right.

    `form`: how its quote holds it, where no model gave it.
    """

    group: str
    half: str
    confidence: float
    right: bool
    form: str = ""


def value_of(finding: Finding, group: str, side: str, right: bool) -> SaidValue:
    """A value that nobody judged."""
    form = tell_form(finding.value or "", finding.quotes[0])
    return SaidValue(group, side, finding.confidence, right, form)


def ask(question: dict[str, Any], corpus: Path, work: Path) -> list[SaidValue]:
    """Run one question with the product, without a model."""
    from agent.run import research
    from agent.settings import Settings

    settings = Settings(offline=True, corpus=corpus, cache_dir=work, runs_dir=work / "runs")
    run = research(question["question"], settings)
    for _ in run:
        pass
    findings = run.research.findings.values()
    return [
        value_of(
            one,
            SENTENCES if one.slot == "answer" else TYPED,
            half(question),
            is_right(str(one.value), question["answers"]),
        )
        for one in findings
        if one.status == "filled" and len(findings) == 1
    ]


def measure_passages(data: Path, sample: int | None = None) -> list[SaidValue]:
    """The slots of questions that short passages answer; a yes or no is no slot's value."""
    from agent.search.corpus import Corpus

    asked = [row for row in questions(data) if not set(row["answers"]) & {"yes", "no"}]
    asked = asked[:: max(1, len(asked) // sample)] if sample else asked
    corpus = data.resolve() / "multihop/corpus.jsonl.gz"
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        work = Path(folder)
        Corpus(corpus, work).close()
        rows = pool.map(partial(ask, corpus=corpus, work=work), asked, chunksize=8)
        return [said for row in rows for said in row]


def values_of_pages(made: Sequence[slots.MarkedAnswer]) -> list[SaidValue]:
    """The slots of long pages."""
    return [
        value_of(one.filled[name], LONG, one.asked.half, mark == "right")
        for one in made
        for name, mark in one.marks.items()
        if name in one.filled
    ]


def values_of_conflicts(made: Sequence[conflicts.Outcome]) -> list[SaidValue]:
    """The altered slots that were filled."""
    return [
        SaidValue(READER, "report", one.slot.confidence, one.right)
        for one in made
        if one.slot.status == "filled"
    ]


def measure(data: Path, sample: int | None = None) -> list[SaidValue]:
    """All values; `sample`: so many questions of short passages, and those alone."""
    said = measure_passages(data, sample)
    if sample:
        return said
    return [
        *said,
        *values_of_pages(slots.measure(data)),
        *values_of_conflicts(conflicts.measure(data, engines=("scripted",), every=5)),
    ]


# --- the fit -------------------------------------------------------------------------------------

MOST = 0.95  # the rows are of one kind of page: so many more of them would tell no more
FEWEST = 0.5  # of a form of which there is no value


def fit(said: Sequence[SaidValue]) -> dict[str, float]:
    """For each form, the share of the tune half's values that is right, at the least."""
    tuned = [one for one in said if one.half == "tune"]
    rights = {form: [o.right for o in tuned if o.form == form] for form in get_args(ValueForm)}
    return {
        form: min(MOST, round(lower_end(sum(own), len(own)), 2)) if own else FEWEST
        for form, own in rights.items()
    }


def lower_end(right: int, n: int, z: float = 1.96) -> float:
    """The lower end of the 95 % interval of a share (Wilson 1927)."""
    share = right / n
    spread = z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (share + z**2 / (2 * n) - spread) / (1 + z**2 / n)


# --- figures -------------------------------------------------------------------------------------


def bins(said: Sequence[SaidValue]) -> list[list[SaidValue]]:
    """The values in ten bins of equal width; a confidence of 1 is in the last."""
    found: list[list[SaidValue]] = [[] for _ in range(BINS)]
    for one in said:
        found[min(BINS - 1, int(one.confidence * BINS + 1e-9))].append(one)
    return found


def calibration_error(said: Sequence[SaidValue]) -> float:
    """The expected calibration error: the gap of each bin, weighed by its share of the values."""
    return sum(len(one) * abs(_gap(one)) for one in bins(said) if one) / max(1, len(said))


def _gap(said: Sequence[SaidValue]) -> float:
    return mean(one.confidence for one in said) - mean(one.right for one in said)


HEAD = "| values | confidence | n | mean confidence | right | gap |\n|---|---|---|---|---|---|"
NOTES = """
*right*: the value holds a gold answer, or a gold answer the value; of long pages as in
`evals.slots`. *gap*: mean confidence less the share that is right; below zero it says too little.
*expected calibration error*: the mean size of the gap, each bin weighed by its values. The pages
of the scripted reader are generated, it reads without error, and its judge knows: its values are
all right, which no real model's are. It bounds the confidence of a judged value from above, and the
table says less on purpose. Rows of long pages are all of World Cups."""


def table(said: Sequence[SaidValue]) -> Iterator[str]:
    """A row for each group and bin that has values, and one for all values of the group."""
    for group in dict.fromkeys(one.group for one in said):
        own = [one for one in said if one.group == group]
        for at, some in enumerate(bins(own)):
            if some:
                yield _row(group, f"{at / BINS:.1f} to {(at + 1) / BINS:.1f}", some)
        yield _row(group, "all", own)


def _row(group: str, name: str, said: Sequence[SaidValue]) -> str:
    right = mean(one.right for one in said)
    sure = mean(one.confidence for one in said)
    return f"| {group} | {name} | {len(said)} | {sure:.2f} | {right:.2f} | {_gap(said):+.2f} |"


def errors(said: Sequence[SaidValue]) -> Iterator[str]:
    """The expected calibration error of each group and half."""
    yield "| values | half | n | expected calibration error |"
    yield "|---|---|---|---|"
    for group in dict.fromkeys(one.group for one in said):
        for side in ("report", "tune"):
            if own := [one for one in said if (one.group, one.half) == (group, side)]:
                yield f"| {group} | {side} | {len(own)} | {calibration_error(own):.3f} |"


def report(said: Sequence[SaidValue]) -> str:
    """The part of RESULTS.md."""
    return "\n".join([HEAD, *table(said), "", *errors(said), NOTES])


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m evals.calibration")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--sample", type=int, help="so many questions of short passages, no more")
    parser.add_argument("--fit", action="store_true", help="print the table of the program, too")
    given = parser.parse_args()
    said = measure(given.data.resolve(), given.sample)
    print(report(said))
    if given.fit:
        print(f"\nRIGHT = {fit(said)}")


if __name__ == "__main__":
    main()
