"""Measures how many questions of several hops are answered right, and for how many tokens.

`python -m evals.reading [--data DIR] [--half tune]`: sixty questions of one half, drawn by the
SHA-1 of their ids, and forty of one hop, through the product with a scripted model that only reads
(`evals/honest_reader.py`). The web is all 23,445 passages as pages, or long pages: each passage
that a question needs among others on a page of about 20,000 words.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, NamedTuple

from agent.search.corpus import Corpus
from evals.extractive import HALVES, ROOT, contains_answer, half, questions
from evals.honest_reader import HonestReader, make_key, make_steps
from evals.multihop import ARMS, run_reader

SEVERAL_HOPS = {"hotpotqa": 37, "2wiki": 7, "musique": 16}
ONE_HOP = {"nq": 40}
ONE_HOP_ARM = "slots, 2 rounds"
READERS = ("names", "sub-questions")
WEBS = ("short pages", "long pages")
SKIPPED = {("long pages", "sub-questions")}  # unless alone: the same reader on both tells enough
PAGE_WORDS = 20_000
#: Why a question is not answered right, in the order in which it can happen.
CAUSES = ("not found", "not read", "not shown", "lost")
Passages = Mapping[str, Mapping[str, str]]


class Row(NamedTuple):
    """The result of one question in one arm. Calls and tokens are those before the judge."""

    dataset: str
    web: str
    reader: str
    arm: str
    cause: str  # one of `CAUSES`; "" if the answer is right
    calls: int
    tokens: int
    judge_calls: int
    judge_tokens: int
    pages: int


def draw_questions(data: Path, side: str, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Of each data set so many questions of a half, the first ones by the SHA-1 of their ids."""
    rows = [row for row in questions(data, tuple(sizes)) if half(row) == side]
    rows.sort(key=lambda row: hashlib.sha1(row["id"].encode()).hexdigest())
    return [
        row
        for name, size in sizes.items()
        for row in [r for r in rows if r["dataset"] == name][:size]
    ]


