"""What the values that are filled without a model are worth, and whether `confidence` says so.

Questions of nq, xquad and hotpotqa, once with all passages as the web and once without those that
answer, and the matches and cups of `evals.slots` on long pages. A value is *right* where it holds a
gold answer, or a gold answer the value, by whole words. Only values that are `filled` count, and of
short passages only those of questions with one slot: where there are several, the gold answer is
not that of each. *typed*: who, when, where, how many and how much; a sentence holds no type. *gap*:
mean confidence less the share that is right; below zero it says too little. *at least*: the lower
end of the 95 % interval (Wilson 1927), which the table of `agent/slots/weighing.py` has for each
form of value by the *tune* half, at most .95, since all rows of long pages are of World Cups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from evals import slots
from evals.harness import Bench, Cell, Evaluation, Table, average, count, main, share, size, take
from evals.questions import CORPUS, contains_answer, load_questions, write_corpus_without_gold

BINS = 10
BARE = "bare-values.jsonl"


class SaidValue(NamedTuple):
    """A filled slot: where it is from, what confidence it has, and whether it is right."""

    group: str
    half: str
    confidence: float
    right: bool
    form: str  # how its quote holds it

    @property
    def gap(self) -> float:
        return self.confidence - self.right

    @property
    def bin(self) -> str:
        """Its confidence in tenths; 1 is in the last."""
        at = min(BINS - 1, int(self.confidence * BINS + 1e-9))
        return f"{at / BINS:.1f} to {(at + 1) / BINS:.1f}"


def load(data: Path) -> Iterator[Any]:
    """Questions about short passages, and those of long pages. A yes or no is no slot's value."""
    rows = load_questions(data, "nq", "xquad", "hotpotqa")
    yield from (row for row in rows if not set(row["answers"]) & {"yes", "no"})
    yield from slots.load(data)


def prepare(asked: Sequence[Any], bench: Bench) -> None:
    """Build the indexes of passages, of those that do not answer, and of long pages."""
    short = [question for question in asked if isinstance(question, dict)]
    bare = write_corpus_without_gold(short, bench.data, bench.work / BARE)
    bench.open_index(bench.data / CORPUS, bare)
    slots.prepare((), bench)


def measure(asked: Any, bench: Bench) -> Iterator[SaidValue]:
    """The values that are filled for a question."""
    if isinstance(asked, slots.SlotQuestion):
        for one in slots.measure(asked, bench):
            if one.confidence is not None:
                said = (one.confidence, one.mark == "right", one.form)
                yield SaidValue("long pages", asked.half, *said)
        return
    yield from _ask(asked, bench, bench.data / CORPUS, "short passages")
    yield from _ask(asked, bench, bench.work / BARE, "without those that answer")


def _ask(question: dict[str, Any], bench: Bench, corpus: Path, web: str) -> Iterator[SaidValue]:
    from agent.slots.weighing import tell_form

    findings = bench.run(question["question"], corpus).research.findings
    for name, found in findings.items():
        if found.status == "filled" and len(findings) == 1:
            kind = "a sentence" if name == "answer" else "typed"
            value = str(found.value)
            right = is_right(value, question["answers"])
            form = tell_form(value, found.quotes[0])
            yield SaidValue(f"{web}: {kind}", question["half"], found.confidence, right, form)


def is_right(value: str, answers: Sequence[str]) -> bool:
    """Whether a value and a gold answer are the same, or one holds the other."""
    from agent.slots.sameness import same_value

    held = any(contains_answer(answer, [value]) for answer in answers)
    return held or contains_answer(value, answers) or any(same_value(value, a) for a in answers)


def calibration_error(said: Sequence[SaidValue]) -> float:
    """The mean size of the gap of each bin, weighed by its values (Guo et al. 2017)."""
    bins: dict[str, list[float]] = {}
    for one in said:
        bins.setdefault(one.bin, []).append(one.gap)
    return sum(abs(sum(gaps)) for gaps in bins.values()) / max(1, len(said))


def lower_end(right: int, n: int, z: float = 1.96) -> float:
    """The lower end of the 95 % interval of a share."""
    share_of = right / n
    around = z * sqrt(share_of * (1 - share_of) / n + z**2 / (4 * n**2))
    return (share_of + z**2 / (2 * n) - around) / (1 + z**2 / n)


def _at_least() -> Cell:
    return lambda said: f"{lower_end(sum(take('right', said)), len(said)):.2f}"


FIGURES = {
    "n": size,
    "mean confidence": average("confidence", ".2f"),
    "right": count("right"),
    "precision": share("right"),
    "gap": average("gap", "+.2f"),
}
EVALUATION = Evaluation(
    title="Values filled without a model, and their confidence",
    load=load,
    prepare=prepare,
    measure=measure,
    needs="worldcup",
    tables=(
        Table(
            {"values": "group", "half": "half"},
            {**FIGURES, "calibration error": lambda said: f"{calibration_error(said):.3f}"},
        ),
        Table({"values": "group", "confidence": "bin"}, FIGURES),
        Table({"half": "half", "form": "form"}, {**FIGURES, "at least": _at_least()}),
    ),
)

if __name__ == "__main__":
    main("calibration")
