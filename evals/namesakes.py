"""Measures whether things of one name are told apart from sources that disagree about one thing.

`python -m evals.namesakes [--half tune|report] [--show]`. Each case of `namesakes.toml` is a
question and two pages with a value each: of two things of one name, or of one thing. They run
through the product without a model, with a scripted model that reports what each source says, and
with one that says of each value what it is of too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer import Answer
from agent.evidence import split_sentences
from agent.run import research
from agent.settings import Settings, parse_settings
from evals.extractive import HALVES
from evals.judges import Word, judge_prompt
from tests.support.services import ModelRequest, Services, source_ids

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
    def is_right(self) -> bool:
        if self.case.things == 1:
            conflict = any(slot.status == "conflict" for slot in self.answer.slots.values())
            return self.both_told and conflict and self.answer.status == "partial"
        return self.both_told and self.context_told and self.answer.status == "complete"


def load_cases(side: str) -> list[Case]:
    """The cases of a half: every second one."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["case"]
    cases = [
        Case(
            row["kind"], row["things"], row["question"], tuple(StatedPage(*p) for p in row["pages"])
        )
        for row in rows
    ]
    return cases[HALVES.index(side) :: 2]


def _think(case: Case, reader: str, asked: ModelRequest) -> dict[str, Any]:
    if asked.task == "generate_queries":
        slots = [{"name": "answer", "description": "what is asked", "needed": True}]
        return {"queries": [case.question], "slots": slots}
    if asked.task == "verify":
        shown = source_ids(asked.prompt)
        return {"verdicts": judge_prompt(asked.prompt, partial(_judge, shown), {})}
    rows = list(_report_values(case, reader, source_ids(asked.prompt)))
    first = rows[:1]
    answer = "".join(f"{row['quote'].rstrip('.')} [{row['source']}]." for row in first)
    citations = [{"source": row["source"], "quote": row["quote"]} for row in first]
    if asked.task != "reflect":
        return {"answer": answer, "citations": citations}
    coverage = {"answerable": bool(rows), "answer": answer, "citations": citations, "slots": rows}
    return {**coverage, "need_more": not rows, "new_queries": []}


def _judge(shown: dict[int, str], claim: str, _: set[int]) -> Word:
    value = claim.partition(": ")[2] or claim
    n = next((n for n, text in shown.items() if value in text), None)
    return Word("supported" if n else "unsupported", n)


def _report_values(case: Case, reader: str, shown: dict[int, str]) -> Iterator[dict[str, Any]]:
    for n, text in shown.items():
        for page in case.pages:
            spans = (text[a:b] for a, b in split_sentences(text))
            if quote := next((span for span in spans if page.value in span), ""):
                of = page.of if reader == READERS[2] else ""
                row = {"name": "answer", "value": page.value, "source": n, "quote": quote}
                yield {**row, "of": of}


def run_case(case: Case, reader: str, folder: Path, services: Services) -> Outcome:
    """Run a case with the product."""
    corpus = folder / "pages.jsonl"
    rows = (
        {"title": page.title, "url": f"https://{page.host}/page/{n}", "text": page.text}
        for n, page in enumerate(case.pages)
    )
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    if reader == READERS[0]:
        kept = {"runs_dir": folder / "runs", "cache_dir": folder / "cache"}
        settings = Settings(offline=True, corpus=corpus, **kept)
    else:
        services.think = partial(_think, case, reader)
        settings = parse_settings(services.environment(folder), corpus=corpus)
    run = research(case.question, settings)
    for _ in run:
        pass
    return Outcome(case, reader, run.answer())


def measure(side: str) -> list[Outcome]:
    """Every case of a half with every reader."""
    made = []
    with Services() as services:
        for case in load_cases(side):
            for reader in READERS:
                with tempfile.TemporaryDirectory() as name:
                    made.append(run_case(case, reader, Path(name), services))
    return made


def report(outcomes: Sequence[Outcome]) -> str:
    """A table with a row for each reader, of two things and of one."""
    lines = ["| pages | reader | n | as wanted | told apart | both values told |", f"|{'---|' * 6}"]
    for things, name in ((2, "of two things"), (1, "of one thing")):
        for reader in READERS:
            rows = [o for o in outcomes if (o.case.things, o.reader) == (things, reader)]
            counts = [sum(o.is_right for o in rows), sum(o.is_apart for o in rows)]
            cells = [len(rows), *counts, sum(o.both_told for o in rows)]
            lines.append(f"| {name} | {reader} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


NOTE = (
    "*as wanted*: of two things, both values are in the answer, each with what it is of, and the",
    "answer is complete; of one thing, both are, the slot is in conflict and the answer partial.",
    "*told apart*: values of several things in one slot.",
)


def main() -> None:
    """Measure and print the table; with --show, the cases that are not as wanted."""
    parser = argparse.ArgumentParser(prog="python -m evals.namesakes")
    parser.add_argument("--half", choices=HALVES, default="tune")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    outcomes = measure(given.half)
    print("\n".join([report(outcomes), "", *NOTE]))
    for one in (o for o in outcomes if given.show and not o.is_right):
        slots = [(s.value, s.of, s.status, s.alternatives) for s in one.answer.slots.values()]
        print(f"\n{one.reader}: {one.case.question} {one.answer.status} {slots}")
        print(one.answer.answer, *one.answer.warnings, sep="\n")


if __name__ == "__main__":
    main()
