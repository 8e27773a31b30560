"""Whether answers without a model know what they know in other languages than English.

The 240 paragraphs and 1,190 questions of XQuAD (https://github.com/google-deepmind/xquad, CC BY-SA
4.0; its files lie in `xquad/` of the data) in five languages and, beside them, in English: 70
questions a half, each asked of all paragraphs of its language, and of all but the one that answers.
*right*, *first*, *told and not right* and *surest* are those of the short passages above; *best
BM25 sentence* is that of the very paragraph. Weights and bounds of other languages were fitted to
the *tune* half; nothing was fitted to the English of this set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.extractive import abstains
from evals.harness import HALVES, Bench, Evaluation, Table, main, risk, share, size, write_rows
from evals.languages import best_sentence, contains

LANGUAGES = ("ar", "de", "es", "ru", "zh", "en")
EACH, STEP = 70, 17  # questions of a half, one of so many of the set


class Question(NamedTuple):
    """A question, the paragraph that answers it, and the words that answer."""

    language: str
    half: str
    paragraph: int
    text: str
    golds: tuple[str, ...]


class Outcome(NamedTuple):
    """What became of a question with its paragraph or without it."""

    question: Question
    has_page: bool
    status: str
    answer: str  # empty where it abstained
    confidence: float
    first: bool  # words that answer stand in the first sentence
    plain: bool  # they stand in the best sentence by BM25

    @property
    def right(self) -> bool:
        return any(contains(self.answer, gold) for gold in self.question.golds)

    @property
    def wrong(self) -> bool:
        return bool(self.answer) and not self.right


def read_paragraphs(data: Path, language: str) -> list[dict[str, object]]:
    """The paragraphs of a language, in the order of the set."""
    articles = json.loads((data / "xquad" / f"xquad.{language}.json").read_text("utf-8"))["data"]
    return [paragraph for article in articles for paragraph in article["paragraphs"]]


def load(data: Path) -> Iterator[Question]:
    """The questions of each half and language."""
    for language in LANGUAGES:
        asked = [
            (n, one["question"], tuple(answer["text"] for answer in one["answers"]))
            for n, paragraph in enumerate(read_paragraphs(data, language))
            for one in paragraph["qas"]  # type: ignore[attr-defined]
        ]
        for half, start in zip(HALVES, (0, STEP // 2), strict=True):
            yield from (Question(language, half, *row) for row in asked[start::STEP][:EACH])


def prepare(questions: Sequence[Question], bench: Bench) -> None:
    """Corpora of each language: whole, and without each paragraph that a question needs."""
    for language in {question.language for question in questions}:
        texts = [str(one["context"]) for one in read_paragraphs(bench.data, language)]
        rows = [{"title": f"{n}", "text": text} for n, text in enumerate(texts)]
        write_rows(bench.work / f"{language}.jsonl", rows)
        for n in {one.paragraph for one in questions if one.language == language}:
            write_rows(bench.work / f"{language}-{n}.jsonl", [*rows[:n], *rows[n + 1 :]])


def measure(question: Question, bench: Bench) -> Iterator[Outcome]:
    """Ask a question with and without the paragraph that answers it."""
    language, golds = question.language, question.golds
    paragraph = read_paragraphs(bench.data, language)[question.paragraph]
    best = best_sentence(str(paragraph["context"]), question.text)
    for name in (language, f"{language}-{question.paragraph}"):
        answer = bench.run(question.text, bench.work / f"{name}.jsonl").answer()
        first = "".join(claim.text for claim in answer.claims[:1])
        yield Outcome(
            question,
            has_page=name == language,
            status=answer.status,
            answer="" if abstains(answer) else answer.answer,
            confidence=answer.confidence or 0.0,
            first=any(contains(first, gold) for gold in golds),
            plain=any(contains(best, gold) for gold in golds),
        )


def _is_complete(one: Outcome) -> bool:
    return one.status == "complete"


KEYS = {"language": "question.language", "half": "question.half"}
EVALUATION = Evaluation(
    title="Answers without a model: XQuAD",
    load=load,
    prepare=prepare,
    measure=measure,
    needs="xquad",
    score=lambda one: one.right if one.has_page else None,
    tables=(
        Table(
            KEYS,
            {
                "n": size,
                "**right**": share("right"),
                "best BM25 sentence of the paragraph": share("plain"),
                "first of those right": share(lambda one: one.first if one.right else None),
                "complete": share(_is_complete),
                "right of complete": share(lambda one: one.right if _is_complete(one) else None),
            },
            total=True,
            where=lambda one: one.has_page,
        ),
        Table(
            KEYS,
            {
                "n, without the paragraph": size,
                "**told and not right**": share("wrong"),
                "complete and not right": share(lambda one: _is_complete(one) and one.wrong),
            },
            total=True,
            where=lambda one: not one.has_page,
        ),
        Table(KEYS, risk("confidence", "wrong"), total=True, where=lambda one: bool(one.answer)),
    ),
)

if __name__ == "__main__":
    main("xquad")
