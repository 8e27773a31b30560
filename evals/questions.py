"""The questions of several data sets, their 23,445 passages, and how an answer is marked."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.harness import half, read_rows, write_rows

Passages = Mapping[str, Mapping[str, Any]]
CORPUS = "multihop/corpus.jsonl.gz"


def load_questions(data: Path, *sets: str) -> list[dict[str, Any]]:
    """The questions of some data sets, each with its half, those that nothing is tuned on first."""
    rows = read_rows(data / "multihop/questions.dev.jsonl")
    own = [{**row, "half": half(row["id"])} for row in rows if row["dataset"] in sets]
    return sorted(own, key=lambda row: row["half"] == "tune")


def read_passages(data: Path) -> Iterator[dict[str, Any]]:
    """All passages."""
    with gzip.open(data / CORPUS, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def load_passages(data: Path) -> Passages:
    """All passages by their id."""
    return {row["id"]: row for row in read_passages(data)}


def write_corpus_without_gold(questions: Sequence[Any], data: Path, target: Path) -> Path:
    """The corpus without any passage that answers a question."""
    gold = {passage for question in questions for passage in question["gold"]}
    return write_rows(target, (row for row in read_passages(data) if row["id"] not in gold))


def passage_id(url: str) -> str:
    """The id of a passage, from its address in the corpus."""
    return url.rpartition("?id=")[2]


def normalize(text: str) -> str:
    """Normalize a text: no case, punctuation or articles; a blank on either side of each word."""
    plain = "".join(char if char.isalnum() else " " for char in text.lower())
    return f" {' '.join(word for word in plain.split() if word not in ('a', 'an', 'the'))} "


def contains_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether one of the gold answers stands in a text, at the borders of words."""
    normalized = normalize(re.sub(r"\[\d+\]", " ", text))
    return any(normalize(answer).strip() and normalize(answer) in normalized for answer in answers)


def rank_sentences(texts: Sequence[str], topic: str) -> list[str]:
    """The sentences of some pages by BM25 over all of them, best first: the baseline's order."""
    from agent.evidence import rank_texts, split_sentences

    pieces = [text[a:b] for text in texts for a, b in split_sentences(text)]
    scores = rank_texts(pieces, topic)
    return [pieces[i] for i in sorted(range(len(pieces)), key=lambda i: -scores[i])]


def take_words(sentences: Sequence[str], words: int) -> str:
    """The first sentences, up to a number of words; the last one is cut."""
    return " ".join(" ".join(sentences).split()[:words])
