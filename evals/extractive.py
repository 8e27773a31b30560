"""Whether the engine without a model answers questions that it was not tuned on.

The questions of hotpotqa, nq and xquad, with all 23,445 passages as the web, and again without the
passages that answer. *right*: the answer is no abstention, and a gold answer stands in it (at most
80 words; case, articles and punctuation aside; whole words). *BM25 sentences, same words*: the best
sentences of the pages that the same run read, up to as many words as the answer has, or up to 80
where it abstained. *complete*, *partial*: the status of the answer. *slots filled*: mean share.
*abstained, no gold*: without the passages that answer; runs that gave a gold answer all the same
left out. Questions in which a gold answer stands (of two films, which ...?) are rows of their own:
an answer that repeats the question is right there. Weights and thresholds were found by hand-made
sweeps on the *tune* half alone. A yes or no, which quotes cannot give, counts as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evals.harness import Bench, Evaluation, Table, average, interval, main, share, size
from evals.questions import (
    CORPUS,
    contains_answer,
    load_questions,
    normalize,
    passage_id,
    rank_sentences,
    take_words,
    write_corpus_without_gold,
)

MAX_WORDS = 80
BARE = "bare.jsonl"  # the corpus without the passages that answer


class Outcome(NamedTuple):
    """The result of one question."""

    question: dict[str, Any]
    answer: str
    status: str
    right: bool  # it is no abstention, and a gold answer stands in it
    baseline: bool  # it stands in the best BM25 sentences of the pages read, in as many words
    single: bool  # it stands in the single best of them
    cited: float  # share of the gold passages that are cited
    precise: float | None  # share of the cited passages that are gold
    filled: float | None  # share of the slots that are filled
    words: int | None  # None: it abstained
    bare: bool | None  # it abstained without the gold passages; None: it was right all the same

    @property
    def set(self) -> str:
        """The data set; questions that give their answer away are one of their own."""
        given = contains_answer(self.question["question"], self.question["answers"])
        return "answer stands in the question" if given else str(self.question["dataset"])

    @property
    def yes_or_no(self) -> bool:
        """Whether a yes or no is asked for, which quotes cannot give."""
        return normalize(self.question["answers"][0]).strip() in ("yes", "no")


def prepare(questions: Sequence[Any], bench: Bench) -> None:
    """Write the corpus without answers, and build both indexes."""
    write_corpus_without_gold(questions, bench.data, bench.work / BARE)
    bench.open_index(bench.data / CORPUS, bench.work / BARE)


def measure(question: dict[str, Any], bench: Bench) -> Iterator[Outcome]:
    """Ask a question with and without the passages that answer it."""
    golds, gold = question["answers"], set(question["gold"])
    run = bench.run(question["question"], bench.data / CORPUS)
    bare = bench.run(question["question"], bench.work / BARE).answer()
    answer = run.answer()
    cited = {passage_id(citation.url) for citation in answer.citations}
    words = None if abstains(answer) else len(re.sub(r"\[\d+\]", " ", answer.answer).split())
    ranked = rank_sentences([s.page.text for s in run.research.sources], question["question"])
    yield Outcome(
        question=question,
        answer=answer.answer,
        status=answer.status,
        right=is_right(answer, golds),
        baseline=contains_answer(take_words(ranked, words or MAX_WORDS), golds),
        single=contains_answer("".join(ranked[:1]), golds),
        cited=len(cited & gold) / len(gold),
        precise=len(cited & gold) / len(cited) if cited else None,
        filled=share_filled(answer),
        words=words,
        bare=None if is_right(bare, golds) else abstains(bare),
    )


def abstains(answer: Any) -> bool:
    """Whether it is no answer."""
    return answer.status not in ("complete", "partial")


def is_right(answer: Any, golds: Sequence[str]) -> bool:
    """Whether it is an answer in which a gold answer stands."""
    return not abstains(answer) and contains_answer(answer.answer, golds)


def share_filled(answer: Any) -> float | None:
    """The share of an answer's slots that are filled; None if it has no slots."""
    states = [slot.status for slot in answer.slots.values()]
    return states.count("filled") / len(states) if states else None


def _is(status: str) -> Any:
    return lambda outcome: outcome.status == status


EVALUATION = Evaluation(
    title="Answers without a model: short passages",
    load=lambda data: load_questions(data, "hotpotqa", "nq", "xquad"),
    prepare=prepare,
    measure=measure,
    needs="multihop",
    tables=(
        Table(
            {"set": "set", "half": lambda o: o.question["half"]},
            {
                "n": size,
                "**right**, interval of 95%": interval("right"),
                "BM25 sentences, same words": share("baseline"),
                "best BM25 sentence": share("single"),
                "complete": share(_is("complete")),
                "right of complete": share(lambda o: o.right if o.status == "complete" else None),
                "partial": share(_is("partial")),
                "slots filled": share("filled"),
                "gold cited": share("cited"),
                "any gold cited": share(lambda o: o.cited > 0),
                "cited is gold": share("precise"),
                "abstained": share(lambda o: o.words is None),
                "abstained, no gold": share("bare"),
                "words": average("words", ".0f"),
                "a yes or no is asked": share("yes_or_no"),
            },
            total=True,
        ),
    ),
    missed=lambda o: (
        f"{o.question['question']} = {o.question['answers']}\n   {o.answer}"
        if o.question["half"] == "tune" and not o.right
        else ""
    ),
)

if __name__ == "__main__":
    main("extractive")
