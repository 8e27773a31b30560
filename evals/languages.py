"""Whether the engine without a model answers in every language at least as often as plain search.

Ten languages besides English, six pages in the style of an encyclopedia each, as a corpus of that
language, and four questions a page with the words that answer (`evals/languages.toml`); all of it
is invented. *right*: the answer is no abstention, and the words that answer stand in it. *best BM25
sentence*: one sentence of the very page, by words as they are written; pairs of characters of
Chinese and Japanese. *surest*: of the answers that are told, with the page and without, so many
have the highest confidence; and how many of these are wrong. Tables of words were made with every
second page in view (`tune`).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.harness import HALVES, Bench, Evaluation, Table, main, risk, share, size, write_rows

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
    """What became of a question: of pages with titles, without them, and without the very page."""

    question: Question
    answer: str  # empty where it abstained
    bare: str  # without titles
    other: str  # of all pages of the language but the one that answers
    read: bool  # the page that answers
    plain: bool  # its best sentence by BM25 answers

    @property
    def right(self) -> bool:
        return contains(self.answer, self.question.gold)

    @property
    def bare_right(self) -> bool:
        return contains(self.bare, self.question.gold)


class Told(NamedTuple):
    """An answer that is told, with the page or without."""

    question: Question
    confidence: float
    wrong: bool


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


def prepare(_: Sequence[Question], bench: Bench) -> None:
    """Corpora of each language: with titles, without, and without each page in turn."""
    for language in {page.language for page in load_pages()}:
        pages = [page for page in load_pages() if page.language == language]
        rows = [{"title": page.title, "text": page.text} for page in pages]
        plain = [{**row, "title": f"{n}"} for n, row in enumerate(rows)]
        write_rows(bench.work / f"{language}.jsonl", rows)
        write_rows(bench.work / f"{language}-plain.jsonl", plain)
        for n in range(len(pages)):
            write_rows(bench.work / f"{language}-{n}.jsonl", [*rows[:n], *rows[n + 1 :]])


def measure(question: Question, bench: Bench) -> Iterator[Outcome | Told]:
    """Ask a question of the pages of its language."""
    language, answers = question.page.language, []
    at = [page for page in load_pages() if page.language == language].index(question.page)
    for name in (language, f"{language}-plain", f"{language}-{at}"):
        run = bench.run(question.text, bench.work / f"{name}.jsonl")
        answer = run.answer()
        answers.append(answer.answer if answer.status in ("complete", "partial") else "")
        if name == language:
            read = any(s.page.text == question.page.text for s in run.research.sources)
        if answers[-1] and not name.endswith("-plain"):
            is_wrong = not contains(answers[-1], question.gold)
            yield Told(question, answer.confidence or 0.0, is_wrong)
    plain = contains(best_sentence(question.page.text, question.text), question.gold)
    yield Outcome(question, *answers, read, plain)


def _is_told(one: Outcome | Told) -> bool:
    return isinstance(one, Told)


def _tell_miss(one: Outcome | Told) -> str:
    if _is_told(one) or one.question.page.half != "tune" or (one.right and one.bare_right):
        return ""
    won = " (BM25 is right)" if one.plain else ""
    asked = f"{one.question.page.language}: {one.question.text} = {one.question.gold}{won}"
    return f"{asked}\n   {one.answer}\n   {one.bare}"


KEYS = {"language": "question.page.language", "half": "question.page.half"}
EVALUATION = Evaluation(
    title="Answers without a model: ten languages",
    load=load,
    prepare=prepare,
    measure=measure,
    score=lambda one: None if _is_told(one) else one.right,
    tables=(
        Table(
            KEYS,
            {
                "n": size,
                "**right**": share("right"),
                "best BM25 sentence of the page that answers": share("plain"),
                "page read": share("read"),
                "abstained": share(lambda one: not one.answer),
                "right, pages without titles": share("bare_right"),
                "abstained, without titles": share(lambda one: not one.bare),
                "**told and not right without the page**": share(
                    lambda one: bool(one.other) and not contains(one.other, one.question.gold)
                ),
            },
            total=True,
            where=lambda one: not _is_told(one),
        ),
        Table(KEYS, risk("confidence", "wrong"), total=True, where=_is_told),
    ),
    missed=_tell_miss,
)

if __name__ == "__main__":
    main("languages")
