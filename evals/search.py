"""How many of the passages that a question needs a search of the corpus finds.

The questions of several data sets over all 23,445 passages, each searched as it is asked. *recall*:
of the passages that the question needs, those among the first ten hits; *all*: every one is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agent.search.corpus import Corpus
from evals.harness import Bench, Evaluation, Table, main, share, size
from evals.questions import CORPUS, load_questions, passage_id

HITS = 10


class Outcome(NamedTuple):
    """Of the passages that a question needs, the share that was found."""

    question: dict[str, Any]
    recall: float

    @property
    def right(self) -> bool:
        return self.recall == 1

    @property
    def half(self) -> str:
        return str(self.question["half"])


def prepare(_: Sequence[Any], bench: Bench) -> None:
    """Build the index."""
    bench.open_index(bench.data / CORPUS)


def measure(question: dict[str, Any], bench: Bench) -> Iterator[Outcome]:
    """Search for one question."""
    corpus = Corpus(bench.data / CORPUS, bench.work)
    try:
        hits = corpus.search(question["question"])[:HITS]
    finally:
        corpus.close()
    found = {passage_id(hit.url) for hit in hits}
    gold = set(question["gold"])
    yield Outcome(question, len(gold & found) / len(gold))


EVALUATION = Evaluation(
    title="Passages that a search finds",
    load=lambda data: load_questions(data, "hotpotqa", "nq", "2wiki", "musique"),
    prepare=prepare,
    measure=measure,
    needs="multihop",
    tables=(
        Table(
            {"set": lambda one: one.question["dataset"], "half": "half"},
            {"n": size, "recall": share("recall"), "all": share("right")},
            total=True,
        ),
    ),
)

if __name__ == "__main__":
    main("search")
