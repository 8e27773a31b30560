"""Topics of many sides, made of public passages: what 20 other pages tell of one thing.

A topic is a title of `multihop/corpus.jsonl.gz` that many other passages name; a fact is the first
sentence of such a passage that names it. Titles and passages are drawn by the SHA-1 of their names.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.harness import draw

TOPICS, FACTS = 20, 20
PASSAGES = "multihop/corpus.jsonl.gz"
NAMED_BY = range(25, 120)  # fewer are no topic, more are a country or a year
LENGTHS = range(40, 200)  # characters of a sentence
WORDS = range(2, 4)  # of a title: one word is often a part of a name
_WORD = re.compile(r"[\w'’-]+")
_SENTENCE = re.compile(r"[^.!?]+[.!?](?= [A-Z]|$)")


class Fact(NamedTuple):
    """A question, its answer, and the sentence and the title of the page that has it."""

    question: str
    value: str
    sentence: str
    title: str


def read_passages(data: Path) -> list[Mapping[str, str]]:
    """The passages of the closed web."""
    with gzip.open(data / PASSAGES, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def load_topics(data: Path) -> Iterator[tuple[str, list[Fact]]]:
    """The things that are told of, each with its facts."""
    passages = read_passages(data)
    named = _name_passages(passages)
    found = {title: _find_facts(title, own) for title, own in named.items()}
    told = [title for title, facts in found.items() if len(facts) == FACTS]
    for title in draw(told, str, TOPICS):
        yield title, found[title]


def _name_passages(
    passages: Sequence[Mapping[str, str]],
) -> dict[str, list[Mapping[str, str]]]:
    """The passages that name each title of another one."""
    titles = {one["title"] for one in passages if one["title"][:1].isupper()}
    named: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for passage in passages:
        words = _WORD.findall(passage["text"])
        grams = {" ".join(words[n : n + size]) for size in WORDS for n in range(len(words))}
        for title in (grams & titles) - {passage["title"]}:
            named[title].append(passage)
    return {title: own for title, own in named.items() if len(own) in NAMED_BY}


def _find_facts(title: str, passages: Sequence[Mapping[str, str]]) -> list[Fact]:
    facts: dict[str, Fact] = {}
    for passage in draw(passages, lambda one: one["title"]):
        sentence = _first_sentence(title, passage["text"])
        if sentence and passage["title"] not in facts:
            question = f"What is told of {passage['title']} and {title}?"
            facts[passage["title"]] = Fact(question, sentence[:-1], sentence, passage["title"])
    return list(facts.values())[:FACTS]


def _first_sentence(title: str, text: str) -> str:
    word = re.compile(rf"\b{re.escape(title)}\b")
    sentences = (found[0].strip() for found in _SENTENCE.finditer(text))
    return next((one for one in sentences if word.search(one) and len(one) in LENGTHS), "")
