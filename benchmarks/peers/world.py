"""Invented companies and their founders: questions, the pages that answer them, a search."""

from __future__ import annotations

import random
from typing import NamedTuple

from agent.evidence import rank
from tests.services import as_html

COMPANIES = (
    "Velmora Ostrand Quillby Harnesk Tolvane Brixley Sunnerby Calvado Meridun Foxholt "
    "Pellworth Drasko Umbria Kestler Norvane Ivarson Lathbury Zellick Corvane Wexmoor"
).split()
FIRST = "Ada Bo Cleo Dag Eva Finn Greta Hugo Ines Jonas".split()
LAST = "Lindqvist Marchetti".split()
CITIES = "Uppsala Ravenna Tromso Porto Graz Lublin Cadiz Odense Leiden Bergen".split()
TOLD = (
    "{0} ships spare parts to forty countries.",
    "The canteen of {0} is known for its soup.",
    "A second hall was added to the plant of {0} after the flood.",
    "Visitors of {0} are shown the old turbine on weekdays.",
    "{0} keeps a small museum of hand tools near the river.",
    "Engineers at {0} publish a newsletter about bearings and seals.",
    "In winter the yard of {0} is lit until late in the evening.",
    "Orders at {0} are packed by two shifts in a wooden hall.",
)
SENTENCES = 60  # of a page, around the one that answers: some 4,000 characters
MOST_HITS = 5


class Question(NamedTuple):
    """A question and the words that a right answer has (empty: no page says it)."""

    text: str
    answer: str
    hops: int


class World(NamedTuple):
    """Questions, and pages as title and text by name."""

    questions: tuple[Question, ...]
    pages: dict[str, tuple[str, str]]

    def html(self, name: str) -> str:
        return as_html(*self.pages[name])

    def search(self, query: str) -> list[str]:
        """The pages whose words fit a query best, by BM25; those that share none are no hits."""
        names = list(self.pages)
        scores = rank([" ".join(self.pages[name]) for name in names], query)
        best = sorted(range(len(names)), key=lambda i: (-scores[i], i))[:MOST_HITS]
        return [names[i] for i in best if scores[i]]


def world(count: int = 20) -> World:
    """Of `count` questions two fifths have one hop, two fifths two, and a fifth no answer."""
    pages: dict[str, tuple[str, str]] = {}
    questions = []
    for i, company in enumerate(COMPANIES[:count]):
        company += " Works" if i % 2 else " Labs"
        person, city = f"{FIRST[i % 10]} {LAST[i // 10]}", CITIES[(i * 3) % 10]
        pages[f"{i}-firm"] = company, _text(i, company, f"{company} was founded by {person}.")
        pages[f"{i}-visit"] = f"A visit to {company}", _text(i + 100, company, "")
        pages[f"{i}-person"] = person, _text(i + 200, person, f"{person} was born in {city}.")
        questions.append(_question(i % 5, company, person, city))
    return World(tuple(questions), pages)


def _question(kind: int, company: str, person: str, city: str) -> Question:
    if kind in (0, 1):
        return Question(f"Who founded {company}?", person, 1)
    if kind in (2, 3):
        return Question(f"In which city was the founder of {company} born?", city, 2)
    return Question(f"What is the shoe size of the founder of {company}?", "", 2)


def _text(seed: int, name: str, fact: str) -> str:
    """Filler, the same for a seed every time, with the fact in its middle; lines of six."""
    chance = random.Random(seed)
    told = [chance.choice(TOLD).format(name) for _ in range(SENTENCES)]
    told[SENTENCES // 2 : SENTENCES // 2] = [fact] if fact else []
    return "\n".join(" ".join(told[i : i + 6]) for i in range(0, len(told), 6))
