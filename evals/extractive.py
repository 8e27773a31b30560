"""Whether the engine without a model answers questions that it was not tuned on, and knows it.

The questions of five sets, with all 23,445 passages as the web, and again without the passages that
answer. *right*: the answer is no abstention, and a gold answer stands in it (at most 80 words;
case, articles and punctuation aside; whole words). *first*: it stands in the first sentence. *BM25
sentences, same words*: the best sentences of the pages that the same run read, up to as many words
as the answer has, or up to 80 where it abstained. *told and not right*: of all questions. *surest*:
of the answers that are told, with the page and without, so many have the highest confidence; and
how many of these are wrong. Questions in which a gold answer stands (of two films, which ...?) are
rows of their own: an answer that repeats the question is right there. Weights and thresholds were
fitted to the *tune* half alone. A yes or no, which quotes cannot give, counts as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evals.harness import Bench, Evaluation, Table, average, interval, main, risk, share, size
from evals.questions import (
    CORPUS,
    contains_answer,
    load_questions,
    rank_sentences,
    take_words,
    write_corpus_without_gold,
)

MAX_WORDS = 80
BARE = "bare.jsonl"  # the corpus without the passages that answer
WORLDS = {"with the page": CORPUS, "without it": BARE}


class Outcome(NamedTuple):
    """The result of one question in one world."""

    question: dict[str, Any]
    world: str
    status: str
    answer: str
    confidence: float
    right: bool  # it is no abstention, and a gold answer stands in it
    first: bool  # a gold answer stands in its first sentence
    baseline: bool  # it stands in the best BM25 sentences of the pages read, in as many words
    words: int | None  # None: it abstained

    @property
    def set(self) -> str:
        """The data set; questions that give their answer away are one of their own."""
        given = contains_answer(self.question["question"], self.question["answers"])
        return "answer stands in the question" if given else str(self.question["dataset"])

    @property
    def half(self) -> str:
        return str(self.question["half"])

    @property
    def wrong(self) -> bool:
        """Whether something is told that is not right."""
        return self.words is not None and not self.right


def prepare(questions: Sequence[Any], bench: Bench) -> None:
    """Write the corpus without answers, and build both indexes."""
    write_corpus_without_gold(questions, bench.data, bench.work / BARE)
    bench.open_index(bench.data / CORPUS, bench.work / BARE)


def measure(question: dict[str, Any], bench: Bench) -> Iterator[Outcome]:
    """Ask a question with and without the pages that answer it."""
    golds = question["answers"]
    for world, corpus in WORLDS.items():
        folder = bench.data if corpus == CORPUS else bench.work
        run = bench.run(question["question"], folder / corpus)
        answer = run.answer()
        told = len(re.sub(r"\[\d+\]", " ", answer.answer).split())
        ranked = rank_sentences([s.page.text for s in run.research.sources], question["question"])
        most = told if answer.claims else MAX_WORDS
        yield Outcome(
            question=question,
            world=world,
            status=answer.status,
            answer=answer.answer,
            confidence=answer.confidence or 0.0,
            right=is_right(answer, golds),
            first=contains_answer("".join(c.text for c in answer.claims[:1]), golds),
            baseline=contains_answer(take_words(ranked, most), golds),
            words=None if abstains(answer) else told,
        )


def abstains(answer: Any) -> bool:
    """Whether it is no answer."""
    return answer.status not in ("complete", "partial")


def is_right(answer: Any, golds: Sequence[str]) -> bool:
    """Whether it is an answer in which a gold answer stands."""
    return not abstains(answer) and contains_answer(answer.answer, golds)


def _is(status: str) -> Any:
    return lambda outcome: outcome.status == status


def _has_page(outcome: Outcome) -> bool:
    return outcome.world == "with the page"


KEYS = {"set": "set", "half": "half"}
EVALUATION = Evaluation(
    title="Answers without a model: short passages",
    load=lambda data: load_questions(data, "hotpotqa", "nq", "xquad", "2wiki", "musique"),
    prepare=prepare,
    measure=measure,
    needs="multihop",
    score=lambda outcome: outcome.right if _has_page(outcome) else None,
    tables=(
        Table(
            KEYS,
            {
                "n": size,
                "**right**, interval of 95%": interval("right"),
                "BM25 sentences, same words": share("baseline"),
                "first of those right": share(lambda o: o.first if o.right else None),
                "complete": share(_is("complete")),
                "right of complete": share(lambda o: o.right if o.status == "complete" else None),
                "partial": share(_is("partial")),
                "abstained": share(lambda o: o.words is None),
                "words": average("words", ".0f"),
            },
            total=True,
            where=_has_page,
        ),
        Table(
            KEYS,
            {
                "n, without the page": size,
                "**told and not right**": share("wrong"),
                "complete and not right": share(lambda o: o.wrong and o.status == "complete"),
                "abstained": share(lambda o: o.words is None),
            },
            total=True,
            where=lambda o: not _has_page(o),
        ),
        Table(KEYS, risk("confidence", "wrong"), total=True, where=lambda o: o.words is not None),
    ),
    missed=lambda o: (
        f"{o.question['question']} = {o.question['answers']}\n   {o.answer}"
        if o.half == "tune" and _has_page(o) and not o.right
        else ""
    ),
)

if __name__ == "__main__":
    main("extractive")
