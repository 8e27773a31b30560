"""Whether questions of research are answered from scholarly works, without a model.

A closed world on loopback, behind all six services as they are on the wire, has 40 invented works:
10 with the fact in a full text in JATS, 8 with it in an open PDF, 10 with it in the abstract, of
which 3 have a retracted rival with another number and 3 a preprint, and 6 that are retracted
themselves. *right*: the number is in the answer; of a retracted work: nothing is asserted. *cited*:
the work with that DOI, authors, venue and year. *text told*: whole or abstract, as it was read.
*retracted cited*, *twice*: a retracted work is cited; one work is two sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agent.answer import Answer
from agent.run import research
from agent.run.audit import audit_answer
from agent.settings import parse_settings
from evals.harness import Bench, Evaluation, Table, count, finish, main, size
from tests.support.scholar_world import PAPERS, Paper, ScholarWorld

RIVALLED, PREPRINTED = range(18, 21), range(22, 25)


class Outcome(NamedTuple):
    """What became of the question of a work."""

    paper: Paper
    answer: Answer

    @property
    def kind(self) -> str:
        more = {
            **dict.fromkeys(RIVALLED, ", retracted rival"),
            **dict.fromkeys(PREPRINTED, ", preprint"),
        }
        return f"{self.paper.kind}{more.get(self.paper.n, '')}"

    @property
    def right(self) -> bool:
        if self.paper.is_retracted:
            return not self.answer.citations
        return f"{self.paper.percent} percent" in self.answer.answer

    @property
    def cited(self) -> bool:
        works = [one.work or {} for one in self.answer.citations]
        return any(
            work.get("DOI") == self.paper.doi
            and work.get("author", [{}])[0].get("family") == f"Müller-{self.paper.drug}"
            and work.get("container-title") == "Journal of Invented Trials"
            and work["issued"]["date-parts"][0][0] == 2024
            for work in works
        )

    @property
    def told(self) -> bool:
        is_whole = self.paper.kind in ("jats", "pdf")
        return any((not one.partial_text) == is_whole for one in self.answer.citations)

    @property
    def retracted_cited(self) -> bool:
        return any((one.work or {}).get("status") for one in self.answer.citations)

    @property
    def twice(self) -> bool:
        titles = {one.id: one.title for one in self.answer.citations}
        return len(titles) > len(set(titles.values()))

    @property
    def audited(self) -> bool:
        return bool(audit_answer(json.loads(self.answer.model_dump_json()))["ok"])


def load(_: Path) -> Iterator[Paper]:
    yield from (one for one in PAPERS if one.n < 34)


def measure(paper: Paper, bench: Bench) -> Iterator[Outcome]:
    """Ask about a work, in one round."""
    folders = {"RUNS_DIR": str(bench.work / "runs"), "CACHE_DIR": str(bench.work / f"c{paper.n}")}
    with ScholarWorld() as world:
        settings = parse_settings({**world.environment, **folders, "LLM": "extractive"})
        run = finish(research(paper.question, settings.model_copy(update={"max_rounds": 1})))
        yield Outcome(paper, run.answer())


EVALUATION = Evaluation(
    title="Scholarly works",
    load=load,
    measure=measure,
    tables=(
        Table(
            {"fact in": "kind"},
            {
                "n": size,
                "right": count("right"),
                "cited": count("cited"),
                "text told": count("told"),
                "retracted cited": count("retracted_cited"),
                "twice": count("twice"),
                "audit holds": count("audited"),
            },
            total=True,
        ),
    ),
    missed=lambda one: "" if one.right else f"{one.paper.question}\n   {one.answer.answer}",
)

if __name__ == "__main__":
    main("scholar")
