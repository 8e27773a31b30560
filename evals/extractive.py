"""How good the extractive engine is on questions that it was not tuned on.

`python -m evals.extractive [--data DIR]`: the questions of hotpotqa, nq and xquad,
with all 23,445 passages as the web, through the same path as the product (`agent.run.research`).
The questions are split by the SHA-1 of their id; weights were found on the `tune` half alone.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SETS = ("hotpotqa", "nq", "xquad")
HALVES = ("tune", "report")


class Outcome(NamedTuple):
    """The result of one question."""

    dataset: str
    half: str
    right: bool  # a gold answer stands in the answer
    baseline: bool  # it stands in the single best BM25 sentence of the pages that were read
    cited: float  # share of the gold passages that are cited
    any_cited: bool
    precise: float | None  # share of the cited passages that are gold
    abstained: bool
    words: int
    seconds: float
    yes_or_no: bool


def half(question: dict[str, Any]) -> str:
    """Which half a question belongs to."""
    return HALVES[hashlib.sha1(question["id"].encode()).digest()[0] % 2]


def questions(data: Path, sets: Sequence[str] = SETS) -> list[dict[str, Any]]:
    """The questions of some data sets."""
    with (data / "multihop/questions.dev.jsonl").open(encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row["dataset"] in sets]


def normalize(text: str) -> str:
    """Normalize a text: no case, punctuation or articles; a blank on either side of each word."""
    plain = "".join(char if char.isalnum() else " " for char in text.lower())
    return f" {' '.join(word for word in plain.split() if word not in ('a', 'an', 'the'))} "


def contains_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether one of the gold answers stands in a text, at the borders of words."""
    normalized = normalize(re.sub(r"\[\d+\]", " ", text))
    return any(normalize(answer).strip() and normalize(answer) in normalized for answer in answers)


def ask(question: dict[str, Any], corpus: Path, work: Path, max_words: int) -> Outcome:
    """Run one question with the product."""
    from agent.run import research
    from agent.settings import Settings

    settings = Settings(
        offline=True, corpus=corpus, cache_dir=work, runs_dir=work / "runs", max_words=max_words
    )
    run = research(question["question"], settings)
    for _ in run:
        pass
    answer = run.answer()
    ids = {
        source.page.url: source.page.url.rpartition("?id=")[2] for source in run.research.sources
    }
    gold = set(question["gold"])
    cited = {ids.get(citation.url, "") for citation in answer.citations}
    return Outcome(
        dataset=question["dataset"],
        half=half(question),
        right=contains_answer(answer.answer, question["answers"]),
        baseline=contains_answer(_best_sentence(run, question["question"]), question["answers"]),
        cited=len(cited & gold) / len(gold),
        any_cited=bool(cited & gold),
        precise=len(cited & gold) / len(cited) if cited else None,
        abstained=answer.status == "insufficient",
        words=len(re.sub(r"\[\d+\]", " ", answer.answer).split()) if answer.citations else 0,
        seconds=answer.usage.seconds,
        yes_or_no=normalize(question["answers"][0]).strip() in ("yes", "no"),
    )


def _best_sentence(run: Any, topic: str) -> str:
    """The baseline: the single best sentence by BM25 over all sentences of the pages read."""
    from agent.evidence import rank_texts, split_sentences

    pages = [source.page.text for source in run.research.sources]
    pieces = [text[a:b] for text in pages for a, b in split_sentences(text)]
    scores = rank_texts(pieces, topic)
    return pieces[scores.index(max(scores))] if pieces else ""


def ask_all(asked: Sequence[dict[str, Any]], corpus: Path, work: Path, words: int) -> list[Outcome]:
    """Run all questions on two processes, after the index has been built once."""
    from agent.sources.search.corpus import Corpus

    Corpus(corpus, work).close()
    one = partial(ask, corpus=corpus, work=work, max_words=words)
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(one, asked, chunksize=8))


def write_corpus_without_gold(asked: Sequence[dict[str, Any]], corpus: Path, target: Path) -> Path:
    """The corpus without any passage that answers a question."""
    gold = {passage for question in asked for passage in question["gold"]}
    with (
        gzip.open(corpus, "rt", encoding="utf-8") as rows,
        target.open("w", encoding="utf-8") as out,
    ):
        for line in rows:
            if json.loads(line)["id"] not in gold:
                out.write(line)
    return target


# --- the table ---------------------------------------------------------------------------------

HEAD = (
    "| set | half | n | **right** | best BM25 sentence | right, 40 words | gold cited "
    "| any gold cited | cited is gold | abstained | abstained, no gold | words |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def table(full: list[Outcome], short: list[Outcome], bare: list[Outcome]) -> Iterator[str]:
    """The rows: one a data set and half."""
    for side in reversed(HALVES):
        for dataset in SETS:
            picked = [i for i, o in enumerate(full) if (o.dataset, o.half) == (dataset, side)]
            yield _row(
                f"{dataset} | {side}", *([o[i] for i in picked] for o in (full, short, bare))
            )


def _row(name: str, full: list[Outcome], short: list[Outcome], bare: list[Outcome]) -> str:
    precise = [o.precise for o in full if o.precise is not None]
    cells = [
        f"**{_mean([o.right for o in full]):.1%}**",
        f"{_mean([o.baseline for o in full]):.1%}",
        f"{_mean([o.right for o in short]):.1%}",
        f"{_mean([o.cited for o in full]):.1%}",
        f"{_mean([o.any_cited for o in full]):.1%}",
        f"{_mean(precise):.1%}",
        f"{_mean([o.abstained for o in full]):.1%}",
        f"{_mean([o.abstained for o in bare if not o.right]):.1%}",
        f"{_mean([o.words for o in full if not o.abstained]):.0f}",
    ]
    return f"| {name} | {len(full)} | {' | '.join(cells)} |"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def report(full: list[Outcome], short: list[Outcome], bare: list[Outcome]) -> str:
    """The part of RESULTS.md."""
    polar = sum(o.yes_or_no for o in full if o.half == "report")
    seconds = sorted(o.seconds for o in full)[len(full) // 2]
    return "\n".join(
        [
            HEAD,
            *table(full, short, bare),
            "",
            "*right*: a gold answer stands in the answer (at most 80 words; case, articles and",
            "punctuation aside; whole words). *best BM25 sentence*: it stands in the best single",
            "sentence of the pages that the same run read. *abstained, no gold*: the corpus",
            "without the gold passages of all questions; runs that gave a gold answer all the",
            "same left out. *words*: mean length of the answers given. Weights and thresholds",
            "were found by hand-made sweeps on the *tune* half alone.",
            f"Questions for a yes or no, which quotes cannot give: {polar} of the report half, all",
            f"in hotpotqa, counted as wrong. Median time of a run: {seconds:.2f} s.",
        ]
    )


def measure(data: Path) -> tuple[list[Outcome], list[Outcome], list[Outcome]]:
    """All questions: with 80 words, with 40, and with 80 but no passage that answers."""
    asked = questions(data)
    corpus = data.resolve() / "multihop/corpus.jsonl.gz"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        bare = write_corpus_without_gold(asked, corpus, work / "bare.jsonl")
        full = ask_all(asked, corpus, work, 80)
        return full, ask_all(asked, corpus, work, 40), ask_all(asked, bare, work, 80)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m evals.extractive")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    print(report(*measure(parser.parse_args().data)))


if __name__ == "__main__":
    main()
