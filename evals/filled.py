"""How often a slot that is `filled` without a model is right.

`python -m evals.filled [--data DIR] [--all] [--wrong]`: 120 questions of nq, each asked with the
23,445 passages as the web and again without any passage that answers one of them. The engine
proposes the slots. A slot counts by the type that the question asks for: *typed* slots are who,
when, where, how many and how much; the others hold a whole sentence. The questions are split by
the SHA-1 of their id, 60 a half; rules were written with the `tune` half alone in view.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evals.extractive import (
    HALVES,
    ROOT,
    contains_answer,
    half,
    questions,
    write_corpus_without_gold,
)

SIZE = 60  # questions of each half
WEBS = ("with the gold page", "without it")


class FilledSlot(NamedTuple):
    """A slot that was filled, or a question without one (`name` is then empty)."""

    question: dict[str, Any]
    half: str
    name: str
    value: str
    quote: str
    right: bool

    @property
    def typed(self) -> bool:
        """Whether its value has a type of its own: no sentence that stands for an answer."""
        return self.name not in ("", "answer")


def sample(data: Path, whole: bool = False) -> list[dict[str, Any]]:
    """So many questions of each half, drawn by the SHA-1 of their ids; `whole`: all of them."""
    rows = questions(data, ("nq",))
    rows.sort(key=lambda row: hashlib.sha1(f"filled {row['id']}".encode()).hexdigest())
    size = len(rows) if whole else SIZE
    return [row for side in HALVES for row in [r for r in rows if half(r) == side][:size]]


def is_right(value: str, answers: Sequence[str]) -> bool:
    """Whether a value and a gold answer are the same, or one holds the other."""
    from agent.slots.sameness import same_value

    held = any(contains_answer(answer, [value]) for answer in answers)
    return held or contains_answer(value, answers) or any(same_value(value, a) for a in answers)


def ask(question: dict[str, Any], corpus: Path, work: Path) -> list[FilledSlot]:
    """Run one question with the product, without a model."""
    from agent.run import research
    from agent.settings import Settings

    settings = Settings(offline=True, corpus=corpus, cache_dir=work, runs_dir=work / "runs")
    run = research(question["question"], settings)
    for _ in run:
        pass
    run.answer()
    side = half(question)
    made = [
        FilledSlot(
            question,
            side,
            name,
            value := str(found.value),
            found.quotes[0].text if found.quotes else "",
            is_right(value, question["answers"]),
        )
        for name, found in run.research.findings.items()
        if found.status == "filled"
    ]
    return made or [FilledSlot(question, side, "", "", "", False)]


def measure(data: Path, whole: bool = False) -> list[list[FilledSlot]]:
    """The slots that are filled with all passages, and without those that answer."""
    from agent.search.corpus import Corpus

    asked = sample(data, whole)
    gold = data.resolve() / "multihop/corpus.jsonl.gz"
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        work, made = Path(folder), []
        for corpus in (gold, write_corpus_without_gold(asked, gold, work / "bare.jsonl")):
            Corpus(corpus, work).close()
            rows = pool.map(partial(ask, corpus=corpus, work=work), asked, chunksize=4)
            made.append([slot for row in rows for slot in row])
        return made


HEAD = (
    "| half | web | questions | typed slots filled | **right** | **precision** "
    "| sentences filled | right | precision |\n|---|---|---|---|---|---|---|---|---|"
)


def table(made: Sequence[Sequence[FilledSlot]]) -> Iterator[str]:
    """A row a half and web, and one for both halves."""
    for halves in ((HALVES[1],), (HALVES[0],), HALVES):
        for web, slots in zip(WEBS, made, strict=True):
            own = [slot for slot in slots if slot.half in halves]
            asked = len({slot.question["id"] for slot in own})
            cells = [" and ".join(reversed(halves)), web, str(asked)]
            for typed in (True, False):
                some = [slot for slot in own if slot.name and slot.typed == typed]
                right = sum(slot.right for slot in some)
                share = f"{right / len(some):.1%}" if some else ""
                cells += [str(len(some)), str(right), share]
            yield f"| {' | '.join(cells)} |"


def report(made: Sequence[Sequence[FilledSlot]]) -> str:
    """The part of RESULTS.md."""
    note = "*right*: the value holds a gold answer, or a gold answer the value, by whole words."
    return "\n".join([HEAD, *table(made), "", note])


def main() -> None:
    """Measure and print the table; with --wrong, what is filled wrongly in the tune half."""
    parser = argparse.ArgumentParser(prog="python -m evals.filled")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--all", action="store_true", help="every question of nq, not 120")
    parser.add_argument("--wrong", action="store_true", help="show what is wrong in the tune half")
    given = parser.parse_args()
    made = measure(given.data.resolve(), given.all)
    print(report(made))
    for slot in [slot for slots in made for slot in slots] if given.wrong else []:
        if slot.name and slot.half == "tune" and not slot.right:
            print(slot.question["question"], slot.question["answers"], slot[2:5])


if __name__ == "__main__":
    main()
