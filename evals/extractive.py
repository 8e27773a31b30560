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
    language: str
    right: bool  # it is no abstention, and a gold answer stands in it
    baseline: bool  # it stands in the best BM25 sentences of the pages read, in as many words
    single: bool  # it stands in the single best of them
    cited: float  # share of the gold passages that are cited
    any_cited: bool
    precise: float | None  # share of the cited passages that are gold
    abstained: bool
    words: int
    seconds: float
    yes_or_no: bool
    given_away: bool  # a gold answer stands in the question
    status: str
    filled: float | None  # share of the slots that are filled


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
    gold, golds = set(question["gold"]), question["answers"]
    cited = {citation.url.rpartition("?id=")[2] for citation in answer.citations}
    abstained = answer.status not in ("complete", "partial")
    words = 0 if abstained else _count_words(answer.answer)
    ranked = rank_sentences([s.page.text for s in run.research.sources], question["question"])
    return Outcome(
        dataset=question["dataset"],
        half=half(question),
        language=str(question.get("sample", "")).partition(".")[2] or "en",
        right=not abstained and contains_answer(answer.answer, golds),
        baseline=contains_answer(take_words(ranked, words or max_words), golds),
        single=contains_answer("".join(ranked[:1]), golds),
        cited=len(cited & gold) / len(gold),
        any_cited=bool(cited & gold),
        precise=len(cited & gold) / len(cited) if cited else None,
        abstained=abstained,
        words=words,
        seconds=answer.usage.seconds,
        yes_or_no=normalize(golds[0]).strip() in ("yes", "no"),
        given_away=contains_answer(question["question"], golds),
        status=answer.status,
        filled=share_filled(answer),
    )


def _count_words(text: str) -> int:
    return len(re.sub(r"\[\d+\]", " ", text).split())


def share_filled(answer: Any) -> float | None:
    """The share of an answer's slots that are filled; None if it has no slots."""
    states = [slot.status for slot in answer.slots.values()]
    return states.count("filled") / len(states) if states else None


def rank_sentences(texts: Sequence[str], topic: str) -> list[str]:
    """The sentences of some pages by BM25 over all of them, best first: the baseline's order."""
    from agent.evidence import rank_texts, split_sentences

    pieces = [text[a:b] for text in texts for a, b in split_sentences(text)]
    scores = rank_texts(pieces, topic)
    order = sorted(range(len(pieces)), key=lambda i: -scores[i])
    return [pieces[i] for i in order]


def take_words(sentences: Sequence[str], words: int) -> str:
    """The first sentences, up to a number of words; the last one is cut."""
    return " ".join(" ".join(sentences).split()[:words])


def ask_all(asked: Sequence[dict[str, Any]], corpus: Path, work: Path, words: int) -> list[Outcome]:
    """Run all questions on two processes, after the index has been built once."""
    from agent.search.corpus import Corpus

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
    "| set | half | n | **right** | BM25 sentences, same words | best BM25 sentence "
    "| right, 40 words | complete | right of complete | partial | slots filled | gold cited "
    "| any gold cited | cited is gold | abstained | abstained, no gold | words |\n"
    f"|{'---|' * 17}"
)


def table(full: list[Outcome], short: list[Outcome], bare: list[Outcome]) -> Iterator[str]:
    """The rows: one a data set and half, and one of the questions that give the answer away."""
    for side in reversed(HALVES):
        for dataset in SETS:
            where = [
                i
                for i, o in enumerate(full)
                if (o.dataset, o.half) == (dataset, side) and not o.given_away
            ]
            yield _row(f"{dataset} | {side}", *([o[i] for i in where] for o in (full, short, bare)))
        given = [i for i, o in enumerate(full) if o.half == side and o.given_away]
        name = f"answer stands in the question | {side}"
        yield _row(name, *([o[i] for i in given] for o in (full, short, bare)))


LANGUAGE_HEAD = (
    "| xquad in | half | n | **right** | BM25 sentences, same words | best BM25 sentence "
    f"| abstained | abstained, no gold |\n|{'---|' * 8}"
)


def language_table(full: list[Outcome], bare: list[Outcome]) -> Iterator[str]:
    """A row a language and half of xquad."""
    told = sorted({(o.language, o.half) for o in full if o.dataset == "xquad"})
    for language, side in told:
        own = [o for o in full if (o.dataset, o.language, o.half) == ("xquad", language, side)]
        away = [
            o
            for o in bare
            if (o.dataset, o.language, o.half) == ("xquad", language, side) and not o.right
        ]
        shares = ([o.baseline for o in own], [o.single for o in own], [o.abstained for o in own])
        cells = [_mean([o.right for o in own]), *map(_mean, shares)]
        cells.append(_mean([o.abstained for o in away]))
        yield f"| {language} | {side} | {len(own)} | {' | '.join(f'{c:.1%}' for c in cells)} |"


def _row(name: str, full: list[Outcome], short: list[Outcome], bare: list[Outcome]) -> str:
    complete = [o for o in full if o.status == "complete"]
    shares = (
        [o.baseline for o in full],
        [o.single for o in full],
        [o.right for o in short],
        [o.status == "complete" for o in full],
        [o.right for o in complete],
        [o.status == "partial" for o in full],
        [o.filled for o in full if o.filled is not None],
        [o.cited for o in full],
        [o.any_cited for o in full],
        [o.precise for o in full if o.precise is not None],
        [o.abstained for o in full],
        [o.abstained for o in bare if not o.right],
    )
    cells = [f"**{_mean([o.right for o in full]):.1%}**", *(f"{_mean(s):.1%}" for s in shares)]
    cells.append(f"{_mean([o.words for o in full if not o.abstained]):.0f}")
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
            LANGUAGE_HEAD,
            *language_table(full, bare),
            "",
            "*right*: the answer is no abstention, and a gold answer stands in it (at most 80",
            "words; case, articles and punctuation aside; whole words). *BM25 sentences, same",
            "words*: the best sentences of the pages that the same run read, up to as many words",
            "as the answer has, or up to 80 where it abstained. *complete*, *partial*: the status",
            "that the answer has. *slots filled*: mean share. *abstained, no gold*: the corpus",
            "without the gold passages of all questions; runs that gave a gold answer all the",
            "same left out. Questions in which a gold answer stands (of two films, which ...?)",
            "are rows of their own: an answer that repeats the question is right there.",
            "*words*: mean length of the answers given. Weights and thresholds were found by",
            "hand-made sweeps on the *tune* half alone.",
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
