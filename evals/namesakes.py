"""Whether things of one name are told apart from sources that disagree about one thing.

Each case of `evals/namesakes.toml` is a question and two pages with a value each: of two things of
one name, or of one thing. *reader*: without a model, with a scripted model that reports what each
source says, and with one that says of each value what it is of too. *as wanted*: of two things,
both values are in the answer, each with what it is of, and the answer is complete; of one thing,
both are, the slot is in conflict and the answer partial. *told apart*: values of several things in
one slot.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer import Answer
from agent.evidence import split_sentences
from evals.harness import HALVES, Bench, Evaluation, Table, count, main, size, write_rows
from evals.scripted import Reporter, Scripted, Sources, judge_by_value, run_scripted

READERS = ("none", "values", "values and things")


class StatedPage(NamedTuple):
    """A page that states a value; `of` is a word that tells its thing from others, or ""."""

    title: str
    host: str
    value: str
    of: str
    text: str


class Case(NamedTuple):
    """A question, and two pages that answer it."""

    half: str
    kind: str
    things: int
    question: str
    pages: tuple[StatedPage, ...]


class Outcome(NamedTuple):
    """The result of a case with a reader."""

    case: Case
    reader: str
    answer: Answer

    @property
    def both_told(self) -> bool:
        return all(page.value in self.answer.answer for page in self.case.pages)

    @property
    def context_told(self) -> bool:
        text = self.answer.answer.casefold()
        return all(page.of.casefold() in text for page in self.case.pages)

    @property
    def is_apart(self) -> bool:
        """Whether a slot has values of several things."""
        return any(slot.of for slot in self.answer.slots.values())

    @property
    def right(self) -> bool:
        if self.case.things == 1:
            conflict = any(slot.status == "conflict" for slot in self.answer.slots.values())
            return self.both_told and conflict and self.answer.status == "partial"
        return self.both_told and self.context_told and self.answer.status == "complete"


def load(_: Path) -> Iterator[Case]:
    """The cases; every second one is of the half to tune on."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["case"]
    for n, row in enumerate(rows):
        pages = tuple(StatedPage(*page) for page in row["pages"])
        yield Case(HALVES[n % 2], row["kind"], row["things"], row["question"], pages)


def _values(case: Case, reader: str, shown: Sources) -> Iterator[dict[str, Any]]:
    for n, text in shown.items():
        for page in case.pages:
            spans = (text[a:b] for a, b in split_sentences(text))
            if quote := next((span for span in spans if page.value in span), ""):
                of = page.of if reader == READERS[2] else ""
                row = {"name": "answer", "value": page.value, "source": n, "quote": quote}
                yield {**row, "of": of}


def _write(row: Any) -> str:
    return f"{row['quote'].rstrip('.')} [{row['source']}]."


def measure(case: Case, bench: Bench) -> Iterator[Outcome]:
    """Run a case with every reader."""
    for reader in READERS:
        yield run_case(case, reader, bench)


def run_case(case: Case, reader: str, bench: Bench) -> Outcome:
    """Run a case with the product."""
    rows = (
        {"title": page.title, "url": f"https://{page.host}/page/{n}", "text": page.text}
        for n, page in enumerate(case.pages)
    )
    corpus = write_rows(bench.new_file(), rows)
    if reader == READERS[0]:
        return Outcome(case, reader, bench.run(case.question, corpus).answer())
    values = partial(_values, case, reader)
    model = Scripted(Reporter([case.question], values, judge_by_value, _write))
    return Outcome(case, reader, run_scripted(case.question, model, corpus, bench).answer())


EVALUATION = Evaluation(
    title="Things of one name",
    load=load,
    measure=measure,
    tables=(
        Table(
            {
                "pages": lambda one: "of two things" if one.case.things == 2 else "of one thing",
                "half": "case.half",
                "reader": "reader",
            },
            {
                "n": size,
                "as wanted": count("right"),
                "told apart": count("is_apart"),
                "both values told": count("both_told"),
            },
        ),
    ),
    missed=lambda one: (
        f"{one.reader}: {one.case.question} {one.answer.status}\n   {one.answer.answer}"
        if one.case.half == "tune" and not one.right
        else ""
    ),
)

if __name__ == "__main__":
    main("namesakes")
