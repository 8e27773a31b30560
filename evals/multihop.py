"""Measures whether a strategy leads a reader to all passages that a multi-hop question needs.

`python -m evals.multihop [--data DIR] [--sample N]`: the two-hop and three-hop questions of
hotpotqa, 2wiki and musique, with all 23,445 passages as the web, through the product, and a
scripted model that follows what it reads (`evals.reader`). Beside each strategy stands a plain
search that reads as many pages as the strategy did.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.evidence import stop_words
from agent.search.corpus import MAX_CHUNKS, TITLE_WEIGHT, Corpus
from agent.search.terms import query_terms
from evals.extractive import HALVES, ROOT, contains_answer, half, questions
from evals.reader import Reader, relations

if TYPE_CHECKING:
    from agent.run import Run

SETS = ("hotpotqa", "2wiki", "musique")
HOPS = (2, 3)
PLAIN = "one plain search, 10 results"
#: The settings of each strategy.
ARMS: dict[str, dict[str, Any]] = {
    "slots, 2 rounds": {"strategy": "slots", "max_rounds": 2},
    "report, 2 rounds": {"strategy": "report"},
    "loop, 4 steps": {"strategy": "loop", "max_steps": 4},
}
DRAWS = 1000  # of the bootstrap


class Outcome(NamedTuple):
    """The result of one question in one arm."""

    dataset: str
    hops: int
    arm: str
    given_away: bool  # a gold answer stands in the question
    read: bool  # all gold passages were read
    status: str  # of the answer; "" for a plain search
    asked: int
    searches: int
    pages: int
    tokens: int  # of all prompts


def ask(question: dict[str, Any], corpus: Path, work: Path, arms: Sequence[str]) -> list[Outcome]:
    """Run one question in some arms, and by plain searches of the same size."""
    made = [_run_arm(question, arm, corpus, work) for arm in arms]
    index = Corpus(corpus, work)
    urls = plain_search(index, question["question"])
    index.close()
    sizes = {PLAIN: 10, **{f"plain search, pages as in {o.arm}": o.pages for o in made}}
    plain = [
        _build_outcome(question, name, urls[:n], "", (0, 1, n, 0)) for name, n in sizes.items()
    ]
    return [*plain, *made]


def plain_search(index: Corpus, question: str) -> list[str]:
    """All that a search of the corpus ranks, beyond the ten hits that it gives."""
    terms = query_terms(question, stop_words())
    return [match.url for match in index._index.search(terms, TITLE_WEIGHT, MAX_CHUNKS)]


def _run_arm(question: dict[str, Any], arm: str, corpus: Path, work: Path) -> Outcome:
    reader = Reader(question["question"].strip(), relations(question))
    run = run_reader(question, reader, corpus, work, ARMS[arm])
    used = run.answer().usage
    spent = (used.llm_calls, used.searches, used.pages, used.input_tokens)
    urls = [source.page.url for source in run.research.sources]
    return _build_outcome(question, arm, urls, run.answer().status, spent)


def run_reader(
    question: dict[str, Any], reader: Reader, corpus: Path, work: Path, arm: dict[str, Any]
) -> Run:
    """Run a question through the product, with a scripted model and a corpus as the web."""
    from agent.outside.journal import Journal
    from agent.run import Run
    from agent.run.parts import make_parts
    from agent.run.request import requested_slots
    from agent.run.sources import open_sources
    from agent.settings import Settings

    folders = {"corpus": corpus, "cache_dir": work, "runs_dir": work / "runs"}
    settings = Settings(**folders, patience=60.0, **arm)  # a busy machine changes no figure
    header = {"run": "eval", "topic": question["question"].strip(), "at": "2026-01-01T00:00:00Z"}
    journal = Journal({**header, "strategy": settings.strategy})
    parts = make_parts(settings, journal, [reader], open_sources(settings))
    run = Run(parts, requested_slots(settings))
    for _ in run:
        pass
    return run


def _build_outcome(
    question: dict[str, Any],
    arm: str,
    urls: Sequence[str],
    status: str,
    spent: tuple[int, int, int, int],
) -> Outcome:
    gold = set(question["gold"])
    read = {url.rpartition("?id=")[2] for url in urls}
    given = contains_answer(question["question"], question["answers"])
    return Outcome(question["dataset"], len(gold), arm, given, gold <= read, status, *spent)


def measure(
    data: Path, sample: int | None = None, arms: Sequence[str] = tuple(ARMS)
) -> list[Outcome]:
    """Run all questions or a sample in some arms, on two processes with one index."""
    rows = [row for row in questions(data, SETS) if len(row["gold"]) in HOPS]
    if sample:
        rows = random.Random(1).sample(rows, sample)
    corpus = data.resolve() / "multihop/corpus.jsonl.gz"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        Corpus(corpus, work).close()
        with ProcessPoolExecutor(2) as pool:
            made = pool.map(partial(ask, corpus=corpus, work=work, arms=arms), rows, chunksize=8)
            return [outcome for outcomes in made for outcome in outcomes]


# --- the table ---------------------------------------------------------------------------------

HEAD = (
    "| questions | n | way | **all golds read** | interval of 95% | complete | abstained "
    "| model calls | searches | pages | prompt tokens |\n"
    f"|{'---|' * 11}"
)


def bootstrap_interval(values: Sequence[bool]) -> tuple[float, float]:
    """Return the percentile bootstrap interval of 95% of a mean."""
    draw = random.Random(0)
    means = sorted(mean(draw.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[DRAWS // 40], means[-DRAWS // 40 - 1]


def table(made: Sequence[Outcome]) -> Iterator[str]:
    """A row a data set, number of hops and arm; all two-hop questions first."""
    asked = [o for o in made if not o.given_away]
    groups = [("all of two hops", [o for o in asked if o.hops == 2])]
    for hops in HOPS:
        for name in SETS:
            rows = [o for o in asked if (o.dataset, o.hops) == (name, hops)]
            groups.append((f"{name}, {hops} hops", rows))
    groups.append(("answer stands in the question", [o for o in made if o.given_away]))
    for title, rows in groups:
        for arm in dict.fromkeys(o.arm for o in made):
            if own := [o for o in rows if o.arm == arm]:
                yield _row(title, arm, own)


def _row(title: str, arm: str, rows: Sequence[Outcome]) -> str:
    least, most = bootstrap_interval([o.read for o in rows])
    spent = (mean(getattr(o, name) for o in rows) for name in ("asked", "searches", "pages"))
    cells = [f"**{mean(o.read for o in rows):.1%}**", f"{least:.1%} to {most:.1%}"]
    for state in ("complete", "insufficient"):
        told = [o.status == state for o in rows if o.status]
        cells.append(f"{mean(told):.1%}" if told else "")
    cells += [f"{value:.1f}" for value in spent] + [f"{mean(o.tokens for o in rows):.0f}"]
    return f"| {title} | {len(rows)} | {arm} | {' | '.join(cells)} |"


NOTE = """
The model is scripted (`evals/reader.py`): it searches for the names that the shown passages give
and that have no page of their own yet, those of sentences that fit the question first, with the
words of the relations that the data set tells (2wiki, musique; hotpotqa tells none). It knows no
name that it has not read, and it never stops before its last step, so what is spent is the most.
So this says where a strategy leads a reader who follows what it reads, not how well a model
answers. *one plain search*: the first results for the question as given; *pages as in*: as many of
them as that strategy read for the same question. Questions in which a gold answer stands are rows
of their own."""


def report(made: Sequence[Outcome]) -> str:
    """The part of RESULTS.md."""
    return "\n".join([HEAD, *table(made), NOTE])


def auto_table(data: Path) -> str:
    """Render which strategy `--strategy auto` chooses for questions of one page, and of several."""
    intro = "`--strategy auto` sends questions that are known to need one page, or several, to:"
    from agent.strategies.choice import strategy_for_topic

    known = ("slots", "loop", "report")
    lines = [
        intro,
        "",
        f"| questions | half | n | {' | '.join(known)} |",
        "|---|---|---|---|---|---|",
    ]
    asked = questions(data, (*SETS, "nq", "xquad"))
    for side in reversed(HALVES):
        for name in (*SETS, "nq", "xquad"):
            own = [row for row in asked if (row["dataset"], half(row)) == (name, side)]
            sent = Counter(strategy_for_topic(row["question"], known).strategy for row in own)
            shares = " | ".join(f"{sent[to] / len(own):.1%}" for to in known)
            lines.append(f"| {name} | {side} | {len(own)} | {shares} |")
    why = (
        "nq and xquad need one page, the others two or more. Rules were written on the *tune* half."
    )
    return "\n".join([*lines, "", why])


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m evals.multihop")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--sample", type=int, help="so many questions, drawn at random")
    parser.add_argument("--arm", action="append", choices=[*ARMS], help="only this way to search")
    given = parser.parse_args()
    print(auto_table(given.data.resolve()), end="\n\n")
    print(report(measure(given.data.resolve(), given.sample, given.arm or tuple(ARMS))))


if __name__ == "__main__":
    main()
