"""Whether things of one name are told apart from sources that disagree about one thing.

Each case is a question and two pages with a value each: of two things of one name, or of one thing.
Those of `evals/namesakes.toml` are invented; the *real* ones are pages of one title with different
qualifiers, each with a year, or such a page and one that gives it another year. *reader*: a
scripted model that reports what each source says, and one that says of each value what it is of.
*as wanted*: of two things, both values are in the answer, each with what it is of, and the answer
is complete; of one thing, both are, the slot is in conflict and the answer partial. *told apart*:
values of several things in one slot.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer.schema import Answer
from agent.evidence import split_sentences
from evals.harness import HALVES, Bench, Evaluation, Table, count, draw, main, size, write_rows
from evals.questions import read_passages
from evals.scripted import Reporter, Scripted, Sources, judge_by_value, run_scripted

REAL = 82  # pairs of real pages
BEGINNING = 300  # characters of a page that may tell its year
READERS = ("values", "values and things")
SLOT = "told"  # as the caller names what is asked for


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


def load(data: Path) -> Iterator[Case]:
    """The invented cases and those of real pages."""
    yield from load_invented()
    yield from _load_real(data)


def load_invented() -> Iterator[Case]:
    """The cases of the file; every second one is of the half to tune on."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["case"]
    for n, row in enumerate(rows):
        pages = tuple(StatedPage(*page) for page in row["pages"])
        yield Case(HALVES[n % 2], row["kind"], row["things"], row["question"], pages)


def _load_real(data: Path) -> Iterator[Case]:
    """Two pages of one title, each with a qualifier of its own and a year at its beginning.

    Of every second pair the other page is one that gives the first page's thing another year.
    """
    named: dict[str, dict[str, StatedPage]] = {}
    for row in read_passages(data):
        title = re.fullmatch(r"(.+) \((?!disambiguation)(.+)\)", row["title"])
        year = re.search(r"\b(?:1[5-9]|20)\d\d\b", row["text"][:BEGINNING])
        if title and year:
            page = StatedPage(row["title"], "en.wikipedia.org", year[0], title[2], row["text"])
            named.setdefault(title[1], {}).setdefault(title[2], page)
    pairs = [list(pages.values())[:2] for pages in named.values() if len(pages) > 1]
    apart = [pair for pair in pairs if pair[0].value != pair[1].value]
    for n, (one, other) in enumerate(draw(apart, lambda pair: pair[0].title, REAL)):
        name = one.title.partition(" (")[0]
        if n % 2:
            year = str(int(one.value) + 4)
            text = f"{name} is from {year}. Nobody who was there would say anything else."
            other = StatedPage(one.title, "lists.example.org", year, one.of, text)
        question = f"What year is {name} from?"
        yield Case("report", "real pages", 1 + (n % 2 == 0), question, (one, other))


def _values(case: Case, reader: str, shown: Sources) -> Iterator[dict[str, Any]]:
    for n, text in shown.items():
        for page in case.pages:
            spans = (text[a:b] for a, b in split_sentences(text))
            if quote := next((span for span in spans if page.value in span), ""):
                of = page.of if reader == READERS[1] else ""
                row = {"name": SLOT, "value": page.value, "source": n, "quote": quote}
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
    values = partial(_values, case, reader)
    model = Scripted(Reporter([case.question], values, judge_by_value, _write))
    run = run_scripted(case.question, model, corpus, bench, slots=(SLOT,))
    return Outcome(case, reader, run.answer())


EVALUATION = Evaluation(
    title="Things of one name",
    load=load,
    measure=measure,
    needs="multihop",
    tables=(
        Table(
            {
                "pages": lambda one: "real" if one.case.kind == "real pages" else "invented",
                "of": lambda one: f"{one.case.things} thing{'s' * (one.case.things > 1)}",
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
