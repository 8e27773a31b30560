"""Whether what stands in a table, a note, a comment, a form or a scan of many mixed files is found.

60 questions, written by hand by what a person sees in the files, over a folder of 400 files of the
tests of docling, markitdown and Apache Tika: `mixed_files/files` in the data, each by the name that
`mixed_files.toml` has. *right*: a run without a model answers, and the answer or a quote of it has
the words asked for. *evidence*: they stand in a quote, or in what came closest. The others show the
five best lines by BM25, which abstain never: over our text, and over that of each peer, which
`mixed_files/NAME/FILE.txt` holds. Halves are by the question; nothing was tuned on either.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from agent.documents.body_text import UnreadablePage
from agent.documents.reading import read_body
from agent.evidence import rank_texts
from evals.extractive import abstains
from evals.harness import Bench, Evaluation, Table, half, main, share, size
from evals.questions import contains_answer

FILES = Path("mixed_files/files")
PEERS = ("markitdown", "kreuzberg")
SHOWN = 5  # lines


class Question(NamedTuple):
    """What is asked, and where its answer stands."""

    kind: str
    question: str
    answer: str
    file: str


class Outcome(NamedTuple):
    """What became of one question."""

    kind: str
    half: str
    right: bool
    wrong: bool
    evidence: bool
    ours: bool
    markitdown: bool
    kreuzberg: bool
    where: str


def load(data: Path) -> Iterator[Question]:
    """The questions."""
    kinds = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    for kind, rows in kinds.items():
        yield from (Question(kind, *row) for row in rows)


def prepare(questions: Sequence[Question], bench: Bench) -> None:
    """Build the index."""
    bench.open_index(bench.data / FILES)


def measure(one: Question, bench: Bench) -> Iterator[Outcome]:
    """Ask one question in each way."""
    run = bench.run(one.question, bench.data / FILES)
    answer = run.answer()
    quotes = [quote.quote for quote in (*answer.citations, *answer.closest)]
    told = not abstains(answer)
    shown = [answer.answer, *(quote.quote for quote in answer.citations)] if told else []
    has = contains_answer("\n".join(shown), [one.answer])
    lines = {name: _best_lines(one.question, name, bench.data) for name in ("ours", *PEERS)}
    yield Outcome(
        kind=one.kind,
        half=half(one.question),
        right=has,
        wrong=told and not has,
        evidence=contains_answer("\n".join(quotes), [one.answer]),
        **{name: contains_answer("\n".join(best), [one.answer]) for name, best in lines.items()},
        where=f"{one.kind}: {one.question} {one.answer} ({one.file}): {answer.answer[:200]}",
    )


def _best_lines(question: str, reader: str, data: Path) -> list[str]:
    lines = _read_lines(reader, data)
    scores = rank_texts(lines, question)
    return [lines[n] for n in sorted(range(len(lines)), key=lambda n: -scores[n])[:SHOWN]]


@cache
def _read_lines(reader: str, data: Path) -> list[str]:
    """The lines of all files as a reader gives them."""
    if reader in PEERS:
        files = sorted((data / "mixed_files" / reader).glob("*.txt"))
        texts = [file.read_text("utf-8", "replace") for file in files]
    else:
        texts = list(map(_read_own, sorted((data / FILES).iterdir())))
    return [line for text in texts for line in text.split("\n") if line.strip()]


def _read_own(file: Path) -> str:
    try:
        return read_body(file.read_bytes(), suffix=file.suffix.lower()).text
    except UnreadablePage:
        return ""


EVALUATION = Evaluation(
    title="Questions over four hundred mixed files",
    load=load,
    measure=measure,
    prepare=prepare,
    needs="mixed_files",
    score="right",
    tables=(
        Table(
            {"answer in": "kind", "half": "half"},
            {
                "n": size,
                "right": share("right"),
                "told and not right": share("wrong"),
                "evidence": share("evidence"),
                **{f"BM25, {name}": share(name) for name in ("ours", *PEERS)},
            },
            total=True,
        ),
    ),
    missed=lambda o: o.where if not o.right and o.half == "tune" else "",
)

if __name__ == "__main__":
    main("mixed_files")
