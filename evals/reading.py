"""How many questions of several hops each strategy answers right, and for how many tokens.

Sixty questions of each half of hotpotqa, 2wiki and musique, drawn by the SHA-1 of their ids, and
forty of one hop; half of the sixty, on short pages, with every strategy; and all that a half has of
several hops, on short pages by their sub-questions, since sixty are few. *reader*: a scripted model
that only reads (`evals/reader.py`). It answers once a prompt shows, of each passage that the
question needs, a sentence that tells, and it searches for the *names* that it has read, or asks the
*sub-questions* that the data set tells. *right*: a gold answer stands in what is delivered, and it
is no abstention. Tokens are those of prompts, without the judge's, whose calls stand apart; the
judge knows what is right. What is wrong is *not found* (a passage that is needed is in no list of
hits), *not read* (it is, and was not read), *not shown* (it was read, and no prompt showed what it
tells) or *lost* (the reader answered, and the answer was not delivered). The web is all 23,445
passages as *short pages*, or *long pages*: each passage that is needed among others on a page of
about 20,000 words, which has its title.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from evals.harness import (
    HALVES,
    Bench,
    Cell,
    Evaluation,
    Table,
    average,
    count,
    draw,
    main,
    size,
    write_rows,
)
from evals.questions import (
    CORPUS,
    Passages,
    contains_answer,
    load_passages,
    load_questions,
    passage_id,
)
from evals.reader import HonestReader, make_key, make_steps
from evals.scripted import run_scripted

SEVERAL_HOPS = {"hotpotqa": 37, "2wiki": 7, "musique": 16}
SHARED = {"hotpotqa": 19, "2wiki": 3, "musique": 8}  # those of them that every strategy is asked
ONE_HOP = {"nq": 40}
#: The settings of each strategy.
ARMS: dict[str, dict[str, Any]] = {
    "slots, 2 rounds": {"strategy": "slots", "max_rounds": 2},
    "report, 2 rounds": {"strategy": "report"},
    "loop, 4 steps": {"strategy": "loop", "max_steps": 4},
}
#: Pages and reader. Questions of one hop, which have no parts, are left out of the last way, in
#: which the other strategies are asked too.
WAYS = (("short pages", "names"), ("long pages", "sub-questions"), ("short pages", "sub-questions"))
LONG = "long.jsonl"
PAGE_WORDS = 20_000


class Trial(NamedTuple):
    """A question, and how it is asked."""

    question: Mapping[str, Any]
    golds: Passages
    web: str
    reader: str
    arm: str
    further: bool = False  # beyond the sixty

    @property
    def half(self) -> str:
        return str(self.question["half"])

    @property
    def hops(self) -> str:
        return "one hop (nq)" if self.question["dataset"] in ONE_HOP else "several hops"


class Outcome(NamedTuple):
    """The result of a trial. Calls and tokens are those before the judge."""

    trial: Trial
    cause: str  # why it is not right: not found, not read, not shown, lost; "" if it is
    calls: int
    tokens: int
    judge_calls: int
    pages: int

    @property
    def right(self) -> bool:
        return not self.cause


def draw_questions(data: Path, side: str, sizes: Mapping[str, int | None]) -> list[dict[str, Any]]:
    """Of each data set so many questions of a half, the first ones by the SHA-1 of their ids.

    None: all that the half has.
    """
    rows = [row for row in load_questions(data, *sizes) if row["half"] == side]
    return [
        row
        for name, most in sizes.items()
        for row in draw([r for r in rows if r["dataset"] == name], lambda r: str(r["id"]), most)
    ]


def load(data: Path) -> Iterator[Trial]:
    """Every question in the first arm, and some in the others."""
    passages = load_passages(data)
    first, *others = ARMS
    for side in reversed(HALVES):
        several, shared, single, every = (
            draw_questions(data, side, sizes)
            for sizes in (SEVERAL_HOPS, SHARED, ONE_HOP, dict.fromkeys(SEVERAL_HOPS))
        )
        for way in WAYS:
            is_last = way == WAYS[-1]
            asked = [(q, first) for q in (every if is_last else (*several, *single))]
            asked += [(q, arm) for arm in others if is_last for q in shared]
            for question, arm in asked:
                golds = {gold: passages[gold] for gold in question["gold"]}
                is_further = is_last and question not in several
                yield Trial(question, golds, *way, arm, is_further)


def long_page(gold: str, passages: Passages, others: Sequence[str], words: int) -> str:
    """A page with a passage among others, which its id draws, as it draws where it stands."""
    chance = Random(gold)
    parts, left = [gold], words
    for other in chance.sample(others, len(others)):
        if left <= 0:
            break
        parts.append(other)
        left -= len(passages[other]["text"].split())
    chance.shuffle(parts)
    return "\n\n".join(f"## {passages[p]['title']}\n\n{passages[p]['text']}" for p in parts)


def write_long_pages(
    asked: Sequence[Mapping[str, Any]], passages: Passages, target: Path, words: int = PAGE_WORDS
) -> Path:
    """Write a corpus of one long page for each passage that a question needs."""
    golds = list(dict.fromkeys(gold for question in asked for gold in question["gold"]))
    others = sorted(passages.keys() - set(golds))
    rows = ((gold, long_page(gold, passages, others, words)) for gold in golds)
    titled = ({"id": g, "title": passages[g]["title"], "text": text} for g, text in rows)
    return write_rows(target, titled)


def prepare(trials: Sequence[Trial], bench: Bench) -> None:
    """Write the long pages, and build both indexes."""
    asked = [trial.question for trial in trials if not trial.further]
    long = write_long_pages(asked, load_passages(bench.data), bench.work / LONG)
    bench.open_index(bench.data / CORPUS, long)


def measure(trial: Trial, bench: Bench) -> Iterator[Outcome]:
    """Run one question with the product."""
    question = trial.question
    steps = make_steps(question) if trial.reader == "sub-questions" else ()
    topic = question["question"].strip()
    reader = HonestReader(topic, make_key(question, trial.golds), steps)
    corpus = bench.data / CORPUS if trial.web == "short pages" else bench.work / LONG
    run = run_scripted(topic, reader, corpus, bench, **ARMS[trial.arm])
    answer = run.answer()
    given = answer.status in ("complete", "partial")
    right = given and contains_answer(answer.answer, question["answers"])
    asked = [tokens for task, tokens in reader.spent if task != "verify"]
    judged = len(reader.spent) - len(asked)
    cause = "" if right else _find_cause(reader, set(question["gold"]), run.research)
    pages = answer.usage.pages
    yield Outcome(trial, cause, len(asked), sum(asked), judged, pages)


def _find_cause(reader: HonestReader, gold: set[str], research: Any) -> str:
    if reader.has_answered:
        return "lost"
    read = {passage_id(source.page.url) for source in research.sources}
    if gold <= read:
        return "not shown"
    found = read | {passage_id(hit.url) for hit in research.hits.values()}
    return "not read" if gold <= found else "not found"


def _tokens_of_right() -> Cell:
    def cell(own: Sequence[Outcome]) -> str:
        return f"{sum(o.tokens for o in own) / max(1, sum(o.right for o in own)):,.0f}"

    return cell


def _is(cause: str) -> Cell:
    return count(lambda outcome: outcome.cause == cause)


WAY = {"half": "trial.half", "pages": "trial.web", "reader": "trial.reader", "way": "trial.arm"}
FIGURES = {
    "n": size,
    "**right**": count("right"),
    "**tokens a right answer**": _tokens_of_right(),
    "model calls": average("calls", ".2f"),
    "judge: calls": average("judge_calls", ".2f"),
    "pages read": average("pages"),
    **{cause: _is(cause) for cause in ("not found", "not read", "not shown", "lost")},
}
EVALUATION = Evaluation(
    title="Right answers and their tokens, by strategy",
    load=load,
    prepare=prepare,
    measure=measure,
    needs="multihop",
    tables=(
        Table({"questions": "trial.hops", **WAY}, FIGURES, where=lambda o: not o.trial.further),
        Table(
            {"questions": lambda _: "all of several hops", **WAY},
            FIGURES,
            where=lambda o: (
                o.trial.hops != "one hop (nq)"
                and (o.trial.web, o.trial.reader) == WAYS[-1]
                and o.trial.arm == next(iter(ARMS))
            ),
        ),
    ),
    missed=lambda o: (
        f"{o.cause}: {o.trial.web}, {o.trial.arm}: {o.trial.question['question']}"
        if o.cause and o.trial.half == "tune"
        else ""
    ),
)

if __name__ == "__main__":
    main("reading")