def load_passages(data: Path) -> Passages:
    """All passages by their id."""
    with gzip.open(data / "multihop/corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {row["id"]: row for row in map(json.loads, lines)}


def long_page(gold: str, passages: Passages, others: Sequence[str], words: int) -> str:
    """A page with a passage among others, which its id draws, as it draws where it stands."""
    draw = Random(gold)
    parts, left = [gold], words
    for other in draw.sample(others, len(others)):
        if left <= 0:
            break
        parts.append(other)
        left -= len(passages[other]["text"].split())
    draw.shuffle(parts)
    return "\n\n".join(f"## {passages[p]['title']}\n\n{passages[p]['text']}" for p in parts)


def write_long_pages(
    asked: Sequence[Mapping[str, Any]], passages: Passages, target: Path, words: int = PAGE_WORDS
) -> Path:
    """Write a corpus of one long page for each passage that a question needs."""
    golds = list(dict.fromkeys(gold for question in asked for gold in question["gold"]))
    others = sorted(passages.keys() - set(golds))
    with target.open("w", encoding="utf-8") as out:
        for gold in golds:
            text = long_page(gold, passages, others, words)
            row = {"id": gold, "title": passages[gold]["title"], "text": text}
            out.write(f"{json.dumps(row, ensure_ascii=False)}\n")
    return target


class Trial(NamedTuple):
    """A question, and how it is asked."""

    question: Mapping[str, Any]
    golds: Passages
    web: str
    reader: str
    arm: str


def ask(trial: Trial, webs: Mapping[str, Path], work: Path) -> Row:
    """Run one question with the product."""
    question = dict(trial.question)
    steps = make_steps(question) if trial.reader == "sub-questions" else ()
    reader = HonestReader(question["question"].strip(), make_key(question, trial.golds), steps)
    run = run_reader(question, reader, webs[trial.web], work, ARMS[trial.arm])
    answer, research = run.answer(), run.research
    is_given = answer.status in ("complete", "partial")
    is_right = is_given and contains_answer(answer.answer, question["answers"])
    read = {_passage_id(source.page.url) for source in research.sources}
    found = read | {_passage_id(hit.url) for hit in research.hits.values()}
    asked = [tokens for task, tokens in reader.spent if task != "verify"]
    judged = [tokens for task, tokens in reader.spent if task == "verify"]
    return Row(
        dataset=question["dataset"],
        web=trial.web,
        reader=trial.reader,
        arm=trial.arm,
        cause="" if is_right else _find_cause(reader, set(question["gold"]), found, read),
        calls=len(asked),
        tokens=sum(asked),
        judge_calls=len(judged),
        judge_tokens=sum(judged),
        pages=answer.usage.pages,
    )


def _passage_id(url: str) -> str:
    return url.rpartition("?id=")[2]


def _find_cause(reader: HonestReader, gold: set[str], found: set[str], read: set[str]) -> str:
    if reader.has_answered:
        return "lost"
    if gold <= read:
        return "not shown"
    return "not read" if gold <= found else "not found"


def make_trials(
    data: Path, passages: Passages, side: str, webs: Sequence[str], readers: Sequence[str]
) -> list[Trial]:
    """Every question in every arm; those of one hop, and the second reader's, not in all."""
    several, single = (draw_questions(data, side, sizes) for sizes in (SEVERAL_HOPS, ONE_HOP))
    ways = [(web, reader) for web in webs for reader in readers]
    ways = [way for way in ways if way not in SKIPPED] or ways
    asked = [(q, web, reader, arm) for web, reader in ways for arm in ARMS for q in several]
    asked += [(q, web, readers[0], ONE_HOP_ARM) for web in webs for q in single]
    return [Trial(q, {g: passages[g] for g in q["gold"]}, *way) for q, *way in asked]


def measure(
    data: Path,
    side: str = HALVES[1],
    webs: Sequence[str] = WEBS,
    readers: Sequence[str] = READERS,
) -> list[Row]:
    """Run all trials on two processes, after the indexes have been built once."""
    passages = load_passages(data)
    trials = make_trials(data, passages, side, webs, readers)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        long = write_long_pages([t.question for t in trials], passages, work / "long.jsonl")
        paths = dict(zip(WEBS, (data.resolve() / "multihop/corpus.jsonl.gz", long), strict=True))
        for web in webs:
            Corpus(paths[web], work).close()
        with ProcessPoolExecutor(2) as pool:
            return list(pool.map(partial(ask, webs=paths, work=work), trials, chunksize=4))


# --- the table ---------------------------------------------------------------------------------

HEAD = (
    "| questions | pages | reader | way | n | **right** | tokens a question "
    "| **tokens a right answer** | model calls | judge: calls | judge: tokens "
    f"| pages read | {' | '.join(CAUSES)} |\n|{'---|' * (12 + len(CAUSES))}"
)
NOTE = """
*reader*: a scripted model that only reads (`evals/honest_reader.py`). It answers once a prompt
shows, of each passage that the question needs, a sentence that tells, and it searches for the names
that it read; the one of *sub-questions* also asks what the data set breaks the question into
(2wiki, musique), with the names that it has read. *right*: a gold answer stands in what is
delivered, and it is no abstention. Tokens are those of prompts, without the judge's, whose calls
stand apart. What is wrong is *not found* (a passage that is needed
is in no list of hits), *not read* (it is, and was not read), *not shown* (it was read, and no
prompt showed what it tells) or *lost* (the reader answered, and the answer was not delivered).
The judge knows what is right. On *long pages* each passage that is needed stands among others on a
page of about 20,000 words, which has its title."""


def table(made: Sequence[Row]) -> Iterator[str]:
    """A row for each kind of page, reader and arm; questions of one hop, and data sets, apart."""
    single = [row for row in made if row.dataset in ONE_HOP]
    kinds = {
        "several hops": [row for row in made if row.dataset in SEVERAL_HOPS],
        "one hop (nq)": single,
        "one hop (nq), those right": [row for row in single if not row.cause],
        **{name: [row for row in made if row.dataset == name] for name in SEVERAL_HOPS},
    }
    for title, rows in kinds.items():
        for key in dict.fromkeys((row.web, row.reader, row.arm) for row in rows):
            own = [row for row in rows if (row.web, row.reader, row.arm) == key]
            yield f"| {title} | {' | '.join(key)} | {_cells(own)} |"


def _cells(own: Sequence[Row]) -> str:
    causes = Counter(row.cause for row in own)
    cells = [
        f"{len(own)}",
        f"**{causes['']}**",
        f"{mean(row.tokens for row in own):,.0f}",
        f"**{sum(row.tokens for row in own) / max(1, causes['']):,.0f}**",
        f"{mean(row.calls for row in own):.2f}",
        f"{mean(row.judge_calls for row in own):.2f}",
        f"{mean(row.judge_tokens for row in own):,.0f}",
        f"{mean(row.pages for row in own):.1f}",
    ]
    return " | ".join([*cells, *(f"{causes[cause]}" for cause in CAUSES)])


def report(made: Sequence[Row]) -> str:
    """The part of RESULTS.md."""
    return "\n".join([HEAD, *table(made), NOTE])


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m evals.reading")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--half", choices=HALVES, default=HALVES[1])
    parser.add_argument("--pages", choices=("short", "long"), help="these alone")
    parser.add_argument("--reader", choices=READERS, help="this one alone")
    given = parser.parse_args()
    webs = [f"{given.pages} pages"] if given.pages else WEBS
    readers = [given.reader] if given.reader else READERS
    print(report(measure(given.data.resolve(), given.half, webs, readers)))


if __name__ == "__main__":
    main()
