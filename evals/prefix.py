"""Measures how much of each prompt a service may take from its cache.

`python -m evals.prefix [--data DIR]`: multi-hop questions through each strategy, with a scripted
model that follows what it reads (`evals.reader`). Services cache what prompts begin with alike. So
for each call but the first of a run: the share of its prompt, standing instructions and earlier
turns included, that is byte for byte the beginning of an earlier prompt of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from agent.search.corpus import Corpus
from evals.extractive import ROOT, half, questions
from evals.multihop import ARMS, HOPS, SETS, run_reader
from evals.reader import Reader, relations

QUESTIONS = 30


class Prefix(NamedTuple):
    """A call after the first: the length of its prompt, and of what an earlier one began with."""

    arm: str
    task: str
    characters: int
    alike: int


def measure(data: Path) -> list[Prefix]:
    """Every call after the first, of the first questions of the half that nothing is tuned on."""
    rows = [q for q in questions(data, SETS) if len(q["gold"]) in HOPS and half(q) == "report"]
    corpus = data.resolve() / "multihop/corpus.jsonl.gz"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        Corpus(corpus, work).close()
        return [
            found
            for row in rows[:: max(1, len(rows) // QUESTIONS)][:QUESTIONS]
            for arm, settings in ARMS.items()
            for found in _prefixes(arm, _prompts(row, corpus, work, settings))
        ]


def _prompts(
    row: dict[str, Any], corpus: Path, work: Path, settings: dict[str, Any]
) -> list[tuple[str, str]]:
    """Task and whole prompt of each call of a run, in order."""
    reader = Reader(row["question"].strip(), relations(row))
    calls = run_reader(row, reader, corpus, work, settings)._journal.calls
    asked = (call["request"] for call in calls if call["call"] == "ask")
    return [(a["task"], a["system"] + a["prompt"] + json.dumps(a.get("exchanges"))) for a in asked]


def _prefixes(arm: str, prompts: Sequence[tuple[str, str]]) -> Iterator[Prefix]:
    for n, (task, prompt) in enumerate(prompts[1:], 1):
        alike = max(len(os.path.commonprefix([prompt, told])) for _, told in prompts[:n])
        yield Prefix(arm, task, len(prompt), alike)


def report(made: Sequence[Prefix]) -> str:
    """A row for each strategy, and for each of its tasks."""
    groups: dict[tuple[str, str], list[Prefix]] = defaultdict(list)
    for one in made:
        groups[one.arm, "all"].append(one)
        groups[one.arm, one.task].append(one)
    lines = [
        "| strategy | task | calls after the first | characters | of these alike |",
        f"|{'---|' * 5}",
    ]
    for (arm, task), rows in sorted(groups.items()):
        share = sum(r.alike for r in rows) / sum(r.characters for r in rows)
        size = mean(r.characters for r in rows)
        lines.append(f"| {arm} | {task} | {len(rows)} | {size:,.0f} | {share:.0%} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    print(report(measure(parser.parse_args().data)))
