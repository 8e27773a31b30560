"""Whether the engine without a model answers in every language at least as often as plain search.

Ten languages besides English, six pages in the style of an encyclopedia each, as a corpus of that
language, and four questions a page with the words that answer (`evals/languages.toml`); all of it
is invented. *right*: the answer is no abstention, and the words that answer stand in it. *best BM25
sentence*: one sentence of the very page, by words as they are written; pairs of characters of
Chinese and Japanese. Tables of words were made with every second page in view (`tune`).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.harness import HALVES, Bench, Evaluation, Table, main, share, size, write_rows

PAGES = Path(__file__).with_name("languages.toml")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_SENTENCE = re.compile(r"(?<=[.!?؟])\s+|(?<=[。！？])")


class Page(NamedTuple):
    """A page, and the questions about it with the words of it that answer."""

    language: str
    half: str
    title: str
    text: str
    asked: tuple[tuple[str, str], ...]


class Question(NamedTuple):
    """A question about a page, and the words that answer."""

    page: Page
    text: str
    gold: str


class Outcome(NamedTuple):
    """What became of a question: of pages with their titles, and of pages without."""

    question: Question
    answer: str  # empty where it abstained
    bare: str  # without titles
    read: bool  # the page that answers
    plain: bool  # its best sentence by BM25 answers

    @property
    def right(self) -> bool:
        return contains(self.answer, self.question.gold)

    @property
    def bare_right(self) -> bool:
        return contains(self.bare, self.question.gold)


def load_pages() -> list[Page]:
    """The pages of all languages; raises ValueError where words that answer stand on none."""
    made = []
    for language, rows in tomllib.loads(PAGES.read_text("utf-8")).items():
        for n, row in enumerate(rows):
            asked = tuple((question, gold) for question, gold in row["asked"])
            made.append(Page(language, HALVES[n % 2], row["title"], row["text"], asked))
    for page in made:
        if missing := [gold for _, gold in page.asked if not contains(page.text, gold)]:
            raise ValueError(f"{page.title}: {missing[0]} does not stand in the text")
    return made


def load(_: Path) -> Iterator[Question]:
    """Every question, those of the half that tables were not made with first."""
    for page in sorted(load_pages(), key=lambda page: page.half):
        yield from (Question(page, *pair) for pair in page.asked)


def contains(text: str, gold: str) -> bool:
    """Whether words stand in a text, whatever their case; Arabic puts letters before a word."""
    return gold.casefold() in re.sub(r"\s*\[\d+\]", "", text).casefold()


def plain_words(text: str) -> list[str]:
    """The words of a text as they are written; pairs of characters of Chinese and Japanese."""
    found: list[str] = []
    for run in _WORD.findall(text.casefold()):
        spaced = len(run) < 2 or not "\u3040" <= run[0] <= "\u9fff"
        found += [run] if spaced else [run[i : i + 2] for i in range(len(run) - 1)]
    return found


def best_sentence(text: str, question: str) -> str:
    """The sentence of a page that BM25 ranks first (k1 1.2, b 0.75), with no table of any kind."""
    pieces = [piece for piece in _SENTENCE.split(text) if piece]
    bags = [Counter(plain_words(piece)) for piece in pieces]
    mean = sum(map(Counter.total, bags)) / len(bags)
    held = Counter(word for bag in bags for word in bag)

    def score(bag: Counter[str]) -> float:
        length = 0.25 + 0.75 * bag.total() / mean
        return sum(
            math.log(1 + (len(bags) - held[w] + 0.5) / (held[w] + 0.5))
            * (bag[w] * 2.2 / (bag[w] + 1.2 * length))
            for w in dict.fromkeys(plain_words(question))
        )

    return pieces[max(range(len(pieces)), key=lambda n: score(bags[n]))]


def prepare(questions: Sequence[Question], bench: Bench) -> None:
    """A corpus for each language, with titles and without."""
    pages = list(dict.fromkeys(question.page for question in questions))
    for titled in (True, False):
        for language in {page.language for page in pages}:
            rows = (
                {"title": page.title if titled else f"{n}", "text": page.text}
                for n, page in enumerate(pages)
                if page.language == language
            )
            write_rows(bench.work / f"{language}-{titled}.jsonl", rows)


def measure(question: Question, bench: Bench) -> Iterator[Outcome]:
    """Ask a question of the pages of its language."""
    told = {}
    for titled in (True, False):
        corpus = bench.work / f"{question.page.language}-{titled}.jsonl"
        run = bench.run(question.text, corpus)
        answer = run.answer()
        told[titled] = answer.answer if answer.status in ("complete", "partial") else ""
        if titled:
            read = any(s.page.text == question.page.text for s in run.research.sources)
    plain = contains(best_sentence(question.page.text, question.text), question.gold)
    yield Outcome(question, told[True], told[False], read, plain)


def _tell_miss(one: Outcome) -> str:
    if one.question.page.half != "tune" or (one.right and one.bare_right):
        return ""
    won = " (BM25 is right)" if one.plain else ""
    asked = f"{one.question.page.language}: {one.question.text} = {one.question.gold}{won}"
    return f"{asked}\n   {one.answer}\n   {one.bare}"


EVALUATION = Evaluation(
    title="Answers without a model: ten languages",
    load=load,
    prepare=prepare,
    measure=measure,
    tables=(
        Table(
            {"language": "question.page.language", "half": "question.page.half"},
            {
                "n": size,
                "**right**": share("right"),
                "best BM25 sentence of the page that answers": share("plain"),
                "page read": share("read"),
                "abstained": share(lambda one: not one.answer),
                "right, pages without titles": share("bare_right"),
                "abstained, without titles": share(lambda one: not one.bare),
            },
            total=True,
        ),
    ),
    missed=_tell_miss,
)

if __name__ == "__main__":
    main("languages")
